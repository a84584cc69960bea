"""Measures of the architecture. Bars fail the check, alarms are printed. `python .ci/structure.py` prints every figure, `--places` also where it arises."""
import ast
import json
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT/'annotated_transformer'
# From bottom to top: a module imports only from its own floor and from floors below. A name is a module or a folder.
BASE = ('checks', 'config', 'files', 'charts', 'signals')
FLOORS = (BASE, ('transformer',), ('positions', 'layers'), ('build',), ('engine',), ('data',), ('train',), ('inference',), ('family', 'lab'), ('cli',), ('all',))
ACTIONS = {f'actions/{name}' for name in ('checkout', 'setup-python', 'upload-artifact', 'deploy-pages')} # programs that use no other action
SEED_NAMES = ('make_model', 'make_lm', 'run_epoch', 'greedy_decode', 'TransformerConfig', 'TrainingConfig') # signatures that the seeds fix
PLACEHOLDERS = {'found', 'one', 'some', 'how', 'both', 'known', 'part', 'kept', 'most'} # names that say nothing
BARS = dict(layers=9, cell=90, median=18, ninety=40, multi=15, getattr=30, placeholder=40)
ALARMS = dict(core=650, module=450, function=40, signature=8, names=260)
CORE_PAGE = dict(words=7500, cells=95)

# ---- the package

@dataclass
class Module:
    "Module of the package: its source, what it imports, and the places of what is counted."
    name:str
    source:str
    number:str = ''                            # Number of its notebook, such as 54 or 54a
    imports:set = field(default_factory=set)   # Names of modules
    private:set = field(default_factory=set)   # Private names of other modules
    places:dict = field(default_factory=lambda: defaultdict(list)) # Measure -> line numbers and names

    def __post_init__(self):
        self.tree = ast.parse(self.source)
        self.lines = len(self.source.splitlines())
        match = re.search(r'File to edit: \S*?(\d\d[a-z]?)_\w*\.ipynb', self.source)
        self.number = match[1] if match else ''

def modules():
    "Every module but the generated index, by its dotted name, with its imports."
    paths = sorted(p for p in PACKAGE.rglob('*.py') if p.name not in ('_modidx.py', '__init__.py'))
    package = {}
    for path in paths:
        name = '.'.join(path.relative_to(PACKAGE).with_suffix('').parts)
        package[name] = Module(name, path.read_text(encoding='utf-8'))
    for module in package.values():
        read_imports(module, package)
        measure(module)
    return package

def absolute(name, module, level=0):
    "The dotted name below the package of what an import statement in a module names; None: another package."
    if not level and name.split('.')[0] != PACKAGE.name: return None
    folder = module.name.split('.')[:-level] if level else []
    return '.'.join(filter(None, [*folder, name if level else name[len(PACKAGE.name) + 1:]]))

def read_imports(module, package):
    "All imports of a file: at its top, inside functions, of a whole module, by `import_module` with a literal, and by a string that names a module or an object of it."
    aliases = {}
    printed = {id(n) for node in ast.walk(module.tree) if isinstance(node, (ast.Raise, ast.JoinedStr)) or isinstance(node, ast.Call) and called(node) in ('print', 'warn')
               for n in ast.walk(node)} # strings for people
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            base = absolute(node.module or '', module, node.level)
            if base is None: continue
            if base in package: module.imports.add(base)
            for alias in node.names:
                inner = f'{base}.{alias.name}'.strip('.')
                if inner in package:
                    module.imports.add(inner)
                    aliases[alias.asname or alias.name] = inner
                elif alias.name.startswith('_') and not alias.name.startswith('__'): module.private.add(inner)
        elif isinstance(node, ast.Import):
            module.imports |= {base for alias in node.names if (base := absolute(alias.name, module)) in package}
        elif isinstance(node, ast.Call) and called(node) in ('import_module', '__import__') and node.args and isinstance(node.args[0], ast.Constant):
            text = str(node.args[0].value)
            level = len(text) - len(text.lstrip('.'))
            if (base := absolute(text[level:], module, level)) in package: module.imports.add(base)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in printed:
            if re.fullmatch(r'[\w.]+(:\w+)?', node.value) and (base := absolute(node.value.split(':')[0], module)) in package: module.imports.add(base)
    for node in ast.walk(module.tree): # module._name
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases and re.match('_[^_]', node.attr):
            module.private.add(f'{aliases[node.value.id]}.{node.attr}')
    module.imports.discard(module.name)

