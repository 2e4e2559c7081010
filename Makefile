# make test is all it takes on a fresh machine with Go.

GO ?= go
# Packages whose tests run: make test TESTS=./cmd/...
TESTS ?= ./...
# Packages whose tests run under the race detector in CI; make race PACKAGES=./... takes all.
PACKAGES ?= ./devices/... ./transfer/... ./runtime/... ./cmd/...
COUNT := $(GO) run ./internal/testcount

.PHONY: help test race check fuzz-short fuzz-nightly bench golden install cuda-double nvml gorgonia gpu gpu-package deps deps-env bench-quick peers gobench

help:
	@echo "make test        install what the tests need, run them all, fuzz for a while"
	@echo "make race        the tests of what shares memory, under the race detector"
	@echo "make check       formatting, vet, staticcheck, layers, modules, builds for every target"
	@echo "make fuzz-short  every fuzz target for five seconds, also a part of make test"
	@echo "make fuzz-nightly every fuzz target for a minute"
	@echo "make bench       tandem beside its peers, and docs/benchmarks.md (40 minutes on a quiet machine; BENCH=... names problems)"
	@echo "make bench-quick the same with small problems, to standard output (BENCH=... names problems)"
	@echo "make gobench     every benchmark of a Go package"
	@echo "make peers       install what make bench compares with"
	@echo "make gpu         test and measure on an NVIDIA GPU (without one: on the double), write gpu.json"
	@echo "make gpu-package build what make gpu runs into a folder, for a machine without Go"
	@echo "make nvml        the tests of what the build tag nvml adds"
	@echo "make gorgonia    the tests of the nested module devices/cuda/gorgonia"
	@echo "make cuda-double build the CUDA test double, print the path of its library"
	@echo "make golden      write the golden files anew"

install:
	@.ci/install

# What the tests need and this machine lacks; `. $$(make -s deps-env)` for a shell.
deps:
	@.ci/deps.sh

deps-env:
	@.ci/deps.sh env

test: deps
	@set -o pipefail; . $$(.ci/deps.sh env); $(GO) test -json -timeout 25m $(TESTS) | $(COUNT)
	@if [ "$(TESTS)" = ./... ]; then $(MAKE) --no-print-directory nvml gorgonia; fi
	@.ci/fuzz 5s $(TESTS)

# What the build tag nvml adds, against mock servers of go-nvml. Its header marks
# functions as deprecated that it binds itself.
nvml:
	@set -o pipefail; CGO_ENABLED=1 CGO_CFLAGS="-O1 -Wno-deprecated-declarations" $(GO) test -json -tags nvml -timeout 10m ./devices/cuda/health | $(COUNT)

# The nested module, linked with the CUDA test double.
gorgonia:
	@. $$(.ci/deps.sh env); .ci/gorgonia

race:
	@set -o pipefail; . $$(.ci/deps.sh env); $(GO) test -json -race -short -timeout 25m $(PACKAGES) | $(COUNT)

check:
	@.ci/check

fuzz-short:
	@.ci/fuzz 5s $(TESTS)

fuzz-nightly:
	@.ci/fuzz 60s $(TESTS)

# The peers come from Debian: make peers installs them.
bench:
	$(GO) run ./bench/compare -docs docs $(BENCH)

bench-quick:
	$(GO) run ./bench/compare -quick $(BENCH)

peers:
	@.ci/peers

gobench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Tests and measures on an NVIDIA GPU: one table, and gpu.json.
gpu:
	@.ci/gpu

# The same as a folder of programs, for a machine without Go.
gpu-package:
	@.ci/gpu package gpu-package

cuda-double:
	@$(GO) run ./devices/cuda/cudatest/build

# Only packages with golden files know the flag.
golden:
	$(GO) test $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -r -n1 dirname | sort -u) -count=1 -update

SHELL := /bin/bash
