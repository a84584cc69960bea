"""Run the tests of notebooks against the package instead of the notebooks' own cells, optionally with a fault in the package.

    python .ci/proof.py nbs/*.ipynb            # exits with status 1 after a failure
    python .ci/proof.py --module engine.fast   # the notebooks of one module, up to the first failure

A usual test runner executes the exported cells too: it tests the notebook, and the generated package is never executed.
This runner skips exported cells and takes their names from the package."""
import ast
import json
import linecache
import os
import re
import signal
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from contextvars import Context
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from inspect import signature
from io import StringIO
from itertools import takewhile
from multiprocessing import Pipe, get_context
from multiprocessing.connection import wait
from pathlib import Path
from symtable import symtable
from time import monotonic
from types import ModuleType

SLOW = r'(slow|notest)\b' # tst_flags of settings.ini
ROOT = Path(__file__).resolve().parent.parent
PACKAGE = 'annotated_transformer'

def shorten(text, limit=200):
    "Return a text of at most `limit` characters."
    return text if len(text) <= limit else text[:limit - 1] + '…'

def one_line(e):
    "Return the type and the message of an exception on one line."
    return shorten(' '.join(f'{type(e).__name__}: {e}'.split()).removesuffix(':'))

# ---- notebooks

@dataclass(frozen=True)
class Cell:
    "Code cell of a notebook."
    number:int     # Index among all cells
    source:str     # Code
    heading:str    # Last heading before it
    claim:str      # First sentence of the last paragraph before it

    def directive(self, pattern):
        'Return the match of the first nbdev directive that begins with a pattern, such as "eval: false"; None if there is none.'
        def above_code(line): return line.startswith('#|') or not line.strip()
        lines = takewhile(above_code, self.source.splitlines())
        matches = (re.match(pattern, line.removeprefix('#|').strip()) for line in lines)
        return next(filter(None, matches), None)

def read_notebook(path):
    "Return the name of the module that a notebook exports to (or None) and its code cells."
    try:
        content = json.loads(Path(path).read_text(encoding='utf-8'))['cells']
        sources = [(cell['cell_type'], ''.join(cell['source'])) for cell in content]
    except (ValueError, KeyError, TypeError) as e:
        raise ValueError(f'{path} is not a notebook ({type(e).__name__}: {e}).') from None
    cells, heading, claim = [], '', ''
    for number, (kind, source) in enumerate(sources):
        if kind == 'code': cells.append(Cell(number, source, heading, claim))
        if kind != 'markdown': continue
        for paragraph in re.split(r'\n\s*\n', source.strip()):
            if paragraph.startswith('#'): heading = claim = paragraph.split('\n')[0].strip('# ')
            elif paragraph and not paragraph.startswith(('|', '$$', '```')): claim = first_sentence(paragraph)
    module = next(filter(None, (c.directive(r'default_exp (\S+)') for c in cells)), None)
    return module and module[1], cells

def first_sentence(text):
    "Return the first sentence on one line, without link targets and bold labels."
    text = ' '.join(re.sub(r'\[([^]]*)\]\([^)]*\)|\*\*[\w ]+[.:]\*\* ', r'\1', text).split())
    return re.split(r'(?<=[.!?:])\s(?=[^a-z])', text, maxsplit=1)[0]

def notebooks_of(module, nbs=ROOT/'nbs', package=PACKAGE):
    "Return the paths of the notebooks that test a module: its own first, then those that import it."
    notebooks = {path: read_notebook(path) for path in sorted(Path(nbs).glob('*.ipynb'))}
    own = [path for path, (name, _) in notebooks.items() if name == module]
    if not own: raise ValueError(f'no notebook in {nbs} exports module={module!r}.')
    uses = re.compile(rf'\b{package}\.{module}\b|\bfrom {package} import .*\b{module}\b')
    return own + [path for path, (name, cells) in notebooks.items()
                  if name != module and any(uses.search(c.source) for c in cells)]

# ---- optional packages

