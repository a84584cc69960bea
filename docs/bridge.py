"""nbdev's staged notebooks as pages for Sphinx: `python docs/bridge.py _proc _sphinx`. They keep to plain Markdown, so little is left to do."""
import json, re, shutil, sys
from pathlib import Path
import nbformat, yaml
from nbdev.config import get_config

CFG, VEGA, SVG, MD = get_config(cfg_name='settings.ini'), 'application/vnd.vegalite.v5+json', 'image/svg+xml', 'text/markdown'
OURS = re.escape(CFG.doc_host + CFG.doc_baseurl) + '/'
COLAB = f'https://colab.research.google.com/github/{CFG.user}/{CFG.repo}/blob/{CFG.branch}/nbs/'

def page(notebook): return re.sub(r'^\d+_', '', Path(notebook).stem) # the address that nbdev gives a notebook
def slug(heading): return re.sub(r'\s+', '-', re.sub(r'[^\w\s.-]', '', heading).strip().lower()).lstrip('0123456789-._') # as Quarto's

def callouts(text): # Quarto's boxes as MyST's
    return re.sub(r'^::: *\{\.callout-(\w+)[^}]*\}\n(?:#+ (.*)\n)?([\s\S]*?)^:::$', lambda m: f':::{{admonition}} {m[2] or "Note"}\n:class: {m[1]}\n{m[3].strip()}\n:::', text, flags=re.M)

def local(text, ending='ipynb'): # links between notebooks, and nbdev's to the published site, lead to the pages here
    text = re.sub(rf'\[(`[^`]+`)\]\({OURS}\w+\.html#(?:[\w.]+\.)?_[^)]*\)', r'\1', text) # private names have no anchor
    text = re.sub(rf'\[`([^`]+)`\]\({OURS}(\w+\.html)#([^)]+)\)', r'<a href="\2#api-\3"><code>\1</code></a>', text) # apart from headings of that name
    return re.sub(r'(?<=[("])(\w+)\.ipynb', lambda m: f'{page(m[1])}.{ending}', text)

def signature(text, known, shown): # show_doc's Markdown, without the heading that the page has and the signature that the source repeats
    link, name, body = re.match(r'---\s*(?:(\[source\]\(\S+?\))\S*(?: [^}\n]*\})?\s*)?#+ (.*?)\n(.*)', text, re.S).groups()
    body = re.sub(rf'\[(`[^`]+`)\]\({OURS}[^)]+\)(?=[^`]*(`[^`]+`[^`]*)*```)', r'\1', body).replace('__main__.', '') # code holds no links
    parts = [f'<span id="api-{slug(name)}"></span>', f'### {name}' * (name not in known), f'{{.source}}\n{link}' * bool(link), body * (not shown)]
    return '\n\n'.join(filter(None, parts))

def picture(data): # a drawing as it is; a chart as its data for charts.js, and its stored picture where scripts are off
    if SVG in data: return f'<div class="drawing">{local("".join(data[SVG]), "html")}</div>'
    stored = f'<img alt="Chart" src="data:image/png;base64,{data.get("image/png", "").strip()}">'
    spec = json.dumps(data[VEGA]).replace('</', r'<\/')
    return f'<figure class="chart"><script type="application/json">{spec}</script><noscript>{stored}</noscript></figure>'

def cells(nb): # each cell as Sphinx is to see it
    in_tests, headings, options = False, set(), [dict(re.findall(r'^#\| ([\w-]+): *(.*)$', c.source, re.M)) for c in nb.cells]
    for c, o, after in zip(nb.cells, options, options[1:] + [{}]):
        if c.cell_type == 'raw' or o.get('include') == 'false': continue
        if o.get('output') == 'asis':
            c = nbformat.v4.new_markdown_cell(signature('\n\n'.join(out.data[MD] for out in c.outputs), headings, 'code-summary' in after))
        c.source = callouts(local(c.source)) if c.cell_type == 'markdown' else re.sub(r'\A(#\|.*\n?)+', '', c.source).lstrip('\n')
        if c.cell_type == 'markdown': in_tests |= bool(re.search('^## Tests *$', c.source, re.M))
        if c.cell_type == 'markdown': headings |= set(re.findall(r'^#+ `?(.*?)`? *$', c.source, re.M))
        for out in c.get('outputs', []):
            if {VEGA, SVG} & set(out.get('data', {})): out.data = {'text/html': picture(out.data)}
            if MD in out.get('data', {}): out.data = {MD: local(''.join(out.data[MD]))}
        c.metadata = {'tags': ['remove-input'] * (o.get('echo') == 'false') + ['fold-input'] * (o.get('code-fold') == 'true' and not in_tests)}
        yield c

def main(source, target):
    source, target = Path(source), Path(target)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns('*.ipynb', '*.yml', '*.css', '_docs', 'v01', '.*'))
    side = yaml.safe_load((source/'_quarto.yml').read_text())['website']['sidebar']['contents']
    chapters = [dict(section='', contents=[c for c in side if isinstance(c, str) and page(c) != 'index']), *(c for c in side if isinstance(c, dict))]
    trees = ['```{{toctree}}\n:hidden:\n{}\n{}\n```'.format(f':caption: {c["section"]}\n' * bool(c['section']), '\n'.join(map(page, c['contents']))) for c in chapters if c['contents']]
    for path in source.glob('*.ipynb'):
        nb = nbformat.read(path, 4)
        front = yaml.safe_load(nb.cells[0].source.strip().strip('-'))
        head = f'# {front["title"]}\n\n*{front["description"]}* [Run on Colab]({COLAB}{path.name})'
        nb.cells = [nbformat.v4.new_markdown_cell(text) for text in [head] + trees * (page(path) == 'index')] + list(cells(nb))
        nbformat.write(nb, target/f'{page(path)}.ipynb')

if __name__ == '__main__': main(*sys.argv[1:])
