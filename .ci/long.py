"""`python .ci/long.py PAGE [WORD ...]`: run the long experiments of one page, the cells marked `#| long` (only those that contain a WORD).

Each such cell runs alone and writes its record to nbs/results; a GPU is used where there is one."""
import os
import re
import sys
from contextlib import chdir
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

def cells(page):
    "Number and source of the cells marked `#| long`"
    import json
    [path] = (ROOT/'nbs').glob(f'{page}*.ipynb')
    for number, cell in enumerate(json.loads(path.read_text(encoding='utf-8'))['cells']):
        source = ''.join(cell['source'])
        if cell['cell_type'] == 'code' and re.search(r'^#\|\s*long\s*$', source, re.M): yield number, source

def main(page, *words):
    os.environ |= dict(RUN_LONG='1', LONG=str(Path(__file__).resolve())) # a cell may start further processes
    for number, source in cells(page):
        if not all(word in source for word in words): continue
        with chdir(ROOT/'nbs'): exec(compile(source, f'<{page}, cell {number}>', 'exec'), dict(__name__='__main__'))

if __name__ == '__main__': main(*sys.argv[1:])