class AbsentPackages:
    "Packages that are not installed, and the names that cells could not bind for want of them: cells that use these are skipped."
    def __init__(self, allowed=True): self.allowed, self.packages, self.names = allowed, {}, set()

    def needed_by(self, cell):
        "Whether the cell uses a name that is missing; if not, the names that it binds are there again."
        names = {node.id for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)} if self.names else set()
        bound = bound_names(cell.source) if self.names else set()
        if names & self.names: self.names |= bound - names # what it would have defined is missing as well
        else: self.names -= bound
        return bool(names & self.names)

    def explain(self, error, cell):
        "Whether an error says that an optional package is absent; if so, note what the cell would have bound."
        package = self.package(error)
        if package is None: return False
        self.packages.setdefault(package, []).append(cell.number)
        self.names |= bound_names(cell.source)
        return True

    def package(self, error):
        if not self.allowed or not isinstance(error, ImportError): return None
        told = re.match(r'`(\w+)` is not installed', str(error)) # the message of checks.require
        name = told[1] if told else (error.name or '').split('.')[0]
        return name if name and name != PACKAGE and find_spec(name) is None else None

    def statements(self, cell):
        "The cell's code in parts: each of its imports by itself, if it has nothing else."
        body = ast.parse(cell.source).body if self.allowed and not re.search(r'^\s*[!%]', cell.source, re.M) else []
        if len(body) < 2 or not all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in body): return [cell]
        return [replace(cell, source=ast.unparse(node)) for node in body]

    def report(self):
        return [f'skipped: {package} is not installed, which cells {", ".join(map(str, cells))} need' for package, cells in self.packages.items()]

# ---- one notebook, in this process

def bound_names(source):
    "Return the names that code defines, assigns or imports at its top level."
    symbols = symtable(source, 'cell', 'exec').get_symbols()
    return {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}

@contextmanager
def borrowed_module(module):
    "Yield a copy of the module's names; restore them after the block."
    names = vars(module)
    own = dict(names)
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try: yield own
    finally:
        for name in names.keys() - own.keys(): del names[name]
        names.update(own)
        if before is None: sys.modules.pop(module.__name__, None)
        else: sys.modules[module.__name__] = before

@dataclass(frozen=True)
class NotebookResult:
    "Result of a notebook."
    notebook:str            # Name without suffix
    error:str = ''          # Type and message of the first error; empty: passed
    cell:Cell|None = None   # Cell that failed; None: none, or the import
    seconds:float = 0.      # Run time
    trace:str = field(default='', repr=False) # Traceback
    skipped:tuple[str, ...] = () # What was not tested, and why

    @property
    def passed(self): return not self.error

    def __str__(self):
        if self.passed: return '\n'.join([f'{self.notebook}: passed in {self.seconds:.1f} s', *(f'  {line}' for line in self.skipped)])
        where = f'cell {self.cell.number}, “{self.cell.claim}”' if self.cell else 'on import'
        return f'{self.notebook}: failed after {self.seconds:.1f} s, {where}: {self.error}'

def check_notebook(
    notebook,                # An .ipynb file
    package:str=PACKAGE,     # Package of its module
    until:int|None=None,     # Index of the last cell to run; None: all
    without:Iterable[str]=(), # Headings whose cells are skipped
    on_cell:Callable|None=None, # Called with each `Cell` before it runs
    slow:bool=False,         # Whether cells marked `#| slow` run as well
    abuse:bool=True,         # Whether cells marked `#| abuse` run as well
    skip_absent:bool=False,  # Whether cells that need an absent package are skipped
)->NotebookResult:
    """Run a notebook's tests against the package, in this process.

    They run in the namespace of the module: a test sees its private names, and one that patches a global name patches it for
    the module's functions. At an exported cell, the names that it binds are set to the module's. The module is restored at the end."""
    path = Path(notebook).resolve()
    start = monotonic()
    cell = None
    name, cells = read_notebook(path)
    absent = AbsentPackages(skip_absent)
    try:
        module = import_module(f'{package}.{name}') if name else ModuleType(path.stem)
        with borrowed_module(module) as own, chdir(path.parent), redirect_stdout(StringIO()):
            for cell in cells:
                if until is not None and cell.number > until: break
                if cell.heading in without or not slow and cell.directive(SLOW): continue
                if not abuse and cell.directive('abuse'): continue
                if on_cell: on_cell(cell)
                run_cell(cell, module, own if name else {}, absent)
    except (Exception, SystemExit) as e:
        return NotebookResult(path.stem, one_line(e), cell, monotonic() - start, traceback.format_exc())
    return NotebookResult(path.stem, seconds=monotonic() - start, skipped=tuple(absent.report()))

def run_cell(cell, module, own, absent):
    "Run a cell in the module, or reset the names that it exports."
    if cell.directive(r'eval:\s*false'): return
    if own and cell.directive(r'exports?i?\b'):
        vars(module).update((name, own[name]) for name in bound_names(cell.source) if name in own)
        return
    if absent.needed_by(cell): return
    for statement in absent.statements(cell):
        try: execute(statement, vars(module), f'<{module.__name__}, cell {cell.number}>')
        except ImportError as e:
            if not absent.explain(e, statement): raise

