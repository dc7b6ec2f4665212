# The commands of biowarp's tree. Each does its own set-up and does nothing twice.
#
#   make run        build the program and embed the example proteins
#   make test       all tests that need no PyTorch
#   make test-torch compare with PyTorch, transformers and peft (installs them into build/venv)
#   make build      the program only: build/bin/biowarp
#   make lint       source checks: includes, headers, layout, format
#   make format     rewrite the sources in the tree's format
#   make bench      biowarp beside its peers on this machine
#   make asan       the tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   make tsan       the tests under ThreadSanitizer
#   make fuzz       coverage-guided fuzzing, FUZZ_SECONDS for each target
#   make install    into PREFIX
#   make clean      remove build/
#
# Variables: JOBS, PREFIX, DESTDIR, FUZZ_SECONDS, CMAKE_ARGS (more cache variables for every configuration).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory --no-builtin-rules

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
CMAKE_ARGS ?=

venv := build/venv
python := $(venv)/bin/python
stamp := build/stamp
ccache = $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
silent := $(if $(MAKE_TERMOUT),,--quiet)
say := @printf '%s\n'

.PHONY: help
help:
	@sed -n 's/^#   //p' Makefile

# --- set-up ---------------------------------------------------------------------------------------------------------

$(stamp)/packages-%: scripts/setup.sh scripts/packages.txt
	@mkdir -p $(stamp)
	@scripts/setup.sh packages $*
	@touch $@

$(stamp)/venv: $(stamp)/packages-python
	@scripts/setup.sh venv $(venv)
	@touch $@

$(stamp)/pip-%: scripts/requirements/%.txt $(stamp)/venv
	@scripts/setup.sh pip $(venv) $<
	@touch $@

# Ninja configures again by itself when a CMake file changes.
build/%/build.ninja: CMakePresets.json $(stamp)/packages-build
	$(say) "configure: build/$*"
	@scripts/quietly configure-$* cmake --preset $* $(ccache) $(CMAKE_ARGS)
	@touch $@

# --- build and run --------------------------------------------------------------------------------------------------

.PHONY: build
build: build/cpu/build.ninja
	$(say) "build: build/bin/biowarp"
	@cmake --build build/cpu -j $(JOBS) --target biowarp -- $(silent)
	@mkdir -p build/bin && ln -sfn ../cpu/bin/biowarp build/bin/biowarp

.PHONY: run
run: build
	$(say) "run: biowarp embed examples/data/proteins.fasta -o build/run/proteins.npy"
	@mkdir -p build/run
	@build/bin/biowarp embed examples/data/proteins.fasta -o build/run/proteins.npy

.PHONY: install
install: build/release/build.ninja
	$(say) "install: $(DESTDIR)$(PREFIX)"
	@cmake --build build/release -j $(JOBS) -- $(silent)
	@scripts/quietly install cmake --install build/release --prefix $(PREFIX)

# --- tests ----------------------------------------------------------------------------------------------------------

.PHONY: test test-cpp test-python test-torch
test: test-cpp test-python format-check

test-cpp: build
	$(say) "build: tests"
	@cmake --build build/cpu -j $(JOBS) -- $(silent)
	$(say) "test: C++ tests and source checks"
	@ctest --preset cpu -j $(JOBS)

python_sources := $(shell find src include python pyproject.toml cmake -type f 2>/dev/null | grep -v _test)
$(stamp)/python-package: $(python_sources) $(stamp)/venv $(stamp)/packages-build
	$(say) "build: Python package biowarp"
	@scripts/quietly python-package $(python) -m pip install --disable-pip-version-check .
	@touch $@

test-python: build $(stamp)/python-package $(stamp)/pip-test
	$(say) "test: written files, as other programs read them"
	@$(python) tests/cli/check_outputs.py build/bin/biowarp
	$(say) "test: Python tests"
	@$(python) -m pytest -q python/tests

test-torch: build $(stamp)/python-package $(stamp)/pip-test $(stamp)/pip-torch
	$(say) "test: comparison with PyTorch"
	@$(python) -m pytest -q python/tests_torch

# --- source checks --------------------------------------------------------------------------------------------------

own_sources = $$(find include src cli python tests -name '*.h' -o -name '*.cpp')

.PHONY: lint format format-check
lint: build/cpu/build.ninja format-check
	@ctest --preset cpu -L lint

format-check: $(stamp)/pip-lint
	$(say) "lint: format"
	@$(venv)/bin/clang-format --dry-run --Werror $(own_sources)

format: $(stamp)/pip-lint
	@$(venv)/bin/clang-format -i $(own_sources)

# --- sanitizers and fuzzing -----------------------------------------------------------------------------------------

.PHONY: asan tsan
asan tsan: %: build/%/build.ninja
	$(say) "build: build/$*"
	@cmake --build build/$* -j $(JOBS) -- $(silent)
	$(say) "test: under $*"
	@ctest --preset $* -j $(JOBS)

build/fuzz/build.ninja: $(stamp)/packages-fuzz

.PHONY: fuzz
fuzz: build/fuzz/build.ninja
	$(say) "build: build/fuzz"
	@cmake --build build/fuzz -j $(JOBS) --target fuzz_inputs fuzz_coverage -- $(silent)
	@tests/fuzz/run_coverage.sh build/fuzz/bin tests/fuzz/corpus build/fuzz/found $(FUZZ_SECONDS)

# --- measurements ---------------------------------------------------------------------------------------------------

.PHONY: bench
bench: build $(stamp)/pip-bench
	@$(python) bench/peers/esm2_cpu.py --biowarp build/bin/biowarp

.PHONY: clean
clean:
	rm -rf build