def called(node): return getattr(node.func, 'id', getattr(node.func, 'attr', ''))

def bound(node):
    "Names that a node binds: targets and parameters."
    if isinstance(node, ast.arg): return [node.arg]
    if isinstance(node, ast.Assign): targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.comprehension)): targets = [node.target]
    elif isinstance(node, ast.withitem) and node.optional_vars: targets = [node.optional_vars]
    else: targets = []
    return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]

def measure(module):
    "Count what makes code hard to read."
    for node in ast.walk(module.tree):
        line = getattr(node, 'lineno', getattr(getattr(node, 'target', None), 'lineno', 0))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple) and len(node.value.elts) > 2:
            module.places['multi'].append((line, ast.unparse(node.targets[0])))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ('getattr', 'hasattr'):
            module.places['getattr'].append((line, ast.unparse(node)))
        module.places['placeholder'] += [(line, name) for name in bound(node) if name in PLACEHOLDERS]

def functions(module):
    "Functions and methods of a module with their number of lines and parameters."
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef):
            a = node.args
            parameters = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs) if x.arg not in ('self', 'cls')]
            yield node.name, node.end_lineno - node.body[0].lineno + 1, len(parameters)

def circles(package):
    "Groups of modules that import each other."
    reach = {name: set(m.imports) for name, m in package.items()}
    changed = True
    while changed:
        changed = False
        for name, others in reach.items():
            more = others.union(*(reach[other] for other in others))
            changed |= more != others
            reach[name] = more
    return {tuple(sorted(other for other in others if name in reach[other])) for name, others in reach.items() if name in others}

def longest_chain(package, circular):
    "Modules of the longest chain of imports, without those that stand in a circle; `all` imports everything and does not count."
    @cache
    def chain(name): return [name] + max((chain(other) for other in package[name].imports if other not in circular), key=len, default=[])
    return max((chain(name) for name in package if name != 'all' and name not in circular), key=len)

def floor(name):
    top = name.split('.')[0]
    return next((n for n, floor in enumerate(FLOORS) if top in floor), None)

def direction(package):
    "Imports against the order of the floors, or of the notebooks' numbers."
    for name, module in package.items():
        if floor(name) is None: yield f'{name} stands on no floor of .ci/structure.py'; continue
        top = name.split('.')[0]
        for other in sorted(module.imports):
            if floor(other) is None: continue
            if floor(other) > floor(name) or (top, other.split('.')[0]) == ('family', 'lab'): yield f'{name} imports {other}, which is above it'
            elif top not in (*BASE, 'cli', 'all') and package[other].number >= module.number:
                yield f'{name} ({module.number}) imports {other} ({package[other].number}): the notebook of a lower number comes first'
            elif top == 'cli' and other.startswith('cli.') and package[other].number >= module.number: yield f'{name} imports {other}, whose notebook comes later'
        for private in sorted(module.private): yield f'{name} uses the private name {private}'

# ---- the notebooks

def page(path):
    "Figures of a notebook before its tests; sizes of its exported cells; number of shown lines over 100 characters."
    cells = json.loads(path.read_text(encoding='utf-8'))['cells']
    texts = [(c['cell_type'], ''.join(c['source'])) for c in cells]
    end = next((n for n, (kind, s) in enumerate(texts) if kind == 'markdown' and re.match(r'## Tests\b', s)), len(texts))
    words = sum(len(s.split()) for kind, s in texts[:end] if kind == 'markdown')
    exported = [s for kind, s in texts if kind == 'code' and re.match(r'#\|\s*exports?\b', s)]
    shown = [s for kind, s in texts if kind == 'code' and not re.search(r'^#\|\s*(hide|include: *false)', s, re.M)] # a phone and a narrow window cut them
    long = sum(len(line) > 100 for s in {*exported, *shown} for line in s.splitlines())
    sizes = []
    for s in exported:
        body = [line for line in s.splitlines() if line.strip() and not line.startswith('#|')]
        imports = all(re.match(r'(import|from|\)|    [\w, ]+,?$)', line) for line in body)
        if not imports and not re.search(r'^#\|\s*default_exp', s, re.M): sizes.append((len(body), path.stem, body[0][:60]))
    return dict(words=words, cells=end), sizes, long

