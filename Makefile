# make demo and make test need nothing but Python 3.11 or newer and a network for packages: each makes its own environment.
# Variables: PYTHON (which Python), VENV (where the environment is), CONSTRAINTS (pinned versions; empty for the newest),
# ARGS (more arguments for pytest).

PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
ARGS ?=

PY = $(VENV)/bin/python
PIP = -m pip install --quiet --disable-pip-version-check

HERMES = build/peers/hermes
HERMES_VERSION = 0.19.0
DATASETS = build/peers/datasets
DATASETS_VERSION = 5.2.0
TEICH_VERSION = 0.3.6
READERS = build/peers/readers
CLAUDE_CODE_LOG_VERSION = 1.7.0
AGENTSVIEW_VERSION = 0.46.1
PANDOC_VERSION = 1.17

.PHONY: help demo test lint interop bench clean

help:
	@echo "make demo     try satchel on your Hermes store, or on a bundled sample"
	@echo "make test     run the tests"
	@echo "make lint     run the linter, the formatter's check and both type checkers"
	@echo "make interop  run the tests against real programs (hermes-agent, datasets, claude-code-log, agentsview, pandoc)"
	@echo "make bench    measure speed and memory"
	@echo "make clean    remove what the others made (satchel-demo/ stays: it may hold your sessions)"

# The environment. A stamp says what is installed in it, so that a second run is quick.
$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "satchel needs Python 3.11 or newer; $(PYTHON) is: $$($(PYTHON) --version 2>&1). Name another one: make PYTHON=/path/to/python3.11" >&2; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
		rm -f $(PY); \
		echo "$(PYTHON) could not make the environment $(VENV). On Debian and Ubuntu the package python3-venv is needed." >&2; \
		exit 1; }

$(VENV)/.run: EXTRAS =
$(VENV)/.test: EXTRAS = [test]
$(VENV)/.lint: EXTRAS = [test,lint]
$(VENV)/.run $(VENV)/.test $(VENV)/.lint: pyproject.toml $(CONSTRAINTS) | $(PY)
	@echo "Installing satchel$(EXTRAS) into $(VENV)"
	@$(PY) $(PIP) $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.$(EXTRAS)'
	@touch $@

# The export may hold private sessions: nobody else gets to read it. Status 3 says that something could not be read, and was named.
demo: $(VENV)/.run
	@umask 077; set -e; mkdir -p satchel-demo; chmod 700 satchel-demo; \
	store="$${HERMES_HOME:-$$HOME/.hermes}/state.db"; \
	if [ -f "$$store" ]; then \
		echo "Your Hermes store is read, and not changed: $$store"; \
	else \
		store=build/demo/hermes-home/state.db; \
		echo "There is no Hermes store here, so a sample with invented sessions is made: $$store"; \
		$(PY) fixtures/hermes_state/build.py "$$store" --case story --force; \
	fi; \
	echo; echo "\$$ satchel export satchel-demo/ --from $$store --force"; \
	$(VENV)/bin/satchel export satchel-demo/ --from "$$store" --force || [ $$? -eq 3 ]; \
	echo; echo "\$$ satchel verify satchel-demo --content"; \
	$(VENV)/bin/satchel verify satchel-demo --content; \
	echo; echo "Your sessions are in satchel-demo/sessions.jsonl, one a line; manifest.jsonl and SHA256SUMS prove them."; \
	echo "Try next:"; \
	echo "  (cd satchel-demo && sha256sum -c SHA256SUMS)    check it without satchel"; \
	echo "  $(VENV)/bin/satchel export --help"

test: $(VENV)/.test
	$(PY) -m pytest $(ARGS)

lint: $(VENV)/.lint
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	sh .ci/typing
	$(PY) -m mypy -p satchel
	$(PY) -m mypy tests fixtures
	$(PY) -m pyright --pythonpath $(PY)

$(HERMES)/.$(HERMES_VERSION): | $(PY)
	$(PY) -m venv $(HERMES)
	$(HERMES)/bin/python $(PIP) --no-deps hermes-agent==$(HERMES_VERSION)
	@touch $@

$(DATASETS)/.$(DATASETS_VERSION)-$(TEICH_VERSION): | $(PY)
	$(PY) -m venv $(DATASETS)
	$(DATASETS)/bin/python $(PIP) datasets==$(DATASETS_VERSION) teich==$(TEICH_VERSION)
	@touch $@

$(READERS)/.$(CLAUDE_CODE_LOG_VERSION)-$(AGENTSVIEW_VERSION)-$(PANDOC_VERSION): | $(PY)
	$(PY) -m venv $(READERS)
	$(READERS)/bin/python $(PIP) claude-code-log==$(CLAUDE_CODE_LOG_VERSION) agentsview==$(AGENTSVIEW_VERSION) \
		pypandoc_binary==$(PANDOC_VERSION)
	@touch $@

# Without SATCHEL_INTEROP=required these tests skip where a program is missing.
interop: $(VENV)/.test $(HERMES)/.$(HERMES_VERSION) $(DATASETS)/.$(DATASETS_VERSION)-$(TEICH_VERSION) \
		$(READERS)/.$(CLAUDE_CODE_LOG_VERSION)-$(AGENTSVIEW_VERSION)-$(PANDOC_VERSION)
	SATCHEL_INTEROP=required \
	SATCHEL_PEER_HERMES="$(CURDIR)/$(HERMES)/bin/python" \
	SATCHEL_PEER_DATASETS="$(CURDIR)/$(DATASETS)/bin/python" \
	SATCHEL_PEER_READERS="$(CURDIR)/$(READERS)/bin/python" \
	$(PY) -m pytest tests/interop $(ARGS)

bench: $(VENV)/.test
	$(PY) tests/bench/run.py

clean:
	rm -rf build dist .venv satchel.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find converters formats manifest redaction tests fixtures -name __pycache__ -type d -exec rm -rf {} +
