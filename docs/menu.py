"The parts of the menu, from `_quarto.yml`: what a page's part is, its neighbors there, and the time that it takes to read."
import re
from pathlib import Path
from types import SimpleNamespace

import yaml

WORDS, LINES = 150, 15 # read in a minute: words of text with formulas, lines of code

def page(notebook): return re.sub(r'^\d+[a-z]?_', '', Path(notebook).stem) # the address that nbdev gives a notebook: 54a_serving → serving

def parts(quarto): # part → groups of pages; pages without a group come first, under an empty title
    side = yaml.safe_load(Path(quarto).read_text(encoding='utf-8'))['website']['sidebar']['contents']
    return [SimpleNamespace(title=part['section'], groups=groups(part['contents'])) for part in side if 'section' in part]

def groups(contents):
    named = [SimpleNamespace(title=c['section'], pages=[page(p) for p in c['contents']]) for c in contents if isinstance(c, dict)]
    alone = [page(c) for c in contents if isinstance(c, str)]
    return [SimpleNamespace(title='', pages=alone)] * bool(alone) + named

def pages(part): return [name for group in part.groups for name in group.pages]

def part_of(menu, name): return next((part for part in menu if name in pages(part)), None)

def neighbors(menu, name): # the pages before and after, in the same part; the start page leads to the first part
    if name == 'index': return None, pages(menu[0])[0]
    names = pages(part_of(menu, name))
    at = names.index(name)
    return names[at - 1] if at else None, names[at + 1] if at + 1 < len(names) else None

def minutes(texts, sources): # of visible cells before the tests
    words = sum(len(re.sub(r'<[^>]+>|\]\([^)]*\)', ' ', text).split()) for text in texts)
    lines = sum(bool(line.strip()) for source in sources for line in source.splitlines())
    return max(1, round(words / WORDS + lines / LINES))

def place(menu, name, minutes): # shown below the title of a page of the first part
    names = pages(menu[0])
    return f'{{.place}}\n{menu[0].title}: {names.index(name) + 1} of {len(names)} · {minutes} minute{"s" * (minutes != 1)}' if name in names else ''
