"Stage the notebooks for the site, in _proc: run what the documentation needs, exported cells and cells of imports."
import ast
import sys

from nbdev import processors
from nbdev.serve import proc_nbs

usual = processors._do_eval

def needed(cell):
    "A test that contains an import is not needed, and may take long."
    if not usual(cell): return False
    if cell.directives_.keys() & {'export', 'exports', 'exporti', 'exec_doc'}: return True
    trees = cell.parsed_()
    return bool(processors._show_docs(trees)) or all(isinstance(t, (ast.Import, ast.ImportFrom)) for t in trees)

processors._do_eval = needed

def stage(workers): return proc_nbs(n_workers=workers, force=True)

if __name__ == '__main__': stage(int(sys.argv[1]))
