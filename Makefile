# The commands of a day's work; each is a script in scripts/ or deploy/local/.
#
#   make run     start the local stack; returns when the demo pod runs    make stop    end it
#   make test    build and run all tests, most with sanitizers            make lint    check format and rules
#   make test-readme  type the commands of README.md (the long ones too), deploy/local/README.md and docs/cluster.md into a
#                copy of the tree
#   make test-cases  all cases of public bug reports in tests/cases, the slow ones too; or CASE=NAME alone
#   make bench   measure; prints a table (ROUNDS, PODS, MINUTES: its size)
#   make vm-test the package in a virtual machine of its own, with reboots and power cuts; minutes, VM_DIR keeps its root
#   make fuzz    feed what takes foreign bytes with mutations for MINUTES (10), preset asan; stops at the first that breaks
#   make chaos   random faults for MINUTES (10) on a stack of its own, or SCENARIO of tests/chaos; report in build/chaos
#
# Variables of run and stop: STATE_DIR, MANIFESTS, RUNTIME_ENDPOINT, KUBELET_CONFIG, NODE_NAME, KUBECONFIG, NODE_IP,
# DEMO, PRESET.

STATE_DIR ?= $(CURDIR)/.run
MANIFESTS ?=
RUNTIME_ENDPOINT ?=
KUBELET_CONFIG ?=
NODE_NAME ?=
NODE_IP ?=
# A KUBECONFIG that is set for kubectl does not mean that this node should join that cluster.
NODE_KUBECONFIG = $(if $(filter command,$(firstword $(origin KUBECONFIG))),$(KUBECONFIG))
DEMO ?= 1
PRESET ?= release

STACK = STATE_DIR='$(STATE_DIR)' MANIFESTS='$(MANIFESTS)' RUNTIME_ENDPOINT='$(RUNTIME_ENDPOINT)' \
  KUBELET_CONFIG='$(KUBELET_CONFIG)' NODE_NAME='$(NODE_NAME)' NODE_KUBECONFIG='$(NODE_KUBECONFIG)' NODE_IP='$(NODE_IP)' \
  DEMO='$(DEMO)' PRESET='$(PRESET)'

PROGRAMS = splitlet-config-source splitlet-sync-loop splitlet-pod-worker splitlet-pleg splitlet-status \
  splitlet-gc splitlet-node-api splitlet-kubelet splitletctl splitlet-chaos

MINUTES ?= 10
SCENARIO ?= random

.PHONY: setup build run stop test test-readme test-cases vm-test bench fuzz chaos lint tidy clean

setup:
	@scripts/setup.sh

build: setup
	@scripts/build.sh $(PRESET) $(PROGRAMS)

run: build
	@$(STACK) deploy/local/run.sh

stop:
	@STATE_DIR='$(STATE_DIR)' deploy/local/stop.sh

test: setup
	@scripts/run_tests.py

test-readme: PROGRAMS += fake-api
test-readme: build
	@tests/readme/run.sh local,long samples cluster

test-cases: build
	@BIN_DIR='$(CURDIR)/build/$(PRESET)/bin' tests/cases/run.sh $(if $(CASE),$(CASE),--all)

# Each is skipped, with its reason, on a machine where it cannot run.
vm-test: build
	@PRESET='$(PRESET)' tests/vm/run.sh || [ $$? -eq 77 ]

bench: setup
	@tests/bench/run.sh

fuzz: PRESET = asan
fuzz: setup
	@MINUTES='$(MINUTES)' PRESET='$(PRESET)' scripts/fuzz.sh

chaos: PROGRAMS += fake-api
chaos: build
	@MINUTES='$(MINUTES)' REPORT=build/chaos PRESET='$(PRESET)' tests/chaos/run.sh $(SCENARIO)

lint: setup
	@scripts/lint.sh

tidy: setup
	@scripts/tidy.py

clean: stop
	@rm -rf build '$(STATE_DIR)'
