# Every target bootstraps .venv by itself; a second run finds it ready.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test check protocol bench

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1\t\2/p' Makefile

$(READY): pyproject.toml constraints.txt tools/bootstrap.sh
	@bash tools/bootstrap.sh $(VENV) $(PYTHON) python3
	@touch $(READY)

setup: $(READY) ## install ctxd and its tools into .venv

demo: $(READY) ## replay a real agent session through a real daemon and print the numbers
	@$(BIN)/ctxd replay

test: check ## everything CI runs: the checks, then all tests
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

check: $(READY) ## style, types and layers, without the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

protocol: $(READY) ## write protocol/ anew from the wire models and the method table
	@$(BIN)/python -m tools.protocol

bench: $(READY) ## measure against baselines taken in the same run
	@$(BIN)/python -m bench.run
