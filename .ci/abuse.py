"""`make abuse`: the tables of hostile input on all pages, then a part of the random series of hostile.py; prints tried, passed, failed."""
import os
import sys
import time
import traceback
import warnings
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

import hostile  # sets the number of threads before torch is imported
from proof import case_counts, read_notebook

ROOT = Path(__file__).resolve().parent.parent

def tables():
    "Run each cell that is marked `#| abuse`, alone: (tried, failed)"
    failed = 0
    for path in sorted((ROOT/'nbs').glob('*.ipynb')):
        before, began, broken = dict(case_counts), time.monotonic(), 0
        cells = [cell for cell in read_notebook(path)[1] if cell.directive('abuse')]
        for cell in cells:
            try:
                with chdir(ROOT/'nbs'), redirect_stdout(StringIO()), warnings.catch_warnings():
                    exec(compile(cell.source, f'<{path.name}, cell {cell.number}>', 'exec'), dict(__name__=path.stem))
            except (Exception, SystemExit):
                broken += 1
                traceback.print_exc()
        tried, bad = (case_counts[name] - before[name] for name in ('tried', 'failed'))
        bad = max(bad, broken)
        failed += bad
        if cells: print(f'{path.stem}: {tried:,} tried, {tried - bad:,} passed, {bad:,} failed, {time.monotonic() - began:.0f} s', flush=True)
    return case_counts['tried'], failed

def main():
    os.environ.pop('SKIPPED_LOG', None)
    began = time.monotonic()
    parts = [hostile.run(times=.4), tables()] # in this order, as forks inherit the memory of the tables
    tried, failed = map(sum, zip(*parts))
    print(f'abuse: {tried:,} tried, {tried - failed:,} passed, {failed:,} failed, {time.monotonic() - began:.0f} s')
    sys.exit(bool(failed))

if __name__ == '__main__': main()
