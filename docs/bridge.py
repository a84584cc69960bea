"""nbdev's staged notebooks as pages for Sphinx: `python docs/bridge.py _proc _sphinx`. They keep to plain Markdown, so little is left to do."""
import ast
import json
import re
import shutil
import sys
from base64 import b64decode
from hashlib import sha256
from html import escape
from pathlib import Path
from types import SimpleNamespace

import nbformat
import yaml
from nbdev.config import get_config

from describe import describe
from menu import minutes, page, pages, parts, place

CFG, VEGA, SVG, MD = get_config(cfg_name='settings.ini'), 'application/vnd.vegalite.v5+json', 'image/svg+xml', 'text/markdown'
CAPTION = r'\*(Figure|Table) (\d+)\.\*'
NARROW = 'application/x-narrow-svg' # the same drawing for a phone
OURS = re.escape(CFG.doc_host + CFG.doc_baseurl) + '/'
COLAB = f'https://colab.research.google.com/github/{CFG.user}/{CFG.repo}/blob/{CFG.branch}/nbs/'

def slug(heading): return re.sub(r'\s+', '-', re.sub(r'[^\w\s.-]', '', heading).strip().lower()).lstrip('0123456789-._') # as Quarto's

def anchor(name): return 'api-' + re.sub(r'[^\w.-]', '', name) # in its case: a class and a function may differ in nothing else

def callouts(text): # Quarto's boxes as MyST's
    return re.sub(r'^::: *\{\.callout-(\w+)[^}]*\}\n(?:#+ (.*)\n)?([\s\S]*?)^:::$', lambda m: f':::{{admonition}} {m[2] or "Note"}\n:class: {m[1]}\n{m[3].strip()}\n:::', text, flags=re.M)

def local(text, ending='ipynb'): # links between notebooks, and nbdev's to the published site, lead to the pages here
    text = re.sub(rf'\[\[(`[^`]+`)\]\({OURS}[^)]*\)\]\(', r'[\1](', text) # in a link of the page's own
    text = re.sub(rf'\[(`[^`]+`)\]\({OURS}\w+\.html#(?:[\w.]+\.)?_[^)]*\)', r'\1', text) # private names have no anchor
    text = re.sub(rf'^(#+ .*?)\[(`[^`]+`)\]\({OURS}[^)]*\)', r'\1\2', text, flags=re.M) # headings are no links
    text = re.sub(rf'\[`([^`]+)`\]\({OURS}(\w+\.html)#[^)]+\)', lambda m: f'<a href="{m[2]}#{anchor(m[1])}"><code>{m[1]}</code></a>', text) # apart from headings of that name
    text = text.replace('<details>', '<details open>') # fold.js closes them
    return re.sub(r'(?<=[("])(\w+)\.ipynb', lambda m: f'{page(m[1])}.{ending}', text)

def doc(cell): # name, source link and text of a show_doc cell; code holds no links, and a class is no function
    text = '\n\n'.join(out.data[MD] for out in cell.outputs)
    link, place, name, body = re.match(r'---\s*(?:(\[source\]\((\S+?)\))\S*(?: [^}\n]*\})?\s*)?#+ (.*?)\n(.*)', text, re.S).groups()
    body = re.sub(rf'\[(`[^`]+`)\]\({OURS}[^)]+\)(?=[^`]*(`[^`]+`[^`]*)*```)', r'\1', body).replace('__main__.', '')
    if is_class(name, place): body = re.sub(rf'^def {re.escape(name)}\((.*?)^\)(->None)?', rf'class {name}(\1)', body, count=1, flags=re.S | re.M)
    return SimpleNamespace(name=name, link=link, body=body)

def is_class(name, place): # by the source that show_doc links to
    path = re.search(rf'{CFG.lib_path.name}/[^#]+', place or '')
    file = CFG.lib_path.parent/path[0] if path else None
    return bool(file and file.is_file() and re.search(rf'^class {re.escape(name)}\b', file.read_text(encoding='utf-8'), re.M))

def defined(source): # names that a cell defines, methods of @patch with their class
    for node in ast.parse(source).body:
        first = node.args.args[:1] if isinstance(node, ast.FunctionDef) else []
        patched = first and first[0].annotation and any('patch' in ast.unparse(d) for d in node.decorator_list)
        if hasattr(node, 'name'): yield f'{ast.unparse(first[0].annotation)}.{node.name}' if patched else node.name

def members(source): # public methods in the bodies of classes
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef): continue
        yield from (f'{node.name}.{f.name}' for f in node.body if isinstance(f, ast.FunctionDef) and not f.name.startswith('_'))

