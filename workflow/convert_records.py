"""Rewrite records of older code so that they say all: python workflow/convert_records.py FOLDER

Records of older code name only the options that differed from the default when they were written.
The key of a run, every number and the names of the files stay; the checksum is computed anew. A
record that says all already is left as it is. Folders of registered runs are left out.
"""

import sys
from pathlib import Path

from pamal_companion.experiments.options import options_of
from pamal_companion.runs.folder import files
from pamal_companion.runs.records import Record


def convert(path: Path) -> bool:
    """Rewrite the record at `path`; return whether anything has changed."""
    record, before = Record.read(path), path.read_text("utf-8")
    known = options_of(record.experiment)
    record.options = known.completed(record.method, record.options)
    if record.to_text() == before:
        return False
    record.write(path)
    return True


if __name__ == "__main__":
    paths = [path for folder in sys.argv[1:] for path in files(Path(folder), ".json")]
    print(sum(map(convert, paths)), "of", len(paths), "records rewritten")
