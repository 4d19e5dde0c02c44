"""Data sets, each a module with one `load` that returns `Splits`.

All take `data`: "full" reads the files under the data root, "sample" needs no files, and "auto" is
full where the data set's folder holds anything and else the sample, with a warning where the data
are in another folder; which of the two it was stands in the result. `root` is the data root, by
default that of `files.data_root`. `seed` draws what is random. All raise InputError for a file that
is missing, damaged or not what it should be; options are checked before, by the experiment that has
them. `atomic` writes files whole or not at all, for every room that writes.
"""

from pamal_companion import needs

needs("companion", "sklearn", "PIL", "pooch")
