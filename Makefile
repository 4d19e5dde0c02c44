# Every target makes .venv first, with the versions in constraints.txt. Only make and python3 are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
RUN := $(BIN)/python -m pamal_core.book run
SEEDS ?= 0 1 2

.DEFAULT_GOAL := help
.PHONY: help book test test-faults lint notebooks constraints clean

help:
	@echo "make book         run the notebooks on embedded data, then build the book"
	@echo "make test         lint, then run the tests"
	@echo "make test-faults  every fault thirty times, and a table of what was lost"
	@echo "make lint         ruff and mypy"
	@echo "make notebooks    run the notebooks again into book/results/ (MNIST: set PAMAL_DATA)"
	@echo "make constraints  resolve constraints.txt again, as of the day in pyproject.toml"
	@echo "make clean        remove everything that was made, .venv included"

# `ready` is written last and removed first: an interrupted install is done again from the start.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	    "Python 3.11 or newer is needed, %s is %s. Try: make PYTHON=python3.12" % \
	    (sys.executable, sys.version.split()[0]))'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -b constraints.txt \
	    -e '.[book,workflow,test,dev]'
	touch $@

book: $(READY)
	$(RUN) notebooks/toy.ipynb book/fresh/toy.ipynb
	set -e; for n in multimnist census multimnist3 utkface cityscapes; do \
	    $(RUN) notebooks/$$n.ipynb book/fresh/$$n.ipynb -p data sample; done
	$(RUN) notebooks/your_model.ipynb book/fresh/your_model.ipynb
	$(BIN)/jupyter-book build -W --keep-going book/
	@echo "The book: $(CURDIR)/_build/html/index.html"

# One thread for each of the two workers: torch would start as many as there are cores in both.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

# Every fault thirty times: kills, full disks, damaged files; ends with a table.
test-faults: $(READY)
	PAMAL_FAULTS=30 OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/faults -q

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Finished runs are read from results/; delete a record to make it again. Every method runs the same
# notebook; the book shows those of PaMaL.
MULTIMNIST := $(RUN) notebooks/multimnist.ipynb
BASELINES := uw dwa rlw mgda pcgrad imtl graddrop cagrad nash_mtl auto_lambda rotograd phn cosmos
MULTIMNIST3 := $(RUN) notebooks/multimnist3.ipynb
notebooks: $(READY)
	$(RUN) notebooks/toy.ipynb book/results/toy.ipynb
	$(RUN) notebooks/ablation_balancing.ipynb book/results/ablation_balancing.ipynb -p epochs 50
	$(RUN) notebooks/schematics.ipynb book/results/schematics.ipynb
	$(RUN) notebooks/your_model.ipynb book/results/your_model.ipynb
	$(RUN) notebooks/utkface.ipynb book/results/utkface.ipynb -p data sample
	$(RUN) notebooks/cityscapes.ipynb book/results/cityscapes.ipynb -p data sample -p W 3
ifneq ($(wildcard $(PAMAL_DATA)/MNIST),)
	set -e; for s in $(SEEDS); do \
	    full="-p data full -p seed $$s -p out results/multimnist"; \
	    $(MULTIMNIST) book/results/multimnist_seed_$$s.ipynb $$full/pamal_seed_$$s.json -p W 4 -p lam 0; \
	    $(MULTIMNIST) _build/runs/ls_$$s.ipynb $$full/ls_seed_$$s.json -p method ls; \
	    for t in 0 1; do $(MULTIMNIST) _build/runs/stl-$${t}_$$s.ipynb \
	        $$full/stl-$${t}_seed_$$s.json -p method stl -p task $$t; done; \
	done; \
	test ! -f results/multimnist/pamal_seed_0.safetensors || \
	    $(BIN)/python book/_assets/multimnist_explorer.py; \
	full="-p data full -p out results/multimnist"; for m in $(BASELINES); do \
	    $(MULTIMNIST) _build/runs/$$m.ipynb $$full/$${m}_seed_0.json -p method $$m; done; \
	full="-p data full -p out results/multimnist3"; \
	$(MULTIMNIST3) book/results/multimnist3.ipynb $$full/pamal_seed_0.json; \
	$(MULTIMNIST3) _build/runs/ls3.ipynb $$full/ls_seed_0.json -p method ls; \
	full="-p lr_scaling members $$full"; \
	$(MULTIMNIST3) _build/runs/members.ipynb $$full/pamal-members_seed_0.json; \
	$(MULTIMNIST3) _build/runs/smooth.ipynb $$full/pamal-members-antialias_seed_0.json -p antialias True
else
	@echo "The MultiMNIST runs are left as they were: PAMAL_DATA names no folder with MNIST in it."
endif
ifneq ($(wildcard $(PAMAL_DATA)/census),)
	set -e; full="-p data full -p out results/census"; census="$(RUN) notebooks/census.ipynb"; \
	$$census book/results/census.ipynb $$full/pamal_seed_0.json; \
	for m in $(BASELINES); do \
	    $$census _build/runs/c-$$m.ipynb $$full/$${m}_seed_0.json -p method $$m; done; \
	$$census _build/runs/c.ipynb $$full/pamal-mended_seed_0.json -p masters mended; \
	for m in as_released mended; do [ $$m = mended ] && s=-mended || s=; \
	    $$census _build/runs/p$$s.ipynb $$full/pamal-printed$${s}_seed_0.json -p masters $$m -p penalty printed; \
	    $$census _build/runs/l$$s.ipynb $$full/ls$${s}_seed_0.json -p masters $$m -p method ls; \
	done
	$(RUN) notebooks/ablation_sampling.ipynb book/results/ablation_sampling.ipynb -p data full -p seeds 0 \
	    -p results results/ablation_sampling/census
	$(RUN) notebooks/ablation_phn_cosmos.ipynb book/results/ablation_cosmos_census.ipynb -p data full \
	    -p results results/ablation_phn_cosmos/census -p methods cosmos -p lrs 0.001 -p recorded True
else
	@echo "The Census runs are left as they were: PAMAL_DATA names no folder with census in it."
endif
	$(RUN) notebooks/ablation_multiforward.ipynb book/results/ablation_multiforward.ipynb -p data sample
	$(RUN) notebooks/ablation_phn_cosmos.ipynb book/results/ablation_phn_cosmos.ipynb -p data sample
	digits="-p experiment multimnist -p data sample"; to=book/results/ablation; set -e; \
	$(RUN) notebooks/ablation_multiforward.ipynb $${to}_multiforward_multimnist.ipynb $$digits -p windows 2,4; \
	$(RUN) notebooks/ablation_sampling.ipynb $${to}_sampling_multimnist.ipynb $$digits; \
	$(RUN) notebooks/ablation_phn_cosmos.ipynb $${to}_phn_cosmos_multimnist.ipynb $$digits
	$(RUN) notebooks/multimnist_seeds.ipynb book/results/multimnist_seeds.ipynb
	$(RUN) notebooks/baseline_results.ipynb book/results/baseline_results.ipynb
	$(RUN) notebooks/theory.ipynb book/results/theory.ipynb
	$(BIN)/python book/_assets/multimnist_front.py

constraints: $(READY)
	$(BIN)/uv pip compile --quiet --upgrade --universal --fork-strategy fewest --python-version 3.11 \
	    --all-extras --strip-extras --no-annotate --custom-compile-command \
	    'make constraints   (pyproject.toml says why a version is held back)' \
	    -o constraints.txt pyproject.toml

clean:
	rm -rf $(VENV) _build book/fresh build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