def api(docs, known, text='', inner=(), folded=False): # one heading above all objects of a cell, unless it is folded or the page has it, and the link to their source
    names = [d.name for d in docs]
    spans = ''.join(f'<span id="{anchor(name)}"></span>' for name in dict.fromkeys([*names, *inner]))
    heading = '' if folded or set(names) <= known else f'### {", ".join(names)}'.replace('.', '.\u200b') # a line may end after a dot
    return nbformat.v4.new_markdown_cell('\n\n'.join(filter(None, [spans, heading, f'{{.source}}\n{docs[0].link}' * bool(docs[0].link), text])))

def heights(spec): return [spec['height']] if isinstance(spec.get('height'), int) else [h for key in ('hconcat', 'vconcat', 'concat') for part in spec.get(key, []) for h in heights(part)]

def drawing(svg, kind=''): # it may shrink as long as its smallest text has 11 pixels
    svg = local(''.join(svg), 'html')
    sizes = [float(size) for size in re.findall(r'font-size(?:="|: *)([\d.]+)', svg)]
    width = re.search(r'<svg[^>]* width="([\d.]+)', svg)
    least = f' style="--least: {float(width[1]) * min(1, 11 / min(sizes)):.0f}px"' if width and sizes else ''
    return f'<div class="{" ".join(filter(None, ["drawing", kind]))}"{least}>{svg}</div>'

def picture(data): # a drawing as it is; a chart as its data for charts.js, with room for it, and its stored picture where scripts are off
    if NARROW in data: return drawing(data[SVG], 'on-wide') + drawing(data[NARROW], 'on-narrow')
    if SVG in data: return drawing(data[SVG])
    words = escape(describe(data[VEGA]))
    stored = f'<img alt="{words}" src="data:image/png;base64,{data.get("image/png", "").strip()}">'
    room = max(heights(data[VEGA]), default=150) + 60
    spec = json.dumps(data[VEGA]).replace('</', r'<\/')
    return f'<figure class="chart" role="group" aria-label="{words}" style="min-height: {room}px"><script type="application/json">{spec}</script><noscript>{stored}</noscript></figure>'

def table(html): # in the style of the site, also a Styler's; pandas puts the name of an index into a row of its own
    html = re.sub(r'<style[^>]*>[\s\S]*?</style>\s*', '', html)
    html = re.sub(r'<table(?![^>]* class=)', '<table class="dataframe"', html)
    return re.sub(r'(<thead>\s*<tr[^>]*>\s*<th>)(</th>(?:\s*<th>[^<]*</th>)+\s*</tr>)\s*<tr>\s*<th>([^<]+)</th>(?:\s*<th></th>)+\s*</tr>', r'\1\3\2', html)

def methods(text, names): # nbdev takes a method's name for a function elsewhere
    full = {name.split('.')[-1]: name for name in names if '.' in name and name.split('.')[-1] not in names}
    return re.sub(rf'\[`(\w+)`\]\({OURS}[^)]+\)', lambda m: f'<a href="#{anchor(full[m[1]])}"><code>{m[1]}</code></a>' if m[1] in full else m[0], text)

def plain(source): return re.sub(r'\A(#\|.*\n?)+', '', source).lstrip('\n')

def merged(nb): # show_doc's cells stand before and after the source of their objects: a cell with `docs` above each source instead
    cells = [(c, dict(re.findall(r'^#\| ([\w-]+): *(.*)$', c.source, re.M))) for c in nb.cells]
    docs = {d.name: d for c, o in cells if o.get('output') == 'asis' for d in [doc(c)]}
    shown = {name for c, o in cells if 'code-summary' in o for name in defined(plain(c.source))}
    for c, o in cells:
        if o.get('output') == 'asis':
            if (d := doc(c)).name not in shown: yield None, o, [d]
        else:
            names = defined(plain(c.source)) if 'code-summary' in o else ()
            yield c, o, [docs[name] for name in names if name in docs]

def caption(following): # what the text after a cell is about: figure 4
    shown = (c for c, o, _ in following if c and c.cell_type != 'raw' and o.get('include') != 'false')
    match = re.match(CAPTION, getattr(next(shown, None), 'source', ''))
    return f'of-{match[1].lower()}-{match[2]}' if match else ''

def short(outputs): # whether a phone may break lines: few of them, and no columns
    texts = [''.join(out.get('text') or out.get('data', {}).get('text/plain', '')) for out in outputs if not {VEGA, SVG, 'text/html', MD} & set(out.get('data', {}))]
    lines = ''.join(texts).strip().splitlines()
    numbers = 'tensor(' in lines[0] or 'array(' in lines[0] if lines else False
    return 0 < len(lines) <= (4 if numbers else 8) and sum(bool(re.search(r'\S {2,}\S', line)) for line in lines) < 2

