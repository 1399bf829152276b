# proctor: `make` lists the targets, `make demo` shows what it does.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
SANDBOX ?=
MINUTES ?= 10
ATONCE ?= 1
TARGETS ?=
VENV := .venv
BIN := $(VENV)/bin
CODE := orchestrator sandboxes tests bench

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: install ## watch four tasks being graded in sandboxes (SANDBOX=docker for Docker or Podman)
	@$(BIN)/proctor demo $(if $(SANDBOX),--sandbox $(SANDBOX))

.PHONY: install
install: $(VENV)/.installed ## make .venv and install proctor into it (git and runc too, as root)

.PHONY: test
test: check ## everything: lint, types, imports, then all tests with real engines
	@.ci/with-engines $(BIN)/python -m pytest -m "not network"

.PHONY: test-fast
test-fast: $(VENV)/.developing ## unit and flow tests only: no engine needed
	@$(BIN)/python -m pytest -q tests/unit tests/flow

.PHONY: test-real
test-real: $(VENV)/.developing ## real projects from the package registries, on every engine
	@.ci/with-engines $(BIN)/python -m pytest -m network

.PHONY: attacks
attacks: $(VENV)/.developing ## cheats that must fail and odd honest work that must pass, on both engines
	@.ci/with-engines $(BIN)/python -m tests.attacks

.PHONY: check
check: $(VENV)/.developing ## lint, format, types and import contract, without tests
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/mypy
	@$(BIN)/lint-imports

.PHONY: bench
bench: $(VENV)/.developing ## measure the cost over bare containers, the start-up, 500 fake trials, text checks
	@.ci/with-engines $(BIN)/python bench/startup.py
	@$(BIN)/python bench/fake_trials.py
	@$(BIN)/python bench/rubrics.py
	@$(BIN)/python bench/history.py
	@$(BIN)/python bench/nights.py --months 20
	@.ci/with-engines $(BIN)/python bench/floor.py
	@.ci/with-engines $(BIN)/python bench/delta.py

.PHONY: fuzz
fuzz: $(VENV)/.fuzzing ## feed rubrics, patterns, chrF and the combiner for MINUTES each (default 10)
	@$(BIN)/python tests/fuzz/drive.py --minutes $(MINUTES) --at-once $(ATONCE) $(TARGETS)

.PHONY: patches
patches: $(VENV)/.developing ## take 10,000 random changes there and back, and damage each (a quarter of an hour)
	@$(BIN)/python bench/patches.py

.PHONY: faults
faults: $(VENV)/.developing ## kill runs, break engines and runtimes, simulate a day: what is lost or left (an hour or two)
	@.ci/with-engines $(BIN)/python -m tests.faults $(CAMPAIGNS)

.PHONY: bench-real
bench-real: $(VENV)/.developing ## benchmarks/real_fixes against its own commands run bare
	@.ci/with-engines $(BIN)/python bench/real_fixes.py

.PHONY: clean
clean: ## remove what the targets above made here (not your runs, not the cache)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: a second call has nothing to do until pyproject.toml changes.
$(VENV)/.installed: pyproject.toml .ci/machine
	@PYTHON="$(PYTHON)" .ci/machine
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing proctor into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@$(BIN)/python -m compileall -q orchestrator sandboxes
	@touch $@

$(VENV)/.developing: $(VENV)/.installed
	@echo "installing the tools of developers ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/.fuzzing: $(VENV)/.developing
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	@touch $@
