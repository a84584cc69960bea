"""Each thing that the bridge does, on one small staged notebook: `python docs/test_bridge.py`."""
import tempfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

import bridge
from bridge import CFG, NARROW, SVG, VEGA

SITE = CFG.doc_host + CFG.doc_baseurl
DOC = ('---\n\n[source](https://there/x.py#L1){{target="_blank" style="float:right"}}\n\n### {0}\n\n```python\ndef {0}(\n'
       f'    x, # As in [`g`]({SITE}/other.html#g)\n):\n```\n\n*See [`g`]({SITE}/other.html#g).*')

def short_repr(name): return new_code_cell(f'#| echo: false\n#| output: asis\nshow_doc({name})', outputs=[new_output('execute_result', {'text/markdown': DOC.format(name)})])

def staged(folder):
    "A staged notebook with each construct, its side bar, and a picture"
    (folder/'images').mkdir()
    (folder/'images'/'a.svg').write_text('<svg/>')
    (folder/'_quarto.yml').write_text('website: {sidebar: {contents: [index.ipynb, {section: Part, contents: [10_first.ipynb]}, {text: ---}, {section: Last, contents: [{section: Group, contents: [12_last.ipynb]}]}]}}')
    chart = {VEGA: {'data': '</script>'}, 'image/png': 'QUJD'}
    cells = [
        new_raw_cell('---\ndescription: What it is.\noutput-file: first.html\ntitle: First\n\n---\n'),
        new_markdown_cell(f'### known\n\n[11_other](11_other.ipynb#part), [`g`]({SITE}/other.html#g), [`_p`]({SITE}/other.html#_p), [`C._p`]({SITE}/other.html#c._p), [[`g`]({SITE}/other.html#g)](11_other.ipynb)<details>\n\n## [`C`]({SITE}/other.html#c)\n\n[`C`]({SITE}/other.html#c)'),
        short_repr('known'), new_code_cell('#| code-fold: show\n#| code-summary: "Exported source"\ndef known(x): ...'), short_repr('unknown'),
        short_repr('C.m'), new_code_cell('#| code-fold: show\n#| code-summary: "Exported source"\ndef f(x): ...\n\n@patch\ndef m(self:C, x): ...'), short_repr('f'),
        new_code_cell('#| include: false\nhidden'),
        new_code_cell('#| echo: false\nchart', outputs=[new_output('execute_result', chart)]),
        new_code_cell('drawing', outputs=[new_output('execute_result', {SVG: '<svg><a href="11_other.ipynb#part"/></svg>'})]),
        new_code_cell('#| code-fold: true\ntwo', outputs=[
            new_output('display_data', {SVG: '<svg width="400" font-size="13"><text font-size="12"/></svg>', NARROW: '<svg width="200"/>'}),
            new_output('execute_result', {'text/html': '<div data-live="small"></div>', 'text/plain': 'HTML'})]),
        new_code_cell('#| include: false\nhidden'), new_markdown_cell('*Figure 4.* What it shows.\n\nAnd so on.'),
        new_code_cell('print(1)', outputs=[new_output('stream', name='stdout', text='a long line\n'), new_output('stream', name='stdout', text='b\n')])]
    nbformat.write(new_notebook(cells=cells), folder/'10_first.ipynb')
    nbformat.write(new_notebook(cells=cells[:1]), folder/'index.ipynb')

with tempfile.TemporaryDirectory() as tmp:
    source, target = Path(tmp)/'in', Path(tmp)/'out'
    source.mkdir()
    staged(source)
    bridge.main(source, target)
    cells = nbformat.read(target/'first.ipynb', 4).cells
    index = nbformat.read(target/'index.ipynb', 4).cells
    assert (target/'images'/'a.svg').exists() and not (target/'_quarto.yml').exists()
    stored = {f'pictures/{file.name}': file.read_bytes() for file in (target/'pictures').iterdir()}