def is_form(out): return 'data-live=' in ''.join(out.get('data', {}).get('text/html', ''))

def after_caption(parts): # a caption stands below its figure, above a form of the translator that follows in the same cell
    form = None
    for c in parts:
        if c.cell_type == 'code' and len(c.outputs) > 1 and is_form(c.outputs[-1]) and any(tag.startswith('of-') for tag in c.metadata['tags']):
            *c.outputs, out = c.outputs
            form = nbformat.v4.new_code_cell('form', metadata={'tags': ['remove-input']}, outputs=[out]) # not shown; a cell without source would be left out
            yield c
        elif form:
            text, _, c.source = c.source.partition('\n\n')
            yield from (nbformat.v4.new_markdown_cell(text), form, c)
            form = None
        else: yield c

def cells(nb): # each cell as Sphinx is to see it
    in_tests, headings, all_cells = False, set(), list(merged(nb))
    names = {d.name for _, _, docs in all_cells for d in docs} | {name for c, _, docs in all_cells if c and docs for name in members(plain(c.source))}
    for i, (c, o, docs) in enumerate(all_cells):
        if docs: yield api(docs, headings, '' if c else local(docs[0].body), members(plain(c.source)) if c else (), o.get('code-fold') == 'true')
        if not c or c.cell_type == 'raw' or o.get('include') == 'false': continue
        c.source = callouts(local(methods(c.source, names))) if c.cell_type == 'markdown' else plain(c.source)
        if c.cell_type == 'markdown': in_tests |= bool(re.search('^## Tests *$', c.source, re.M))
        if c.cell_type == 'markdown': headings |= set(re.findall(r'^#+ `?(.*?)`? *$', c.source, re.M))
        for out in c.get('outputs', []):
            if {VEGA, SVG} & set(out.get('data', {})): out.data = {'text/html': picture(out.data)}
            elif 'text/html' in out.get('data', {}): out.data['text/html'] = table(''.join(out.data['text/html']))
            if MD in out.get('data', {}): out.data = {MD: local(''.join(out.data[MD]))}
        tags = {'remove-input': o.get('echo') == 'false', 'fold-input': o.get('code-fold') == 'true' and not in_tests,
                'wrap-output': short(c.get('outputs', [])), caption(all_cells[i + 1:]): True}
        c.metadata = {'tags': [tag for tag, holds in tags.items() if tag and holds and c.cell_type == 'code']}
        yield c

def reading_time(shown): # minutes for what is open on the page: folded code, answers and tests are not
    texts, sources = [], []
    for c in shown:
        if c.cell_type == 'markdown' and re.search('^## Tests *$', c.source, re.M): break
        if c.cell_type == 'markdown': texts.append(c.source)
        elif not {'remove-input', 'fold-input'} & set(c.metadata['tags']): sources.append(c.source)
        texts += [''.join(out.data[MD]) for out in c.get('outputs', []) if MD in out.get('data', {})]
    return minutes(texts, sources)

def apart(html, folder): # stored pictures as files: where scripts run, a browser does not load them
    def write(match):
        data = b64decode(match[1])
        name = f'{sha256(data).hexdigest()[:20]}.png'
        (folder/name).write_bytes(data)
        return f'src="{folder.name}/{name}"'
    return re.sub('src="data:image/png;base64,([^"]+)"', write, html)

def main(source, target):
    source, target = Path(source), Path(target)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns('*.ipynb', '*.yml', '*.css', '_docs', '.*'))
    pictures = target/'pictures'
    pictures.mkdir()
    menu = parts(source/'_quarto.yml')
    trees = ['```{{toctree}}\n:hidden:\n:caption: {}\n\n{}\n```'.format(part.title, '\n'.join(pages(part))) for part in menu]
    paths = list(source.glob('*.ipynb'))
    if len({page(path) for path in paths}) < len(paths): raise ValueError('two notebooks have one name without their numbers')
    for path in paths:
        nb = nbformat.read(path, 4)
        front = yaml.safe_load(nb.cells[0].source.strip().strip('-'))
        head = f'# {front["title"]}\n\n*{front["description"]}* [Run on Colab]({COLAB}{path.name})'
        shown = list(after_caption(cells(nb)))
        top = [head, place(menu, page(path), reading_time(shown))] + trees * (page(path) == 'index')
        nb.cells = [nbformat.v4.new_markdown_cell(text) for text in top if text] + shown
        for data in (out.data for c in nb.cells for out in c.get('outputs', []) if 'text/html' in out.get('data', {})):
            data['text/html'] = apart(''.join(data['text/html']), pictures)
        nbformat.write(nb, target/f'{page(path)}.ipynb')

if __name__ == '__main__': main(*sys.argv[1:])
