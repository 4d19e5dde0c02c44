# Every target makes .venv first, with the versions in constraints.txt. Only make and python3 are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
UV := _build/uv/bin/uv
RUN := $(BIN)/python -m pamal_companion run

# Kept even where the environment says not to: each process would compile torch for two seconds.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help book sphinx test pytest test-core test-lowest test-newest test-wheel test-faults lint measured tables \
    notebooks wheel constraints upgrade clean

help:
	@echo "make book         run six notebooks on embedded data, then build the book"
	@echo "make sphinx       the same pages by Sphinx alone, without jupyter-book's command"
	@echo "make test         lint, then run the tests"
	@echo "make test-core    the tests of the core, with its own dependencies alone"
	@echo "make test-lowest  these and a run of Census, with the oldest versions that pyproject.toml allows"
	@echo "make test-newest  the same with the newest of everything, without constraints.txt"
	@echo "make test-wheel   README's example with the wheel alone, in an environment of its own"
	@echo "make test-faults  every fault thirty times, and a table of what was lost"
	@echo "make lint         ruff and mypy"
	@echo "make measured     results/measured.csv from the records: a row for each run and split"
	@echo "make tables       the pages of records alone again: every table of the paper, no training"
	@echo "make notebooks    run the notebooks again into book/results/ (full data: set PAMAL_DATA)"
	@echo "make wheel        the wheel and the sdist, byte for byte the same from the same commit"
	@echo "make constraints  write constraints.txt again, with other versions only where pyproject.toml asks for them"
	@echo "make upgrade      write it again with the newest versions that are a week old"
	@echo "make clean        remove everything that was made, .venv included"

# With `make HASHED=1`, as in continuous integration, what others made must have the hashes in a copy of
# constraints.txt, which has none itself: pip takes no hash beside `-e .`. Only this uv comes without.
PINS := constraints.txt
ifdef HASHED
PINS := _build/hashed.txt
endif
PINNED := -c $(PINS) -b $(PINS)

_build/hashed.txt: constraints.txt $(UV)
	$(UV) --no-config pip compile --quiet --no-deps --universal --python-version 3.11 --generate-hashes \
	    --no-annotate --no-header -o $@ constraints.txt
	touch $@

define IS_NEW_ENOUGH
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
    "Python 3.11 or newer is needed, %s is %s. Try: make PYTHON=python3.12" % \
    (sys.executable, sys.version.split()[0]))'
endef

# A uv of its own, for environments that .venv has no part in.
$(UV): constraints.txt
	$(IS_NEW_ENOUGH)
	$(PYTHON) -m venv _build/uv
	_build/uv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	touch $@

# `ready` is written last and removed first: an interrupted install is done again from the start.
$(READY): pyproject.toml $(PINS)
	$(IS_NEW_ENOUGH)
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python $(PINNED) -e '.[book,workflow,test,dev]'
	touch $@

# Two at a time, each with one thread; what takes longest begins first. The two slowest train less
# than by default. The pages of notebooks without data are in the book as they are.
FRESH := $(patsubst %,book/fresh/%.ipynb,utkface conflict cityscapes multimnist multimnist3 census)
.PHONY: $(FRESH)
book/fresh/utkface.ipynb: PARAMETERS := -p width 8 -p epochs 4
book/fresh/cityscapes.ipynb: PARAMETERS := -p epochs 4
$(FRESH): $(READY)
	OMP_NUM_THREADS=1 $(RUN) notebooks/$(notdir $@) $@ -p data sample $(PARAMETERS)

book: $(READY)
	$(MAKE) --no-print-directory --jobs=2 $(FRESH)
	$(BIN)/jupyter-book build -W --keep-going book/
	@echo
	@echo "The book is in $(CURDIR)/_build/html. Three pages to begin with:"
	@echo "  what it is, and what holds   file://$(CURDIR)/_build/html/index.html"
	@echo "  whether it reproduces        file://$(CURDIR)/_build/html/results/reproduction.html"
	@echo "  your own model               file://$(CURDIR)/_build/html/results/your_model.html"

# The way out of jupyter-book 1 (CONTRIBUTING.md): its settings as a conf.py, and Sphinx as it is.
sphinx: $(READY)
	$(BIN)/jupyter-book config sphinx book/
	mv conf.py book/conf.py
	PYTHONPATH=book/_ext $(BIN)/python -m sphinx -W --keep-going -q -b html -d _build/.sphinx book _build/sphinx; \
	    status=$$?; rm book/conf.py; exit $$status

# One thread for each of the two workers: torch would start as many as there are cores in both. A third
# worker gains nothing on two cores.
# tests/conftest.py says which tests are a group, and in which order they begin.
# mypy reads a fresh clone for twenty seconds on one core, so it runs beside the tests.
test: $(READY)
	$(MAKE) --no-print-directory --jobs=2 lint pytest

