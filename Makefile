# Two commands matter: `make translate` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
export PYTHONWARNINGS ?= ignore::DeprecationWarning

.PHONY: translate test notebooks readme clean
.DELETE_ON_ERROR:

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 ...")'
	$(PYTHON) -m venv .venv

# torch first and alone, so that its pinned build is taken before anything else can ask for another one
.venv/installed: settings.ini setup.py constraints.txt | $(BIN)/python
	$(PIP) torch setuptools wheel
	$(PIP) --no-build-isolation -e .
	@touch $@

.venv/installed-dev: .venv/installed
	$(PIP) --no-build-isolation -e .[dev]
	@touch $@

translate: .venv/installed ## train on the embedded corpus, score, save
	$(BIN)/at-train --data pocket --out runs/pocket --overwrite

test: .venv/installed-dev ## every check and every notebook's tests
	$(BIN)/python .ci/check.py

notebooks: .venv/installed-dev ## run every notebook with a fresh kernel; nothing may change
	@test -n "$$MULTI30K" || { echo "Set MULTI30K to the absolute path of the Multi30k files: the stored outputs were made with them."; exit 1; }
	cd nbs && ../$(BIN)/jupyter nbconvert --log-level WARN --to notebook --execute --inplace [0-9]*.ipynb index.ipynb
	$(BIN)/nbdev_clean
	git diff --stat --exit-code -- nbs

readme: .venv/installed-dev ## README.md from nbs/index.ipynb
	$(BIN)/python -W ignore .ci/readme.py

clean: ## remove what the other targets made
	rm -rf .venv _proc build *.egg-info
