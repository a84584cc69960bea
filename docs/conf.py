"Sphinx settings; title and navigation come from `_quarto.yml`, the rest from `settings.ini`."
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import yaml
from nbdev.config import get_config

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from menu import neighbors, pages, parts  # noqa: E402

cfg = get_config(cfg_name='settings.ini', path=HERE.parent)
website = yaml.safe_load((HERE.parent/'_quarto.yml').read_text(encoding='utf-8'))['website']

project = html_title = website['title']
author, copyright, version = cfg.author, cfg.copyright, cfg.version
exclude_patterns = ["live/**"] # the live page's files
extensions = ['myst_nb', 'sphinx_copybutton']
suppress_warnings = ['myst.header'] # show_doc writes ### under a title
nb_execution_mode = 'off'
nb_merge_streams = True
nb_render_markdown_format = 'myst' # tables, as in the cells
myst_enable_extensions = ['colon_fence', 'amsmath', 'dollarmath', 'attrs_inline', 'attrs_block']
myst_heading_anchors = 4
myst_heading_slug_func = 'bridge.slug'
html_theme = 'sphinx_book_theme'
html_theme_options = dict(repository_url=cfg.git_url, repository_branch=cfg.branch, use_repository_button=True, use_issues_button=True,
                          home_page_in_toc=True, use_download_button=False, show_toc_level=2, navbar_persistent=[])
html_sidebars = {'**': ['navbar-logo.html', 'icon-links.html', 'search-button-field.html', 'menu.html']}
templates_path = ['templates']
html_context = dict(default_mode='auto')
html_static_path = ['static', '../_vendor']
html_favicon = 'static/favicon.svg'
html_css_files = ['site.css']
html_js_files = [(name, dict(defer='defer')) for name in ('charts.js', 'exercises.js', 'fold.js', 'scroll.js')] # charts.js loads vega.js when a chart comes near
mathjax_path = 'math.js' # Sphinx adds it to pages with formulas; it renders them with KaTeX
myst_update_mathjax = False
html_search_scorer = str(HERE/'scorer.js')
html_copy_source = html_show_sourcelink = html_use_index = False

MENU = parts(HERE.parent/'_quarto.yml')

def show_menu(app, name, template, context, doctree): # the reader's part open, and its pages before and after
    titles = {page: app.env.titles[page].astext() for part in MENU for page in pages(part)}
    context['menu'] = [
        SimpleNamespace(title=part.title, open=name in pages(part) or (part is MENU[0] and name not in titles),
                        groups=[SimpleNamespace(title=group.title, pages=[(page, titles[page]) for page in group.pages]) for group in part.groups])
        for part in MENU]
    if name not in titles and name != 'index': return
    context['metatags'] = f'{context.get("metatags", "")}\n<link rel="alternate" type="text/markdown" href="{name}.md">' # see llms.py
    for key, page in zip(('prev', 'next'), neighbors(MENU, name)):
        context[key] = page and dict(link=app.builder.get_relative_uri(name, page), title=titles[page])

UNCOLORED = re.compile('<span class="[npw]">([^<]*)</span>') # names, punctuation and spaces have the color of the text

def lighten(app, name, template, context, doctree): # a third of a page of code
    if 'body' in context: context['body'] = UNCOLORED.sub(r'\1', context['body'])

def setup(app):
    for change in (show_menu, lighten): app.connect('html-page-context', change)