pytest: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

# What `pip install .` brings, and what runs the tests: an oracle of another library is left out.
CORE := .venv-core
$(CORE)/ready: pyproject.toml $(PINS) $(UV)
	rm -rf $(CORE)
	$(PYTHON) -m venv --without-pip $(CORE)
	$(UV) pip install --quiet --python $(CORE)/bin/python $(PINNED) -e . pytest hypothesis beartype
	touch $@

test-core: $(CORE)/ready
	OMP_NUM_THREADS=1 $(CORE)/bin/python -m pytest tests/core

# Without [tool.uv], which holds torch at one version. A run of an experiment needs the companion's packages.
# The oldest versions are not those of constraints.txt, so HASHED=1 is for what runs the tests alone.
LOWEST := .venv-lowest
$(LOWEST)/ready: pyproject.toml $(PINS) $(UV)
	rm -rf $(LOWEST)
	$(PYTHON) -m venv --without-pip $(LOWEST)
	$(UV) --no-config pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	    -e '.[companion]'
	$(UV) pip install --quiet --python $(LOWEST)/bin/python $(PINNED) pytest hypothesis beartype
	touch $@

test-lowest: $(LOWEST)/ready
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest tests/core tests/test_one_run.py

# Made anew each time: what is the newest changes without a file that changes here.
NEWEST := .venv-newest
test-newest: $(UV)
	rm -rf $(NEWEST)
	$(PYTHON) -m venv --without-pip $(NEWEST)
	$(UV) --no-config pip install --quiet --python $(NEWEST)/bin/python --upgrade \
	    -e '.[companion]' 'pytest<9.2' hypothesis beartype
	OMP_NUM_THREADS=1 $(NEWEST)/bin/python -m pytest tests/core tests/test_one_run.py

# The time of the last commit stands for that of all files; without git it is the first day a zip can name. What
# an older build or install has left is removed, because setuptools would take files from it. The wheel is built
# from the sdist, so that its files have the same rights whatever the umask is.
EPOCH = $$(git log -1 --format=%ct 2>/dev/null || echo 315532800)
wheel: $(PINS) $(UV)
	rm -rf build dist *.egg-info
	$(UV) build --quiet --python $(PYTHON) --sdist --no-build-logs -b $(PINS) -o dist .
	$(PYTHON) .ci/same_sdist.py dist/*.tar.gz $(EPOCH)
	umask 022 && SOURCE_DATE_EPOCH=$(EPOCH) $(UV) build --quiet --python $(PYTHON) --wheel \
	    --no-build-logs -b $(PINS) -o dist dist/*.tar.gz

WHEEL := .venv-wheel
test-wheel: wheel
	rm -rf $(WHEEL)
	$(PYTHON) -m venv --without-pip $(WHEEL)
	$(UV) pip install --quiet --python $(WHEEL)/bin/python $(PINNED) dist/*.whl
	$(PYTHON) tests/of_the_wheel.py README.md $(WHEEL)/bin/python

# Every fault thirty times: kills, full disks, damaged files; ends with a table.
test-faults: $(READY)
	PAMAL_FAULTS=30 OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/companion/faults -q

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The table that pages and claims read: to be made again when a record has come or changed.
measured: $(READY)
	$(BIN)/python -m pamal_companion.study.measured

tables: measured
	$(BIN)/snakemake -s workflow/Snakefile tables --forcerun page

# Makes the records that a page shows and that are not in results/; without PAMAL_DATA the pages of
# full data are left as they are.
notebooks: $(READY)
	$(BIN)/snakemake -s workflow/Snakefile pages --forcerun page
ifneq ($(wildcard $(PAMAL_DATA)/MNIST),)
	$(BIN)/python book/_assets/multimnist_explorer.py
endif

# uv keeps the versions that are in the file where pyproject.toml allows them. So a file that fits stays as it is,
# whatever is released, and a version changes only where it must, or by `make upgrade`.
# After an edit of pyproject.toml $(READY) cannot be made before this.
constraints: $(UV)
	$(UV) pip compile --quiet $(UPGRADE) --universal --fork-strategy fewest --python-version 3.11 \
	    --all-extras --strip-extras --no-annotate --custom-compile-command \
	    'make constraints   (pyproject.toml says why a version is held back)' \
	    -o constraints.txt pyproject.toml

# A release that is a week old has been looked at by others.
upgrade: UPGRADE := --upgrade --exclude-newer '1 week'
upgrade: constraints

clean:
	rm -rf $(VENV) $(CORE) $(LOWEST) $(NEWEST) $(WHEEL) dist _build book/fresh build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
