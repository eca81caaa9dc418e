# HUD. `make run` and `make test` need Python 3.11 or newer and make; they bring everything else.
# Variables: README.md, "Settings". Another Python: make run PYTHON=python3.12

# The first of these that is new enough; where none is, bootstrap.py says so.
PYTHON ?= $(or $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done),python3)
VENV ?= $(CURDIR)/.venv
ARGS ?=
# Tests wait for other processes a third of their time.
TEST_PROCESSES ?= $(shell "$(PYTHON)" -c 'import os; print(min((os.cpu_count() or 1) + 1, 3))')
export VENV

.PHONY: help run test check bench accuracy format environment environment-dev environment-test

help:
	@echo "make run       the page, with all it needs, at http://127.0.0.1:8000 (PORT, REPO, REPLAY …: see README.md)"
	@echo "make test      all tests, on a real PostgreSQL, Valkey, worker and browser (ARGS='-k streak')"
	@echo "make check     lint, types, migrations, architecture"
	@echo "make bench     the benchmarks, one JSON line each"
	@echo "make accuracy  how well classifier and verdicts do on the recorded data"
	@echo "make format    put the code in its standard form"

environment:
	@$(PYTHON) hud/runtime/bootstrap.py

environment-dev:
	@$(PYTHON) hud/runtime/bootstrap.py dev

environment-test:
	@$(PYTHON) hud/runtime/bootstrap.py dev browser

run: environment
	@exec $(VENV)/bin/python -m hud.runtime run

test: environment-test
	@exec $(VENV)/bin/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=loadfile --no-loadscope-reorder $(ARGS)

check: environment-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python manage.py makemigrations --check --dry-run
	$(VENV)/bin/python -m pytest -q tests/test_architecture.py

bench: environment-dev
	@exec $(VENV)/bin/python -m bench $(ARGS)

accuracy: environment-dev
	@$(VENV)/bin/python -m classifier.accuracy $(ARGS)
	@$(VENV)/bin/python -m classifier.verdict.accuracy
	@exec $(VENV)/bin/python -m classifier.verdict.from_logs

format: environment-dev
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