def unpinned(text):
    "Actions of a workflow that are not pinned by commit, or may use other actions by tag."
    for name, version in re.findall(r'^[\s-]*uses:\s*["\']?([^@\s"\']+)@?([^\s"\']*)', text, re.M):
        if not re.fullmatch('[0-9a-f]{40}', version): yield f'{name}@{version} is not pinned by commit'
        elif name not in ACTIONS: yield f'{name} may use other actions by tag'

# ---- the report

def public_names():
    from annotated_transformer import all as everything
    return len(everything.__all__)

def alarms(package, core_page):
    "What is worth a look."
    for name, m in package.items():
        if name == 'transformer' and m.lines > ALARMS['core'] or name not in ('transformer', 'all') and m.lines > ALARMS['module']: yield f'{name} has {m.lines} lines'
        for function, size, parameters in functions(m):
            if size > ALARMS['function']: yield f'{name}.{function} has {size} lines'
            free = name.startswith('cli.') or function in ('__init__', *SEED_NAMES)
            if parameters > ALARMS['signature'] and not free: yield f'{name}.{function} has {parameters} parameters'
    if (public := public_names()) > ALARMS['names']: yield f'all hands out {public} names'
    yield from (f'the core page has {core_page[key]} {key}' for key, limit in CORE_PAGE.items() if core_page[key] > limit)

def figures(places=False):
    "Print every figure with its bar; yield those that are beyond it."
    package = modules()
    pages = {path.stem: page(path) for path in sorted((ROOT/'nbs').glob('*.ipynb'))}
    sizes = sorted(size for _, page_sizes, _ in pages.values() for size in page_sizes)
    lines = [size for size, *_ in sizes]
    loops = circles(package)
    chain = longest_chain(package, {name for loop in loops for name in loop})
    counts = {key: sum(len(m.places[key]) for m in package.values()) for key in ('multi', 'getattr', 'placeholder')}
    values = dict(layers=len(chain), cell=lines[-1], median=lines[len(lines) // 2], ninety=lines[int(len(lines) * .9)], **counts)
    labels = dict(layers='import layers', cell='lines of the longest exported cell', median='lines of an exported cell, median', ninety='lines of an exported cell, 90 %',
                  multi='assignments of more than two independent values', getattr='getattr and hasattr', placeholder='names that say nothing')
    family = sum(m.lines for name, m in package.items() if name.startswith('family.'))
    print(f"core {package['transformer'].lines} lines; package without family {sum(m.lines for m in package.values()) - family:,}, family {family:,}; {len(package)} modules; "
          f"{public_names()} public names of all; words on all pages without tests {sum(p['words'] for p, *_ in pages.values()):,}")
    print('longest chain of imports: ' + ' → '.join(reversed(chain)))
    for key, value in values.items(): print(f"{'over' if value > BARS[key] else 'ok':4} {labels[key]}: {value} (bar {BARS[key]})")
    for warning in alarms(package, pages['01_transformer'][0]): print(f'alarm: {warning}')
    if places:
        for size, *where in sizes[::-1]:
            if size > BARS['ninety']: print('  cell', size, *where)
        for name, m in package.items():
            for key, found in m.places.items():
                for line, text in found: print(f'  {key} {name}:{line} {text}')
    for key, value in values.items():
        if value > BARS[key]: yield f'{labels[key]}: {value}, at most {BARS[key]}'
    yield from ('circle of imports: ' + ', '.join(loop) for loop in sorted(loops))
    yield from direction(package)
    numbers = Counter(name.split('_')[0] for name in pages if name[:2].isdigit()) # a page between two others has a letter: 54a_serving
    yield from (f'{count} notebooks have the number {number}' for number, count in numbers.items() if count > 1)
    for name, (_, _, long) in pages.items():
        if long: yield f'{name} has {long} lines over 100 characters'

def problems(places=False):
    for path in sorted((ROOT/'.github'/'workflows').glob('*.y*ml')):
        yield from (f'{path.name}: {problem}' for problem in unpinned(path.read_text(encoding='utf-8')))
    yield from figures(places)

def main():
    sys.path.insert(0, str(ROOT))
    beyond = list(problems('--places' in sys.argv))
    for problem in beyond: print('  ' + problem)
    sys.exit(bool(beyond))

if __name__ == '__main__': main()
