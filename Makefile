# Every target does its own set-up: a fresh clone and Python >= 3.11 with pip are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEST_ARGS ?=
PYTHONS ?=

.DEFAULT_GOAL := help
.PHONY: help setup check test test-slow test-cluster test-browser check-main-job faults demo view picture
.PHONY: bench train docs package clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

setup: $(STAMP) ## build .venv and install smorl with its development tools

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "torch>=2.6"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,view]"
	@touch $(STAMP)

check: setup ## lint, formatting and types
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples
	$(BIN)/basedpyright

test: check ## set-up, checks and the default test suite
	$(BIN)/python -m pytest -n 2 --dist loadscope $(TEST_ARGS)

test-slow: setup ## the slow tests: solvability, learning, long resume
	$(BIN)/python -m pytest -m slow $(TEST_ARGS)

test-cluster: setup ## install the extra `cluster` and test campaigns on Ray, SLURM and by search
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,cluster,tensorboard]"
	$(BIN)/python -m pytest -m "slow or not slow" tests/cluster tests/cli/test_sweep_cli.py $(TEST_ARGS)

check-main-job: setup ## half an hour: the main job from scratch with a fresh seed; fails above 0.06 m
	$(BIN)/python -m pytest -m main_job -s $(TEST_ARGS)

test-browser: setup ## the live page in a real browser (installs Debian's Chromium where it can)
	@timeout 120 $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[browser]" \
		|| echo "test-browser: could not install Playwright; the tests will be skipped"
	@command -v chromium >/dev/null || (timeout 60 apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		timeout 240 apt-get install -y -qq --no-install-recommends chromium >/dev/null) \
		|| echo "test-browser: could not install chromium (apt, as root); the tests will be skipped"
	timeout -k 10 480 $(BIN)/python -m pytest -m browser tests/browser $(TEST_ARGS)

picture: setup ## remake the moving picture of README.md: the shipped agent on the live page (after test-browser; minutes)
	$(BIN)/python -m tests.browser.picture

faults: setup ## the fault campaign: kills, mutations, fuzzing, full disks, soak (docs/reliability.md)
	$(BIN)/python -m tests.faults

demo: setup ## a minute: a trained agent rearranges the table from pixels, in a film
	$(BIN)/smorl demo

view: setup ## a live page: drag a puck's goal and watch the agent chase it
	$(BIN)/smorl view

bench: setup ## measure speed: environments, learner, perception and the whole loop
	$(BIN)/smorl bench envs
	$(BIN)/smorl bench learner
	$(BIN)/smorl bench perception
	$(BIN)/smorl bench loop

train: setup ## the main job: from pixels alone to an agent that rearranges the table
	$(BIN)/smorl train visual-rearrange-1

docs: setup ## the documentation as a site in build/site; building it needs no network
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "open build/site/index.html, or look at it with search: $(BIN)/python -m http.server -d build/site"

package: setup ## build wheel and sdist, install the wheel in a clean place, use it; PYTHONS="python3.12 ..." for others
	$(BIN)/python -m tests.check_package $(PYTHONS)

clean: ## remove caches (keeps .venv and runs)
	rm -rf .pytest_cache .ruff_cache build src/*.egg-info
