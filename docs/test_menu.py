"The menu: every notebook once, the order of the first part, neighbors, minutes: `python docs/test_menu.py`."
from pathlib import Path

from menu import minutes, neighbors, page, pages, part_of, parts, place

ROOT = Path(__file__).resolve().parent.parent
menu = parts(ROOT/'_quarto.yml')
names = [name for part in menu for name in pages(part)]
assert [part.title for part in menu] == ['Learn', 'Go further', 'Toolkit', 'Behind the scenes']
assert len(names) == len(set(names)), 'a page has one place'
notebooks = {page(path) for path in (ROOT/'nbs').glob('*.ipynb')} - {'index'}
assert page('nbs/54a_serving.ipynb') == 'serving' and page('01_transformer.ipynb') == 'transformer' and page('index.ipynb') == 'index'
assert set(names) == notebooks, f'not in the menu, or no notebook: {sorted(set(names) ^ notebooks)}'

learn = pages(menu[0])
assert len(learn) <= 15 and learn[0] == 'transformer' and learn[-1] == 'bug_museum'
assert neighbors(menu, 'index') == (None, 'transformer')
walk = ['index']
while follower := neighbors(menu, walk[-1])[1]: walk.append(follower)
assert walk == ['index', *learn], 'Next leads to the end of the path'
for part in menu:
    for name in pages(part):
        for other in filter(None, neighbors(menu, name)): assert part_of(menu, other) is part, f'{name}: {other} is in another part'

assert minutes(['word ' * 300, '[two words](a-long-address.ipynb) <b>more</b>'], ['x = 1\n\n' * 30]) == 4
assert place(menu, 'transformer', 70) == f'{{.place}}\nLearn: 1 of {len(learn)} · 70 minutes' and place(menu, 'faq', 3) == ''
print('menu: ok')
