"""Texts for language models, made from the pages of the site: `python docs/llms.py _sphinx _site`.

`llms.txt` lists the pages by part, `llms-ctx.txt` has what most questions need in one file, and each page has a Markdown twin, `NAME.md`."""
import importlib
import inspect
import re
import sys
from html import unescape
from pathlib import Path

import nbformat

from bridge import CFG, MD
from menu import pages, parts

ROOT = Path(__file__).resolve().parent.parent
SITE = CFG.doc_host + CFG.doc_baseurl
LONGEST = 40 # lines of one output
BUDGET = 60_000 # bytes of the context file
CONTEXT_PAGES = 'index', 'faq' # whole pages of it
CONTEXT_MODULES = ('transformer', 'config', 'build', 'data.corpora', 'data.pocket', 'data.pairs', 'train.training', 'train.checkpoints',
                   'inference.translator', 'inference.decoding', 'inference.beam', 'inference.evaluation', 'inference.export',
                   'lab.attention_maps', 'lab.interop')
COMMANDS = 'train', 'translate', 'evaluate', 'ablate', 'grid', 'bench', 'bench_decoding'

def plain_markdown(text): # without the marks that are for Sphinx, links to twins
    text = re.sub(r'<span id="[^"]*"></span>|^\{\.\w+\}\n?', '', text, flags=re.M)
    text = re.sub(r'^:::\{admonition\} (.*)\n(?::class: .*\n)?([\s\S]*?)^:::$', r'**\1.** \2', text, flags=re.M)
    text = re.sub(r'<a href="([\w.-]+)\.html[^"]*"><code>([^<]+)</code></a>', r'[`\2`](\1.md)', text)
    text = re.sub(r'</?details[^>]*>|</?summary>|\u200b', '', text)
    text = re.sub(r'```\{toctree\}[\s\S]*?```\n?', '', text)
    return re.sub(r'\]\(([\w.-]+)\.ipynb(#[^)]*)?\)', r'](\1.md)', text).strip()

def described(data): # an output in words: a table or text as it is, a figure by what it shows
    if MD in data: return plain_markdown(''.join(data[MD]))
    html = ''.join(data.get('text/html', ''))
    if 'class="chart"' in html or 'class="drawing' in html:
        label = re.search(r'aria-label="([^"]+)"|<title>([^<]+)</title>', html)
        return f'[Figure: {unescape(next(filter(None, label.groups())))}]' if label else '[Figure]'
    text = ''.join(data.get('text/plain', ''))
    return f'```\n{shortened(text)}\n```' if text and not text.startswith('<IPython') else ''

def shortened(text):
    lines = text.rstrip().splitlines()
    return '\n'.join(lines[:LONGEST] + [f'… {len(lines) - LONGEST} more lines'] * (len(lines) > LONGEST))

def markdown(nb): # a page up to its tests
    blocks = []
    for c in nb.cells:
        if c.cell_type == 'markdown' and (tests := re.search('^## Tests *$', c.source, re.M)):
            blocks.append(plain_markdown(c.source[:tests.start()]))
            break
        if c.cell_type == 'markdown': blocks.append(plain_markdown(c.source))
        elif 'remove-input' not in c.metadata.get('tags', []): blocks.append(f'```python\n{c.source.strip()}\n```')
        for out in c.get('outputs', []):
            blocks.append(f'```\n{shortened("".join(out["text"]))}\n```' if out.get('text') else described(out.get('data', {})))
    return re.sub(r'\n{3,}', '\n\n', '\n\n'.join(filter(None, blocks))) + '\n'

def head(nb): # title and description of a page
    title, description = re.match(r'# (.*?)\n+\*(.*?)\*(?= |$)', nb.cells[0].source, re.S).groups()
    return title, description

def listing(menu, heads): # llms.txt, in the form of llmstxt.org
    title, description = heads['index']
    lines = [f'# {title}', '', f'> {description}', '', f'The package is `{CFG.lib_name}`; its source is the notebooks of {CFG.git_url}.',
             f'Most questions are answered by [one context file]({SITE}/llms-ctx.txt).', '']
    for part in menu:
        lines += [f'## {"Optional" if part is menu[-1] else part.title}', '']
        lines += [f'- [{heads[name][0]}]({SITE}/{name}.md): {heads[name][1]}' for name in pages(part)] + ['']
    return '\n'.join(lines)

def first_line(thing): return (inspect.getdoc(thing) or '').split('\n')[0]

def call(name, thing): # a name as it is called: parameters and defaults, without types
    try: given = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError): return name
    return f'{name}({", ".join(str(p.replace(annotation=p.empty)) for p in given)})'

def api(module): # the public names of a module, one a line
    there = importlib.import_module(f'{CFG.lib_path.name}.{module}')
    names = [name for name in there.__all__ if not name.startswith('_') and '.' not in name and callable(getattr(there, name))]
    lines = [f'### from {there.__name__} import …', '', (there.__doc__ or '').strip().split('\n')[0], '']
    for name in names:
        thing = getattr(there, name)
        lines.append(f'- `{call(name, thing)}`: {first_line(thing)}')
        if not inspect.isclass(thing): continue
        methods = {m: f for m, f in vars(thing).items() if not m.startswith('_') and m != 'forward' and inspect.isfunction(getattr(f, '__func__', f))}
        lines += [f'  - `.{call(m, getattr(f, "__func__", f))}`: {first_line(f)}' for m, f in methods.items() if first_line(f)]
    return '\n'.join(lines).replace('(self, ', '(').replace('(self)', '()').replace('(cls, ', '(')

def options(command): # what `--help` prints in short
    entry, about = importlib.import_module(f'{CFG.lib_path.name}.cli.main')._COMMANDS[command]
    module, _, name = entry.partition(':')
    function = getattr(importlib.import_module(module), name.removeprefix('at_'))
    names = [f'--{p.name}' for p in inspect.signature(function).parameters.values()]
    return f'- `at-{command.replace("_", "-")}`: {about}. Parameters: {" ".join(names)}'

def context(texts): # what most questions need, in one file
    blocks = [texts[name] for name in CONTEXT_PAGES]
    blocks += ['# Commands', '\n'.join(options(command) for command in COMMANDS)]
    blocks += ['# Names, module by module', '\n\n'.join(api(module) for module in CONTEXT_MODULES)]
    return '\n\n'.join(blocks) + '\n'

def main(source, target):
    target, menu = Path(target), parts(ROOT/'_quarto.yml')
    books = {path.stem: nbformat.read(path, 4) for path in sorted(Path(source).glob('*.ipynb'))}
    texts = {name: markdown(nb) for name, nb in books.items()}
    for name, text in texts.items(): (target/f'{name}.md').write_text(text, encoding='utf-8')
    (target/'llms.txt').write_text(listing(menu, {name: head(nb) for name, nb in books.items()}), encoding='utf-8')
    (target/'llms-ctx.txt').write_text(context(texts), encoding='utf-8')

if __name__ == '__main__': main(*sys.argv[1:])
