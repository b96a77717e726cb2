# The two commands of a newcomer are `make demo` and `make test`; each sets up all that it needs in .venv.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
EXTRAS := torch,spark,privacy,birds,geo,transport,avro,remote,office,stats,docs,dev

# What compiles, draws, downloads or caches does so inside the repository; nothing is left elsewhere.
CACHE := $(CURDIR)/.cache
export XDG_CACHE_HOME := $(CACHE)
export PIP_NO_CACHE_DIR := 1
unexport PYTHONDONTWRITEBYTECODE  # every process that a test starts would compile the sources again
export TMPDIR := $(CACHE)/tmp
export NUMBA_CACHE_DIR := $(CACHE)/numba
export MPLCONFIGDIR := $(CACHE)/matplotlib
export MPLBACKEND := Agg
export SPARK_LOCAL_DIRS := $(CACHE)/spark
# Java compiles lightly and collects with one thread: a test's session is over before more would pay.
export JDK_JAVA_OPTIONS := -Djava.io.tmpdir=$(CACHE)/tmp -XX:-UsePerfData -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
export npm_config_cache := $(CACHE)/npm
export PRE_COMMIT_HOME := $(CACHE)/pre-commit
$(shell mkdir -p $(TMPDIR))
# Two workers test at once; BLAS and torch with threads of their own would wait for each other's.
test quick check fuzz matrix dist: export OMP_NUM_THREADS := 1
test quick check fuzz matrix dist: export OPENBLAS_NUM_THREADS := 1

.PHONY: help demo test check messages format bench book browser pyspark-env docs clean
help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:\t/'

# A stamp per stage, renewed when the requirements change; a stage that was interrupted is done again.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "sumwise needs Python 3.11 or newer. Hint: make demo PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) --upgrade pip
	@touch $@
$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/.made
	$(PIP) -e .
	@touch $@
$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/.made
	$(PIP) -e '.[$(EXTRAS)]'
	@touch $@ $(VENV)/.core

demo: $(VENV)/.core  ## run the scripts of the gallery and show their figures on one page
	$(BIN)/sumwise demo

# Rewriting every assertion takes longer than a hundred tests: only those that failed run again with it.
TESTS := $(BIN)/python -m pytest -q --no-loadscope-reorder
AT_ONCE := -n 2 --dist loadfile --assert=plain
DETAILS := || { echo "-- the failed tests again, with details"; $(TESTS) --last-failed --last-failed-no-failures=none tests; exit 1; }

test: $(VENV)/.dev  ## the tests; `make check` has those that start processes, run whole stories or simulate
	$(TESTS) $(AT_ONCE) -m "not long and not check" tests $(DETAILS)

faults: $(VENV)/.dev  ## every family's fit killed at thirty moments; commands without disk, memory, permission, or in a bare container
	$(BIN)/python -m pytest -q tests/cli/test_faults.py tests/cli/test_container.py tests/app/test_jobs.py

long: $(VENV)/.dev  ## the few tests that `make test` has a cheaper version of: killed Spark workers, more random cases
	SUMWISE_EXAMPLES=300 $(BIN)/python -m pytest -q -m "long or hypothesis" tests

quick: $(VENV)/.dev  ## the tests for daily work: no Spark, no documentation, nothing slow
	$(TESTS) $(AT_ONCE) -m "not spark and not slow and not long and not check" tests $(DETAILS)

check: $(VENV)/.dev  ## lint, format, types, spelling, links; examples of docstrings and pages run, pages are built without a warning
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/pyright -p .ci/strict.json
	$(BIN)/codespell README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs
	$(BIN)/python docs/check_links.py
	$(BIN)/python -m pytest -q -n 2 --dist loadfile src
	$(TESTS) $(AT_ONCE) -m "check and not long" tests $(DETAILS)

fuzz: $(VENV)/.dev  ## damaged and forged files for every reader, two minutes of them; FUZZ='--seconds 600 --seed 7'
	$(BIN)/python tests/fuzz/fuzz.py $(FUZZ)

matrix:  ## the core tests on Python 3.11 to 3.14 where they can be had, with the lowest and the newest dependencies
	@sh .ci/matrix

dist: docs  ## wheel (with these pages) and sdist, bill of materials, in dist/; tests of the wheel in a bare environment
	$(BIN)/python docs/bundle.py
	@sh .ci/dist

messages: $(VENV)/.dev  ## write the snapshots of errors and warnings in tests/messages again, from the source
	$(BIN)/python tests/messages/source.py

format: $(VENV)/.dev  ## let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev  ## every claim, measured; tables on screen, JSON in benchmarks/results; one: ONLY=maxent ARGS=table4
	@for script in $(if $(ONLY),benchmarks/$(ONLY).py,benchmarks/*.py); do echo "== $$script"; $(BIN)/python $$script $(ARGS) || exit 1; done

book: $(VENV)/.dev  ## docs/book from the JSON in benchmarks/results, and the figures that pages quote
	$(BIN)/python docs/write_book.py
	$(BIN)/python docs/quoted_figures.py

browser: export SUMWISE_BROWSER := $(CACHE)/browser
browser: export SUMWISE_SHOTS := $(CACHE)/browser
browser: $(VENV)/.dev  ## the app in a real browser (Debian's chromium, playwright, axe-core)
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -qq -y chromium; } || \
	  { echo "chromium can't be installed here: the app was not tried in a browser"; exit 3; }
	$(PIP) playwright
	npm install --silent --prefix $(CACHE)/browser axe-core
	$(BIN)/python -m pytest -q tests/browser

pyspark-env: $(VENV)/.core  ## sumwise and what it needs as one archive for Spark's workers (--archives)
	rm -rf $(CACHE)/pyspark-env && mkdir -p dist
	$(PIP) --target $(CACHE)/pyspark-env --no-deps .  # executors draw no figures, read no files and serve no pages
	$(PIP) --target $(CACHE)/pyspark-env numpy scipy scikit-learn numba pandas narwhals pyarrow threadpoolctl
	find $(CACHE)/pyspark-env/sumwise -name '*.py' -exec touch -d 2020-01-01 {} +  # an archive keeps whole seconds; Numba compares
	env -u NUMBA_CACHE_DIR PYTHONPATH=$(CACHE)/pyspark-env $(BIN)/python .ci/archive_kernels.py
	cd $(CACHE)/pyspark-env && tar --exclude='*.pyc' -czf $(CURDIR)/dist/pyspark-env.tar.gz *  # Spark refuses an entry ./
	@echo "dist/pyspark-env.tar.gz"

# All pages are written: the search of changed pages alone would lose the index entries of the others.
docs: $(VENV)/.dev  ## the documentation as HTML in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -a -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:  ## remove what the commands above made
	rm -rf $(VENV) .cache .pytest_cache .ruff_cache .hypothesis docs/_build demo dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
