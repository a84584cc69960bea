"""Names that a cell uses above the cell that exports them: an error in a notebook, which the runner of proof.py does not notice, as it has all names of
the module from the start. What the functions that a cell calls need is left to `make nbdev-test`.
Names that a table of hostile input neither imports nor defines: `make abuse` runs each such cell alone."""
import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from proof import SLOW, bound_names, read_notebook

ROOT = Path(__file__).resolve().parent.parent
RUFF = Path(sys.executable).parent/'ruff'

def loads(source):
    "Names that code loads when it runs: not those inside the functions that it defines, yet those of decorators, defaults and class bodies."
    tree = ast.parse(source)
    names, waiting = set(), list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += [*getattr(node, 'decorator_list', ()), *node.args.defaults, *filter(None, node.args.kw_defaults)]
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load): names.add(node.id)
        waiting += ast.iter_child_nodes(node)
    return names - {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)} # variables of comprehensions, too

def early_names(path):
    "(cell, name) of each use above the export."
    cells = [cell for cell in read_notebook(path)[1] if not cell.directive(r'eval:\s*false') and not cell.directive(SLOW)]
    exported = {name for cell in cells if cell.directive(r'exports?i?\b') for name in bound_names(cell.source)}
    bound = set()
    for cell in cells:
        bound |= bound_names(cell.source)
        yield from ((cell.number, name) for name in sorted(loads(cell.source) & exported - bound))

def undefined_names(sources):
    "(number of the source, what ruff says) for each name that a source uses without an import or a definition."
    with tempfile.TemporaryDirectory() as folder:
        for n, source in enumerate(sources): (Path(folder)/f'{n}.py').write_text(source, encoding='utf-8')
        command = [RUFF, 'check', '--isolated', '--no-cache', '--select', 'F821', '--output-format', 'concise', '--quiet', '.']
        said = subprocess.run(command, cwd=folder, text=True, capture_output=True).stdout
    return [(int(n), text) for n, text in re.findall(r'^(\d+)\.py:(.*)$', said, re.M)]

def lonely_names(paths):
    "(page, cell, message) of each undefined name of a table of hostile input."
    cells = [(path.stem, cell) for path in paths for cell in read_notebook(path)[1] if cell.directive('abuse')]
    return [(cells[n][0], cells[n][1].number, text) for n, text in undefined_names([cell.source for _, cell in cells])]

def main():
    assert [n for n, _ in undefined_names(['a = 1', 'a = b'])] == [1], 'ruff does not find an undefined name'
    paths = sorted((ROOT/'nbs').glob('*.ipynb'))
    faults = [f'{path.stem}, cell {number}: {name} is exported by a later cell' for path in paths for number, name in early_names(path)]
    faults += [f'{page}, cell {number} runs alone in `make abuse`: {line}' for page, number, line in lonely_names(paths)]
    print('\n'.join(faults))
    return bool(faults)

if __name__ == '__main__': sys.exit(main())
