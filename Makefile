# ingot. `make run` shows it at work, `make test` tests it; both install what is missing.
BUILD  ?= build
DIST    = $(BUILD)/dist
TORCH  ?=
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
CC     := gcc
SYSTEM := $(shell uname -s)

.PHONY: all run test build setup install format lint docs clean test-quick test-python test-torch venv test-msl test-arm test-sanitize test-packages wheel package fuzz health bench tune bench-torch bench-python bench-limits bench-engine bench-latency help

all: build

help:
	@echo "make run            build, run the tour of examples/, and check every operation (ingot health)"
	@echo "make test           build, and run every test (twenty to thirty minutes on two cores); SHARD=2/4: a quarter of it"
	@echo "make build          build/bin/ingot, build/bin/ingotc, build/lib/libingot.{so,a}"
	@echo "make install        install into PREFIX ($(PREFIX)); DESTDIR is honoured"
	@echo "make wheel          $(DIST)/ingot-….whl: the Python package with all that it needs, for other machines"
	@echo "make package        $(DIST)/ingot-….tar.gz and .deb: the same for the command and libingot"
	@echo "make test-packages  both, in bare systems made by debootstrap, and the container image (as root; from the network)"
	@echo "make test-quick     unit, MSL and command-line tests of the normal build"
	@echo "make test-msl       only tests/msl; ARGS='--update FILTER' goes to the runner"
	@echo "make venv           $(BUILD)/venv: a virtual environment with torch (current release), NumPy, pytest, and ingot"
	@echo "make test-arm       code for aarch64 in an emulator; ARGS=--all: all of it (a quarter of an hour)"
	@echo "make test-python    the Python package's tests; ARGS='-k rms_norm' goes to pytest"
	@echo "make test-torch     the same with another torch: make test-torch TORCH='2.7.*'"
	@echo "make test-sanitize  the tests with ASan and UBSan, and the runtime's with TSan"
	@echo "make fuzz           the fuzz targets; FUZZ_SECONDS=12 for each"
	@echo "make health         every operation against its reference, with a page; ARGS='softmax --verbose'"
	@echo "make bench          the operations' speed; ARGS='softmax --type f32'"
	@echo "make tune           better launch policies for this machine; ARGS='rms_norm --dry-run'"
	@echo "make bench-torch    the operations against PyTorch on the CPU; ARGS='--only softmax'"
	@echo "make bench-limits   from which sizes on overrides pay; ARGS=--write replaces python/ingot/_overrides/measured.py"
	@echo "make bench-python   a small transformer with and without ingot: training and decoding steps"
	@echo "make bench-latency  compile and dispatch latencies, and the runtime's memory"
	@echo "make bench-engine   the engine against plain C, PoCL, memcpy and OpenBLAS; ARGS='--json'"
	@echo "make docs           the documents as a site in $(BUILD)/site, with search and the API; MkDocs comes from PyPI"
	@echo "make format, lint   format the sources, write the generated documents; check them and the layers"
	@echo "make clean          remove build folders"

setup:
	@tools/setup.sh

$(BUILD)/build.ninja: | setup
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_C_COMPILER=$(CC) -DCMAKE_INSTALL_PREFIX=$(PREFIX)

build: setup $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS)

ifeq ($(SYSTEM),Darwin)
run test: setup
	@tools/mac $@ $(BUILD)
else
run: build
	@examples/tour.sh $(BUILD)
	@INGOTC=$(BUILD)/bin/ingotc $(BUILD)/bin/ingot health --device cpu --html $(BUILD)/health.html --junit $(BUILD)/health.xml

test: setup
	@JOBS=$(JOBS) tools/test.sh $(if $(SHARD),--shard $(SHARD))
endif

health: build
	INGOTC=$(BUILD)/bin/ingotc $(BUILD)/bin/ingot health --html $(BUILD)/health.html $(ARGS)

bench: build
	INGOTC=$(BUILD)/bin/ingotc $(BUILD)/bin/ingot bench $(ARGS)

tune: build
	INGOTC=$(BUILD)/bin/ingotc $(BUILD)/bin/ingot tune $(ARGS)

bench-torch: build
	INGOTC=$(BUILD)/bin/ingotc python3 bench/torch_compare.py --build $(BUILD) $(ARGS)

bench-limits: build venv
	PYTHONPATH=$(BUILD)/python INGOTC=$(BUILD)/bin/ingotc $(BUILD)/venv/bin/python bench/override_limits.py $(ARGS)

bench-python: build venv
	PYTHONPATH=$(BUILD)/python INGOTC=$(BUILD)/bin/ingotc $(BUILD)/venv/bin/python bench/python_end_to_end.py $(ARGS)

test-quick: setup
	@JOBS=$(JOBS) tools/test.sh build_normal tests

venv: build
	@tools/venv $(BUILD)/venv

test-arm: build
	@JOBS=$(JOBS) tools/test-arm $(ARGS)

test-python: setup
	@JOBS=$(JOBS) PYTEST_ADDOPTS="$(ARGS)" tools/test.sh build_normal venv python_tests

test-torch: setup
	@[ -n '$(TORCH)' ] || { echo "which torch? make test-torch TORCH='2.7.*'"; exit 2; }
	@JOBS=$(JOBS) TORCH='$(TORCH)' PYTEST_ADDOPTS="$(ARGS)" tools/test.sh build_normal venv python_tests

test-msl: build
	INGOTC=$(BUILD)/bin/ingotc $(BUILD)/bin/run-msl tests/msl $(ARGS)

test-sanitize: setup
	@JOBS=$(JOBS) tools/test.sh build_normal build_sanitized tests_sanitized build_threads tests_threads

fuzz: setup
	@JOBS=$(JOBS) tools/test.sh build_fuzz fuzz

bench-latency: build
	cmake --build $(BUILD) --target latency
	INGOTC=$(BUILD)/bin/ingotc $(BUILD)/bin/latency

bench-engine: build
	@tools/setup.sh --bench || echo "what is missing is left out of the table"
	cmake --build $(BUILD) --target engine_bench
	INGOTC=$(BUILD)/bin/ingotc $(BUILD)/bin/engine_bench $(ARGS)

install: build
	cmake --install $(BUILD) --prefix $(PREFIX)

wheel: build
	tools/package wheel $(BUILD)

package: build
	tools/package archives $(BUILD)

test-packages: wheel package
	tests/packages/in_roots.sh $(DIST) $(BUILD)/roots $(ARGS)
	tests/packages/image.sh . $(BUILD)/roots $(or $(INGOT_KERNEL_ARCHIVES),$(BUILD)/kernels)

format: setup
	tools/format
	tools/language-tables
	tools/ops-table $(BUILD)
	tools/pass-tables $(BUILD)
	tools/command-docs tables $(BUILD)/bin

lint: build
	tools/format --check
	tools/check-layers --build $(BUILD)
	tools/language-tables --check
	tools/ops-table --check $(BUILD)
	tools/pass-tables --check $(BUILD)
	tools/command-docs tables $(BUILD)/bin --check
	tools/check-docs
	tools/count --check
	@if [ -x $(BUILD)/venv/bin/ruff ]; then $(BUILD)/venv/bin/ruff check --no-cache .; \
	    else echo "the Python sources were not checked: make venv brings ruff"; fi
	@if [ -x $(BUILD)/venv/bin/check-jsonschema ]; then tools/check-project $(BUILD)/venv; \
	    else echo "workflows, Dockerfile and scripts were not checked: make venv brings the checkers"; fi

docs: setup
	tools/site/build $(BUILD)

clean:
	rm -rf build build-asan build-tsan build-fuzz build-clang