def execute(cell, names, place):
    lines = cell.source.splitlines(True)
    linecache.cache[place] = len(cell.source), None, lines, place # for tracebacks and inspect
    exec(compile(cell.source, place, 'exec'), names)

# ---- processes: a fault may loop forever, crash the interpreter or change global state

class ChildProcess:
    "Forked process and the values that it has sent."
    def __init__(self, number, work, limit):
        self.number = number
        self.received = []
        self.deadline = monotonic() + limit
        self.pipe, sender = Pipe(duplex=False)
        def start():
            os.setsid() # its own process group, so that its children can be killed with it
            Context().run(work, sender.send) # an empty context
        self.process = get_context('fork').Process(target=start)
        self.process.start()
        sender.close()

    def end(self, patience=10):
        "Wait for a moment, then kill the process and its children."
        self.process.join(patience)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()

def in_processes(
    works:Iterable[Callable], # Functions that receive a function for sending values
    limit:float=600,          # Time limit of each in seconds
    workers:int=1,            # Number of processes at a time
)->Iterator[tuple[int, list, bool]]: # Index, values sent, True if the time limit was exceeded
    "Run each function in a process of its own."
    if not hasattr(os, 'fork'): raise OSError('this system cannot fork processes.')
    waiting, running = enumerate(works), {}
    try:
        while True:
            over = []
            while len(running) < max(1, workers) and (work := next(waiting, None)):
                child = ChildProcess(*work, limit)
                running[child.pipe] = child
            if not running: return
            soon = min(c.deadline for c in running.values()) - monotonic()
            for pipe in wait(running, max(0, soon)):
                try: running[pipe].received.append(pipe.recv())
                except EOFError: over.append(running[pipe])
            late = [c for c in running.values() if c.deadline <= monotonic() and c not in over]
            for child in over + late:
                running.pop(child.pipe).end(0 if child in late else 10)
                yield child.number, child.received, child in late
    finally:
        for child in running.values(): child.end(0)

def as_nobody(
    call:Callable,   # Function to call
    limit:float=60,  # Time limit in seconds
)->str|None:         # Error message; None: no error
    "Call a function in a process without root privileges."
    def work(send):
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            call()
        except (Exception, SystemExit) as e: send(one_line(e))
        else: send(None)
    (_, messages, late), = in_processes([work], limit)
    if messages: return messages[0]
    raise RuntimeError(f'the call took more than {limit:g} s.' if late else 'the process of the call died.')

def check_in_processes(
    *notebooks,              # .ipynb files
    package:str=PACKAGE,     # Package of their modules
    prepare:Callable=lambda: None, # Called in each process first
    limit:float=600,         # Time limit of each in seconds
    workers:int=1,           # Number of processes at a time
    **options,               # `until`, `without`, `slow`, `abuse` and `skip_absent`, see `check_notebook`
)->Iterator[NotebookResult]: # In the order of completion
    "Check notebooks in processes of their own."
    for path in notebooks: read_notebook(path) # raise for unreadable files now
    signature(check_notebook).bind_partial(**options)
    def work(path, send):
        try: prepare()
        except (Exception, SystemExit) as e:
            return send(dict(error=one_line(e), trace=traceback.format_exc()))
        def on_cell(cell): send(dict(cell=asdict(cell)))
        send(asdict(check_notebook(path, package, on_cell=on_cell, **options)))
    works = [partial(work, path) for path in notebooks]
    for number, sent, late in in_processes(works, limit, workers):
        last = dict(notebook=Path(notebooks[number]).stem) | (sent[-1] if sent else {})
        if 'error' not in last:
            last['error'] = f'Timeout: more than {limit:g} s' if late else 'Crash: the process died'
        if last.get('cell'): last['cell'] = Cell(**last['cell'])
        yield NotebookResult(**last)

# ---- faults

def mutate(module, old, new, package=PACKAGE):
    "Return a module's source with a fragment replaced, which must occur exactly once: the first of several may be a comment."
    spec = find_spec(f'{package}.{module}')
    if spec is None or spec.origin is None:
        raise ValueError(f'module={module!r} is not in {package}.')
    source = Path(spec.origin).read_text(encoding='utf-8')
    if (n := source.count(old)) != 1 or old == new:
        raise ValueError(f'{shorten(repr(old))} occurs {n} times in {module}: a mutation changes a fragment that occurs once.')
    mutant = source.replace(old, new)
    try: compile(mutant, module, 'exec')
    except SyntaxError as e:
        raise ValueError(f'{module} with {shorten(repr(new))} is not Python ({e.msg}).') from None
    return mutant

