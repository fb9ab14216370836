# Weir's commands. `make` alone lists them.
SHELL := /bin/sh
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.SUFFIXES:

# The first Python of 3.11 to 3.13, for which every package has a ready build, else any later one;
# `make PYTHON=/path/to/python run` names another.
ifndef PYTHON
PYTHON := $(shell for top in 14 99; do for name in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	if command -v $$name >/dev/null 2>&1 && \
	$$name -c "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, $$top))" 2>/dev/null; \
	then command -v $$name; exit; fi; done; done)
endif
VENV := .venv/bin
PY := $(CURDIR)/$(VENV)/python
# Dozens of processes start from this tree: none compiles it anew.
unexport PYTHONDONTWRITEBYTECODE
# The acceptance test and the portals of the stories keep two cores busy beside two workers.
WORKERS ?= 2
COMPILE = $(VENV)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header

.PHONY: help run serve stop reset test unit lint format bench pictures cards engines ray assets openapi requirements ratchets lock libraries env env-dev python

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run: env ## Start the portal on this machine, carry one order through it and leave it open
	@exec $(PY) -m portal.devstack up

serve: env ## Start the portal on this machine with an empty centre, and print the link to its setup page
	@exec $(PY) -m portal.devstack serve

stop: env ## Stop a portal started elsewhere by `make run` or `make serve`
	@exec $(PY) -m portal.devstack down

reset: env ## Stop, then wipe all data under var/
	@exec $(PY) -m portal.devstack reset

test: env-dev ## Run every test
	@$(PY) -m portal.devstack.assets
	@exec env WEIR_TEST_WHOLE=1 $(PY) -m pytest tests --ignore=tests/bench --ignore=tests/pictures -n $(WORKERS) \
		--dist loadgroup --no-loadscope-reorder -q --durations 20 $(ARGS)

unit: env-dev ## Run the tests that need no server
	@$(PY) -m portal.devstack.message_catalogs
	@exec env WEIR_TEST_EXAMPLES=0.1 $(PY) -m pytest tests/unit --confcutdir=tests/unit -n logical -q $(ARGS)

lint: env-dev ## Check style, types, migrations, layers, templates, scripts and gates
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(PY) -m gates.static_types
	@$(PY) -m portal.devstack.manage makemigrations --check --dry-run
	@$(VENV)/lint-imports
	@$(PY) -m portal.devstack.manage templates_check
	@$(PY) -m gates
	@$(PY) -m gates.requirements --check
	@$(VENV)/djlint templates --lint --quiet
	@$(PY) -m gates.scripts_check

format: env-dev ## Put the code into the house's form
	@$(VENV)/ruff format .
	@$(VENV)/ruff check --fix .

bench: env-dev ## Run the benchmarks against their limits
	@exec env WEIR_TEST_DURABLE=1 $(PY) -m pytest tests/bench -q -p no:xdist $(ARGS)

pictures: env-dev ## Make pictures of the main pages, in both languages and themes, in docs/pictures/pages
	@exec $(PY) -m pytest tests/pictures -q -p no:xdist $(ARGS)

cards: env-dev ## Run the tests of an NVIDIA card; CARD_PYTHON names a Python with PyTorch for it
	@exec $(or $(CARD_PYTHON),$(PY)) -m pytest -c tests/cards/pytest.ini tests/cards -q -s $(ARGS)

engines: env-dev ## Run the suite of the adapters on every kind of centre installed here, a line of JSON for each
	@exec $(PY) -m tests.engines $(ARGS)

ray: env-dev ## Install a Ray outside the checkout: a centre of `make run`, and for the tests of that kind
	@$(PY) -m portal.devstack.engines.ray_install

libraries: env-dev ## Run programs of transformers, timm, peft, accelerate and Lightning on the device beside the CPU
	@$(PY) -m pip install --quiet --no-input --no-deps --require-hashes -r requirements/libraries.txt
	@exec env OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR):$(CURDIR)/client $(PY) -m tests.libraries \
		$(or $(ARGS),transformers timm peft accelerate lightning trainer)

assets: env ## Build the front-end assets where they are old
	@$(PY) -m portal.devstack.style_classes
	@$(PY) -m portal.devstack.assets

openapi: env-dev ## Write the API's description to docs/openapi.yaml, and the client's types of it
	@$(PY) -m portal.devstack.manage spectacular --lang en --validate --fail-on-warn --file docs/openapi.yaml
	@$(VENV)/datamodel-codegen

requirements: env-dev ## Write the table of requirements, states and tests to docs/requirements/coverage.md
	@$(PY) -m gates.requirements

ratchets: env-dev ## Take what is mended out of the ratchets of gates/
	@$(PY) -m gates --shrink
	@$(PY) -m gates.static_types --shrink

lock: env-dev ## Lock the newest allowed versions of all packages, with hashes
	@for name in base assets dev ray; do $(COMPILE) requirements/$$name.in -o requirements/$$name.txt; done
	@$(COMPILE) --excludes requirements/excluded.in requirements/libraries.in -o requirements/libraries.txt
	@! grep -nE '://|--(index|extra-index|find-links)' requirements/*.txt

env: python
	@$(PYTHON) portal/devstack/bootstrap.py run

env-dev: python
	@$(PYTHON) portal/devstack/bootstrap.py dev

python:
	@test -n "$(PYTHON)" || { echo "weir: no Python 3.11 or later here: install one (Debian: apt-get install python3 \
	python3-venv) or name it (make PYTHON=/path/to/python3 run)" >&2; exit 1; }
