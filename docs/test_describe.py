"""Every chart that a page stores is described in words: `python docs/test_describe.py`."""
import json
from pathlib import Path

from describe import describe

NBS = Path(__file__).resolve().parent.parent/'nbs'
LEAST = 8 # words: a kind and two axes alone do not say what a chart shows

def charts():
    "Page, number of the cell and specification of each stored chart."
    for path in sorted(NBS.glob('*.ipynb')):
        for number, cell in enumerate(json.loads(path.read_text(encoding='utf-8'))['cells']):
            for output in cell.get('outputs', []):
                for kind, spec in output.get('data', {}).items():
                    if 'vegalite' in kind: yield path.stem, number, spec

def plain(**more): return dict(mark='line', encoding=dict(x=dict(field='x', type='quantitative', title='update'), y=dict(field='y', type='quantitative', title='loss')),
                               data=dict(values=[dict(x=1, y=2), dict(x=2, y=.5)]), **more)

assert describe(plain()) == 'Line chart. loss by update: from 2 to 0.5', 'the data say something'
assert describe(plain(description='The loss falls.')) == 'The loss falls.', 'own words come first'
assert describe(dict(layer=[plain(), plain(description='It falls.')])) == 'It falls.', 'also those of a layer'
assert describe(dict(hconcat=[plain(title='Loss'), plain(description='It falls.')])).endswith('Line chart: It falls'), 'and of a panel'
shown = [(page, number, describe(spec)) for page, number, spec in charts()]
short = [f'{page}, cell {number}: {words!r}' for page, number, words in shown if len(words.split()) < LEAST]
assert len(shown) > 150 and not short, 'charts that need `alt=`: ' + '; '.join(short)
print(f'{len(shown)} charts are described')