def install_mutant(module, source, package=PACKAGE):
    "Replace a module of the package in this process."
    home = import_module(package)
    for name in [name for name in sys.modules if name.startswith(f'{package}.')]:
        del sys.modules[name]
        above, _, own = name.rpartition('.')
        vars(sys.modules.get(above, home)).pop(own, None)
    spec, place = find_spec(f'{package}.{module}'), f'<{package}.{module}, mutated>'
    sys.modules[spec.name] = mutant = module_from_spec(spec)
    linecache.cache[place] = len(source), None, source.splitlines(True), place
    exec(compile(source, place, 'exec'), vars(mutant))
    above, _, own = spec.name.rpartition('.')
    setattr(import_module(above), own, mutant)

def check_mutant(
    notebook,     # An .ipynb file
    module:str,   # Module to mutate
    old:str,      # Fragment of its source that occurs once
    new:str,      # Replacement
    limit:float=60, # Time limit in seconds; a timeout counts as a failure
    package:str=PACKAGE, # Package
    **options,    # `until` and `without`, see `check_notebook`
)->NotebookResult:
    "Run a notebook against a module with a fault. A good test fails."
    source = mutate(module, old, new, package)
    def prepare(): install_mutant(module, source, package)
    return next(check_in_processes(notebook, package=package, prepare=prepare, limit=limit, **options))

def with_fault(work, module, old, new, limit=60, package=PACKAGE):
    "Return the result of `work()`, which must be picklable, in a process with a fault in the package; it imports the package inside."
    source = mutate(module, old, new, package)
    def call(send):
        install_mutant(module, source, package)
        send(work())
    sent = next(in_processes([call], limit))[1]
    if not sent: raise RuntimeError(f'no result within {limit:g} s, or the process died.')
    return sent[0]

# ---- tables of cases, which stand on the pages that they belong to; `make abuse` runs these cells and counts the cases

case_counts = dict(tried=0, failed=0)

def try_cases(
    check:Callable, # Called with the values of a case; raises if the case fails
    cases:Iterable, # Tuples of arguments
):
    "Check every case of a table; raise one `AssertionError` that lists the failures."
    failures = []
    for case in cases:
        case_counts['tried'] += 1
        try: check(*case)
        except (Exception, SystemExit) as e: failures.append(f'{repr(case)[:200]}: {one_line(e)}')
    case_counts['failed'] += len(failures)
    assert not failures, '\n'.join([f'{len(failures)} cases fail:', *failures])

# ---- command

def import_common():
    "Import what most notebooks need, once, before processes are forked."
    for name in ('torch._dynamo', 'pandas', 'altair', 'hypothesis', 'fastcore.test', 'nbdev.showdoc'):
        with suppress(ImportError): import_module(name)

def main(argv=None):
    parser = ArgumentParser(description='Run the tests of notebooks against the package.')
    parser.add_argument('notebooks', nargs='*', help='notebooks (default: all in nbs)')
    parser.add_argument('--module', help='check one module, up to the first failure')
    parser.add_argument('--nbs', default=ROOT/'nbs', help='folder of the notebooks')
    parser.add_argument('--package', default=PACKAGE)
    parser.add_argument('--limit', type=float, default=1800, help='time limit of a notebook in seconds')
    parser.add_argument('--slow', action='store_true', help='also cells marked slow')
    parser.add_argument('--no-abuse', dest='abuse', action='store_false', help='leave out the tables of hostile input, which `make abuse` runs')
    parser.add_argument('--skip-absent', action='store_true', help='skip cells that need a package that is not installed')
    parser.add_argument('--workers', type=int, default=1, help='number of notebooks at a time')
    args = parser.parse_args(argv)
    paths = args.notebooks
    if not paths and args.module: paths = notebooks_of(args.module, args.nbs, args.package)
    paths = paths or sorted(Path(args.nbs).glob('*.ipynb'))
    if not paths: raise SystemExit(f'There are no notebooks in {args.nbs}.')
    if len(paths) > 1: import_common()
    failed = 0
    try:
        for result in check_in_processes(*paths, package=args.package, limit=args.limit, workers=args.workers, slow=args.slow, abuse=args.abuse, skip_absent=args.skip_absent):
            failed += not result.passed
            print(f'{result}\n{result.trace}'.strip(), flush=True)
            if args.module and failed: break
    except (OSError, ValueError) as e: raise SystemExit(str(e)) from None
    if failed: raise SystemExit(1)

if __name__ == '__main__': main()
