"""The limits of the architecture: sizes, import layers, public names, length of the core page. `python .ci/structure.py` prints every figure."""
import ast
import json
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT/'annotated_transformer'
ORDER = ('', 'lessons', 'engine', 'data', 'train', 'inference', 'family', 'lab') # who may import whom: only what comes before
COMMANDS = ('commands', 'metrics', 'experiments', 'benchmarks', 'engines') # modules with console scripts
SEED_NAMES = ('make_model', 'make_lm', 'run_epoch', 'greedy_decode', 'TransformerConfig', 'TrainingConfig') # signatures that the seeds fix
ACTIONS = {f'actions/{name}' for name in ('checkout', 'setup-python', 'upload-artifact', 'deploy-pages')} # programs that use no other action
CORE = dict(words=7000, cells=90, code=900)

def modules():
    "Dotted name -> source, of everything but the generated index"
    paths = sorted(p for p in PACKAGE.rglob('*.py') if p.name not in ('_modidx.py', '__init__.py'))
    return {'.'.join(p.relative_to(PACKAGE).with_suffix('').parts): p.read_text(encoding='utf-8') for p in paths}

def imports(name, source, sources):
    "Modules of the package that a module imports at its top level, with the names it takes"
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ImportFrom): continue
        module = node.module or ''
        if not node.level and not module.startswith(PACKAGE.name): continue
        above = name.split('.')[:-node.level] if node.level else []
        base = '.'.join([*above, module.removeprefix(PACKAGE.name) if not node.level else module]).strip('.')
        names = [alias.name for alias in node.names]
        yield base, names
        yield from ((inner, []) for n in names if (inner := f'{base}.{n}'.strip('.')) in sources) # modules taken whole

def functions(source):
    "Functions and methods of a module with their number of lines and parameters"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            a = node.args
            parameters = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs) if x.arg not in ('self', 'cls')]
            yield node.name, node.end_lineno - node.body[0].lineno + 1, len(parameters)

def core_lines(source):
    "Lines of the core, and those that are neither signature, blank nor header"
    lines, signature = source.splitlines(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef): signature |= {*range(node.lineno, node.body[0].lineno)}
    counted = [n for n, line in enumerate(lines, 1) if line.strip() and not line.startswith('# ') and n not in signature]
    return len(lines), len(counted)

def page(path):
    "Words, cells, lines of code and captions of a notebook before its tests; the exported lines over 100 characters"
    cells = json.loads(path.read_text(encoding='utf-8'))['cells']
    texts = [(c['cell_type'], ''.join(c['source'])) for c in cells]
    end = next((n for n, (kind, s) in enumerate(texts) if kind == 'markdown' and re.match(r'## Tests\b', s)), len(texts))
    body = texts[:end]
    words = sum(len(s.split()) for kind, s in body if kind == 'markdown')
    code = sum(bool(line.strip()) and not line.startswith('#|') for kind, s in body if kind == 'code' for line in s.splitlines())
    figures = sum(bool(re.search(r'^\*Figure \d+', s, re.M)) for kind, s in body if kind == 'markdown')
    long = sum(len(line) > 100 for kind, s in texts if kind == 'code' and re.match(r'#\|\s*export', s) for line in s.splitlines())
    return dict(words=words, cells=len(body), code=code, figures=figures), long

def unpinned(text):
    "Actions of a workflow that are not pinned by commit, or may use other actions by tag"
    for name, version in re.findall(r'^[\s-]*uses:\s*["\']?([^@\s"\']+)@?([^\s"\']*)', text, re.M):
        if not re.fullmatch('[0-9a-f]{40}', version): yield f'{name}@{version} is not pinned by commit'
        elif name not in ACTIONS: yield f'{name} may use other actions by tag'

def problems():
    for path in sorted((ROOT/'.github'/'workflows').glob('*.y*ml')):
        yield from (f'{path.name}: {found}' for found in unpinned(path.read_text(encoding='utf-8')))
    sources = modules()
    variants = sum(len(s.splitlines()) for name, s in sources.items() if name.startswith('family.'))
    total = sum(len(s.splitlines()) for s in sources.values()) - variants
    lines, counted = core_lines(sources['transformer'])
    print(f'core: {lines} lines, {counted} of them neither signature, blank nor header; package: {total:,} lines (aim: 11,000), variants of the Transformer: {variants:,}')
    if lines > 650 or counted > 350: yield f'the core has {lines} lines, {counted} of them code: at most 650 and 350'
    if total > 12_900: yield f'the package has {total:,} lines: at most 12,900'
    for name, s in sources.items():
        if name not in ('transformer', 'all') and (n := len(s.splitlines())) > 450: yield f'{name} has {n} lines: at most 450'
        for function, size, parameters in functions(s):
            if size > 40: yield f'{name}.{function} has {size} lines: at most 40'
            free = name.rsplit('.', 1)[-1] in COMMANDS or function in ('__init__', *SEED_NAMES)
            if parameters > 8 and not free: yield f'{name}.{function} has {parameters} parameters: at most 8'
    edges = {name: list(imports(name, s, sources)) for name, s in sources.items() if name != 'all'}
    rank = lambda name: ORDER.index(name.rpartition('.')[0])
    for name, taken in edges.items():
        for base, names in taken:
            if base in sources and rank(base) > rank(name): yield f'{name} imports {base}, which is above it'
            for private in names:
                if private.startswith('_'): yield f'{name} imports the private name {base}.{private}'
    @cache
    def layer(name): return 1 + max((layer(base) for base, _ in edges.get(name, ()) if base in sources), default=0)
    layers = max(map(layer, edges))
    print(f'import layers: {layers}')
    if layers > 9: yield f'{layers} import layers: at most 9'
    public = len(import_module('annotated_transformer.all').__all__)
    print(f'public names of all: {public}')
    if public > 260: yield f'all hands out {public} names: at most 260'
    words = 0
    for path in sorted((ROOT/'nbs').glob('*.ipynb')):
        found, long = page(path)
        words += found['words']
        if long: yield f'{path.name} exports {long} lines over 100 characters'
        if path.stem == '01_transformer':
            print('core page: ' + ', '.join(f'{n:,} {what}' for what, n in found.items()))
            yield from (f'the core page has {found[what]} {what}: at most {most}' for what, most in CORE.items() if found[what] > most)
            if found['figures'] < 14: yield f"the core page has {found['figures']} figures: at least 14"
    print(f'words on all pages without tests: {words:,}')

def main():
    found = list(problems())
    for problem in found: print('  ' + problem)
    sys.exit(bool(found))

if __name__ == '__main__': main()