head, where, text, known, source, unknown, both, two, chart, drawing, figure, caption, form, rest, printed = cells
assert head.source == f'# First\n\n*What it is.* [Run on Colab]({bridge.COLAB}10_first.ipynb)'
assert where.source == '{.place}\nPart: 1 of 1 · 1 minute'
assert text.source == '### known\n\n[11_other](other.ipynb#part), <a href="other.html#api-g"><code>g</code></a>, `_p`, `C._p`, [`g`](other.ipynb)<details open>\n\n## `C`\n\n<a href="other.html#api-C"><code>C</code></a>', 'headings are no links'
assert known.source.strip() == '<span id="api-known"></span>\n\n{.source}\n[source](https://there/x.py#L1)', 'the page has the heading, and the source follows'
assert source.source == 'def known(x): ...'
assert '### unknown' in unknown.source and 'As in `g`\n' in unknown.source and '*See <a href="other.html#api-g"><code>g</code></a>.*' in unknown.source
assert both.source == '<span id="api-f"></span><span id="api-C.m"></span>\n\n### f, C.\u200bm\n\n{.source}\n[source](https://there/x.py#L1)' and two.source.startswith('def f'), 'one heading, in the order of the source'
assert [*bridge.members('class C:\n    def m(self): ...\n    def _p(self): ...\ndef f(): ...')] == ['C.m'], 'links lead to methods, too'
assert bridge.methods(f'[`m`]({bridge.CFG.doc_host}{bridge.CFG.doc_baseurl}/other.html#m)', {'C.m'}) == '<a href="#api-C.m"><code>m</code></a>', 'a method of the page goes before a function of another'
assert bridge.is_class('Batch', 'x/annotated_transformer/transformer.py#L1') and not bridge.is_class('rate', 'x/annotated_transformer/transformer.py#L1')
assert chart.metadata.tags == ['remove-input'] and r'"<\/script>"' in chart.outputs[0].data['text/html']
(picture, data), = stored.items()
assert f'src="{picture}"' in chart.outputs[0].data['text/html'] and data == b'ABC', 'its picture is a file'
assert 'aria-label="Chart"' in chart.outputs[0].data['text/html'], 'a chart is described in words'
assert list(drawing.outputs[0].data) == ['text/html'] and 'href="other.html#part"' in drawing.outputs[0].data['text/html']
assert figure.metadata.tags == ['fold-input', 'of-figure-4'], 'its fold is named after the figure'
wide, narrow = figure.outputs[0].data['text/html'].split('</div>')[:2]
assert wide.startswith('<div class="drawing on-wide" style="--least: 367px">') and narrow == '<div class="drawing on-narrow"><svg width="200"/>'
assert (caption.source, rest.source) == ('*Figure 4.* What it shows.', 'And so on.')
assert form.metadata.tags == ['remove-input'] and 'data-live' in form.outputs[0].data['text/html'] and form.source, 'the form stands below the caption'
assert printed.metadata.tags == ['wrap-output'] and not two.metadata.tags
def text_of(text): return [new_output('execute_result', {'text/plain': text})]
for text, breaks in {'one line': True, '': False, 'a\n' * 9: False, 'tensor([1,\n2,\n3,\n4,\n5])': False, 'tensor([1,\n2])': True, 'a   1\nb   2': False}.items():
    assert bridge.short(text_of(text)) == breaks, text
assert not bridge.short([new_output('display_data', {'text/plain': 'a', SVG: '<svg/>'})]), 'a picture is not text'
assert [c.source for c in index[1:]] == ['```{toctree}\n:hidden:\n:caption: Part\n\nfirst\n```', '```{toctree}\n:hidden:\n:caption: Last\n\nlast\n```']
named = '<thead>\n<tr style="text-align: right;">\n<th></th>\n<th>a</th>\n</tr>\n<tr>\n<th>n</th>\n<th></th>\n</tr>\n</thead>'
assert bridge.table(named) == '<thead>\n<tr style="text-align: right;">\n<th>n</th>\n<th>a</th>\n</tr>\n</thead>', 'one row of heads'
assert bridge.table('<style scoped>\nth {}\n</style>\n<table id="T">') == '<table class="dataframe" id="T">', 'the style of the site'
for heading, anchor in {'Why divide by √d_k': 'why-divide-by-d_k', 'A.forward': 'a.forward', '2018: the form': 'the-form'}.items(): assert bridge.slug(heading) == anchor, bridge.slug(heading)
print('bridge: ok')
