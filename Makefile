# Everything runs in .venv, which `make setup` builds from constraints.txt.
SHELL := /bin/bash
PYTHON ?= python3
WORKERS ?= $(shell nproc | awk '{ print ($$1 > 8) ? 8 : $$1 }')
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_TEST := $(VENV)/.installed-test
VENV_VLLM := .venv-vllm
BIN_VLLM := $(VENV_VLLM)/bin
INSTALLED_VLLM := $(VENV_VLLM)/.installed
export PYTHONSAFEPATH := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: setup demo test test-vllm check format manifest schemas bench train-proof clean

setup: $(INSTALLED_TEST)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "subworlds needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(INSTALLED_TEST): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[train,test]'
	@touch $@

demo: $(INSTALLED)
	@$(BIN)/subworlds demo

test: setup
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile

# Real vLLM, its CPU build, in an environment of its own (about 3 GB).
test-vllm: $(INSTALLED_VLLM)
	OMP_NUM_THREADS=1 $(BIN_VLLM)/python -m pytest tests/vllm

$(INSTALLED_VLLM): pyproject.toml constraints.txt tests/vllm/requirements.txt tests/vllm/cpu_plugin/pyproject.toml
	$(PYTHON) -m venv $(VENV_VLLM)
	$(BIN_VLLM)/python -m pip install --quiet --constraint constraints.txt --editable '.[train,test]'
	$(BIN_VLLM)/python -m pip install --quiet --no-deps --requirement tests/vllm/requirements.txt
	$(BIN_VLLM)/python -m pip install --quiet --no-deps --no-build-isolation --editable tests/vllm/cpu_plugin
	@touch $@

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/mypy

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

manifest: $(INSTALLED)
	$(BIN)/python tests/docs/manifest.py

schemas: $(INSTALLED)
	$(BIN)/python tests/docs/schemas.py

bench: $(INSTALLED)
	@$(BIN)/subworlds bench

# About an hour on two cores; goes on where it was stopped. ARGS: see `python -m subworlds.training.proof --help`.
train-proof: $(INSTALLED_TEST)
	$(BIN)/python -m subworlds.training.proof $(ARGS)

clean:
	rm -rf $(VENV) $(VENV_VLLM) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
