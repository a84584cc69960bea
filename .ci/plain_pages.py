"""Run the pages up to *Tests* with the installed package and IPython alone: `python .ci/plain_pages.py [--jobs 2] [page ...]`."""
import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NBS = Path(__file__).resolve().parent.parent/'nbs'
SKIPPED = re.compile(r'^#\| *(eval: *false|notest|slow|long|abuse)\b', re.M)

def cells_to_run(path):
    "The code cells of a page before its section *Tests*."
    sources = []
    for cell in json.loads(path.read_text(encoding='utf-8'))['cells']:
        source = ''.join(cell['source'])
        if cell['cell_type'] == 'markdown' and re.search('^## Tests *$', source, re.M): break
        if cell['cell_type'] == 'code' and not SKIPPED.search(source): sources.append(source)
    return sources

def run_page(path):
    "Run the cells of a page in this process as a notebook would; the outputs are shown in every format."
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.display_formatter.active_types = shell.display_formatter.format_types
    for source in cells_to_run(path):
        result = shell.run_cell(source)
        if not result.success:
            print(f'the cell begins: {source[:200]}')
            return 1
    return 0

def check_page(path):
    "Run a page in a process of its own, from the folder of the notebooks. Return its exit status, output and seconds."
    start = time.monotonic()
    environment = {'OMP_NUM_THREADS': '1', 'NO_COLOR': '1', 'PYTHONWARNINGS': 'ignore::DeprecationWarning', **os.environ}
    command = [sys.executable, __file__, '--inside', str(path)]
    done = subprocess.run(command, cwd=NBS, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout, time.monotonic() - start

def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('pages', nargs='*', help='names of pages, such as 01_transformer; all by default')
    parser.add_argument('--jobs', type=int, default=1, help='pages at the same time')
    parser.add_argument('--inside', type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside: return run_page(options.inside)
    paths = [NBS/f'{name}.ipynb' for name in options.pages] or sorted(NBS.glob('*.ipynb'))
    failures = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for path, (code, output, seconds) in zip(paths, pool.map(check_page, paths)):
            failures += code != 0
            print(f'{path.stem:20} {"failed" if code else "ok":6} {seconds:5.1f} s', flush=True)
            if code: print(output[-3000:], flush=True)
    print(f'{len(paths) - failures} of {len(paths)} pages run up to Tests')
    return int(failures > 0)

if __name__ == '__main__': sys.exit(main())
