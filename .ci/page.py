"""`make check NB=15_fast`: clean, export and check one page, and run its tests twice: on the generated module and on the notebook's own cells.

NB is a page's name, its number (15), its title's word (fast) or its module (engine.fast). Cells that need a package that is not installed are
skipped, with a line that says so; `make test` skips none."""
import os
import subprocess
import sys
import time
from argparse import ArgumentParser
from pathlib import Path

import structure
from check import BIN, ROOT, ruff
from proof import SLOW, AbsentPackages, read_notebook

NBS = ROOT/'nbs'

def find(word):
    "The page that a word names."
    pages = {path.stem: path for path in sorted(NBS.glob('*.ipynb'))}
    word = Path(word).name.removesuffix('.ipynb')
    tests = (lambda stem: stem == word, lambda stem: stem.partition('_')[2] == word, lambda stem: stem.partition('_')[0] == word,
             lambda stem: read_notebook(pages[stem])[0] == word, lambda stem: word in stem)
    for test in tests:
        matches = [stem for stem in pages if test(stem)]
        if len(matches) == 1: return pages[matches[0]]
        if matches: sys.exit(f'NB={word} may be ' + ', '.join(matches))
    sys.exit(f'NB={word} names no page in nbs')

def module_of(path):
    name = read_notebook(path)[0]
    return name and ROOT/'annotated_transformer'/f"{name.replace('.', '/')}.py"

def written(path): return path.read_bytes() if path and path.exists() else None

def prepare(path, module):
    "Clean and export the page; say what changed."
    for command, option, file in (('nbdev_clean', '--fname', path), ('nbdev_export', '--path', module)):
        if file is None: continue
        before = written(file)
        subprocess.run([BIN/command, option, path], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        if written(file) != before: print(f'{command} changed {file.relative_to(ROOT)}')

def measures(path, module):
    "Alarms of the page are printed; what fails `make test` is returned."
    figures, sizes, long = structure.page(path)
    print(f"{figures['words']:,} words and {figures['cells']} cells before Tests; longest exported cell {max(sizes, default=(0,))[0]} lines")
    problems = [f'{long} exported lines over 100 characters'] if long else []
    if module is None: return problems
    package = structure.modules()
    name = read_notebook(path)[0]
    own = package[name]
    counts = ', '.join(f'{len(places)} {key} (lines {", ".join(str(line) for line, _ in places)})' for key, places in own.places.items() if places)
    print(f'{own.lines} lines' + (f'; {counts}' if counts else ''))
    for function, size, parameters in structure.functions(own):
        if size > structure.ALARMS['function']: print(f'alarm: {function} has {size} lines')
    circular = [loop for loop in structure.circles(package) if name in loop]
    return problems + [problem for problem in structure.direction(package) if problem.split()[0] == name] + [f'circle: {", ".join(loop)}' for loop in circular]

def run_notebook(path):
    "nbdev_test's run of a page, without the cells that need an absent package."
    from execnb.shell import CaptureShell
    from nbdev.test import FrontmatterProc, NBProcessor
    os.environ['IN_TEST'] = '1'
    began = time.monotonic()
    sys.path.insert(0, str(ROOT))
    os.chdir(NBS)
    cells = {cell.number: cell for cell in read_notebook(path)[1]}
    absent = AbsentPackages()
    shell = CaptureShell(path)
    for number, cell in enumerate(NBProcessor(path, procs=FrontmatterProc, process=True).nb.cells):
        code = cells.get(number)
        if code is None or code.directive(r'eval:\s*false') or code.directive(SLOW) or absent.needed_by(code): continue
        for statement in absent.statements(code):
            if statement.source != code.source: cell.source = statement.source
            shell.cell(cell)
            if shell.exc and not absent.explain(error(shell.exc), statement):
                print(shell.prettytb(fname=path))
                return 1
    print('\n'.join([f'{path.stem}: passed in {time.monotonic() - began:.1f} s', *(f'  {line}' for line in absent.report())]))

def error(exc): return exc[1] if isinstance(exc, tuple) else exc

def main():
    parser = ArgumentParser()
    parser.add_argument('page')
    parser.add_argument('--notebook', action='store_true', help="only the notebook's own cells, as nbdev_test runs them")
    args = parser.parse_args()
    path = find(args.page)
    if args.notebook: return run_notebook(path)
    began = time.monotonic()
    module = module_of(path)
    prepare(path, module)
    env = os.environ | dict(OMP_NUM_THREADS='1', PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]))
    commands = {'package': ['.ci/proof.py', '--skip-absent', str(path)], 'notebook': ['.ci/page.py', '--notebook', path.stem]}
    runs = {name: subprocess.Popen([sys.executable, *command], cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for name, command in commands.items()}
    problems = measures(path, module)
    if module and (problem := ruff(paths=[module])): problems.append(problem)
    for name, process in runs.items():
        output = process.communicate()[0].strip()
        print(f'{name:8} {output}')
        if process.returncode: problems.append(f'the tests of the {name} fail')
    for problem in problems: print(f'  {problem}')
    print(f"{'failed' if problems else 'ok'} after {time.monotonic() - began:.0f} s")
    return bool(problems)

if __name__ == '__main__': sys.exit(main())
