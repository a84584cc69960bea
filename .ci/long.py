"""`python .ci/long.py PAGE [WORD ...]`: run the long experiments of one page, the cells marked `#| long` (only those that contain a WORD).

Each such cell runs alone and writes its record to nbs/results; a GPU is used where there is one."""
import os
import sys
from contextlib import chdir
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from proof import read_notebook

def main(page, *words):
    os.environ |= dict(RUN_LONG='1', LONG=str(Path(__file__).resolve())) # a cell may start further processes
    for path in sorted((ROOT/'nbs').glob(f'{page}*.ipynb')):
        for cell in read_notebook(path)[1]:
            if not cell.directive('long$') or not all(word in cell.source for word in words): continue
            with chdir(ROOT/'nbs'): exec(compile(cell.source, f'<{path.stem}, cell {cell.number}>', 'exec'), dict(__name__='__main__'))

if __name__ == '__main__': main(*sys.argv[1:])
