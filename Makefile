# Every recipe runs without the caller's Airflow, Spark, Python and AWS variables, in .venv, which `setup` makes.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CLEAN_ENV := tools/clean_env.sh
PYTHON := $(CLEAN_ENV) .venv/bin/python
# Processes that share the tests; WORKERS=0 runs them one after the other, in this one.
ifeq ($(origin WORKERS), undefined)
WORKERS = auto
# Those with a scheduler or a cluster wait for minutes: one process more than there are cores is at work meanwhile.
test-all: WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
endif
PYTEST = -m pytest -n $(WORKERS) --maxprocesses 4
MORE := scheduler or cluster or faults or browser or heavy

.PHONY: help setup demo ui test test-all torture mutations bench screenshots lint docs docs-serve constraints dist clean

help: ## Show what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Make .venv with everything that is needed (done by the others too)
	@$(CLEAN_ENV) tools/setup.sh

demo: setup ## Export a topic into a bucket here: real Kafka, real Spark, an S3 server
	@$(PYTHON) -m tools.demo $(ARGS)

ui: setup ## The same under Airflow, with its web page
	@$(PYTHON) -m tools.ui $(ARGS)

test: setup ## The tests that take minutes at most; ARGS="-k word" narrows them
	@$(PYTHON) $(PYTEST) -m "not ($(MORE) or trial)" $(ARGS)

test-all: setup ## Those and the ones with a scheduler, a Spark cluster, killed runs, a browser or much memory
	@$(PYTHON) $(PYTEST) -m "not trial" $(ARGS)

torture: setup ## Long trials: generated histories, killed runs; ARGS="-k seeds" narrows them
	@$(PYTHON) -m pytest -m trial -s $(ARGS)

mutations: setup ## Do the generated histories notice wrong changes? ARGS="--only void" tries that one
	@$(PYTHON) -m tools.mutations $(ARGS)

bench: setup ## What a record costs beside reading it; ARGS="--records 300000 --repetitions 1" is quicker
	@$(PYTHON) -m bench $(ARGS)

screenshots: setup ## Pictures of the page over made-up data, into docs/screenshots; needs Chromium
	@$(PYTHON) -m tools.screenshots

lint: setup ## Style and types
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy

docs: setup ## The site of the documentation, into build/site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict $(ARGS)

docs-serve: setup ## The same on this machine, built anew while you write
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs serve $(ARGS)

COMPILE := $(CLEAN_ENV) uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-annotate --no-emit-index-url --no-emit-find-links
LOCKS := tools/requirements

constraints: ## Resolve constraints.txt and tools/requirements anew from pyproject.toml, with hashes (needs uv)
	@command -v uv >/dev/null || { echo "constraints: uv is needed; see https://docs.astral.sh/uv" >&2; exit 1; }
	@$(COMPILE) --upgrade --extra dev pyproject.toml --output-file constraints.txt
	@$(COMPILE) --upgrade --extra airflow --extra spark --extra postgres --extra protobuf --extra msk --constraint constraints.txt pyproject.toml --output-file $(LOCKS)/image.txt
	@$(COMPILE) --upgrade --constraint constraints.txt $(LOCKS)/java.in --output-file $(LOCKS)/java.txt
	@$(COMPILE) --upgrade --constraint constraints.txt $(LOCKS)/build.in --output-file $(LOCKS)/build.txt
	@grep '^hatchling==' $(LOCKS)/build.txt | cut -d ' ' -f 1 | sed 's/.*/constraints: pyproject.toml has to require &/'

dist: setup ## The wheel, and the archive for Spark workers that have nothing installed, into dist/
	@$(PYTHON) -m hatchling build --target wheel
	@$(PYTHON) -m kafka_s3.cli bundle

clean: ## Remove all that can be made again: .venv, downloads, the demo's data, caches
	@rm -rf .venv .cache .demo build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
