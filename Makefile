# Every target bootstraps .venv by itself; a second run finds it ready.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
EXTENSION := editors/vscode
WORKBENCH ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ctxd-workbench

.PHONY: help setup demo test check protocol bench test-extension test-vscode

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1\t\2/p' Makefile

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

$(EXTENSION)/node_modules/.package-lock.json: $(EXTENSION)/package-lock.json
	cd $(EXTENSION) && npm ci --no-audit --no-fund --loglevel=error

test-extension: $(READY) $(EXTENSION)/node_modules/.package-lock.json ## check the VS Code extension and test it without VS Code
	cd $(EXTENSION) && npm run --silent check && npm test --silent

test-vscode: test-extension ## package the extension and drive a real workbench with it
	@bash $(EXTENSION)/test/workbench/setup.sh $(WORKBENCH)
	@bash $(EXTENSION)/test/workbench/run.sh $(WORKBENCH) $(CURDIR)/$(BIN)/ctxd
