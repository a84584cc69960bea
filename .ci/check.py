"""Every check of `make test`: notebooks clean, package and README as the notebooks say, modules importable alone, bars of the architecture kept, tests pass."""
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PACKAGE, NBS = 'annotated_transformer', 'nbs'

def run(*command, cwd=ROOT, **env):
    done = subprocess.run([str(c) for c in command], cwd=cwd, env={**os.environ, **env}, text=True, capture_output=True)
    return done.returncode, done.stdout + done.stderr

def copied(folder):
    "A copy of everything that the generated files depend on"
    for name in (NBS, PACKAGE, '.ci', 'docs'): shutil.copytree(ROOT/name, folder/name, symlinks=True, ignore=shutil.ignore_patterns('__pycache__', '.ipynb_checkpoints', 'node_modules'))
    for name in ('settings.ini', 'setup.py', 'pyproject.toml', 'README.md', '_quarto.yml'): shutil.copy(ROOT/name, folder/name)
    return folder

def differing(folder, sub, pattern):
    names = {p.relative_to(root/sub) for root in (ROOT, folder) for p in (root/sub).glob(pattern)}
    bad = sorted(str(n) for n in names if not ((ROOT/sub/n).exists() and (folder/sub/n).exists() and filecmp.cmp(ROOT/sub/n, folder/sub/n, shallow=False)))
    return ', '.join(bad)

def generated(command, remedy, *places):
    "Run `command` on a copy; in none of `places`, pairs of folder and pattern, may it change a file"
    with tempfile.TemporaryDirectory() as tmp:
        code, out = run(*command, cwd=copied(Path(tmp)))
        bad = ', '.join(filter(None, (differing(Path(tmp), *place) for place in places)))
        return out if code else bad and f'{bad}: {remedy}'

def clean(): return generated([BIN/'nbdev_clean'], 'unclean, run nbdev_clean', (NBS, '*.ipynb'))
def exported(): return generated([BIN/'nbdev_export'], 'not what the notebooks export, run nbdev_export', (PACKAGE, '**/*.py'))
def readme(): return generated([sys.executable, '-W', 'ignore', '.ci/readme.py'], 'not what nbs/index.ipynb says, run make readme', ('.', 'README.md'), (f'{NBS}/images', '*'))

ALONE = '''
import os, sys, torch, fastcore.all
from pathlib import Path
before, allowed = set(sys.modules), {"torch", "fastcore", "annotated_transformer", *sys.stdlib_module_names}
for path in sorted(Path("annotated_transformer").rglob("*.py")):
    name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    if os.fork() == 0:
        try:
            __import__(name)
            new = {name.split(".")[0] for name in set(sys.modules) - before} - allowed
            if new: print(f"{name} imports {sorted(new)}: import them where they are used")
        except BaseException as e: print(f"{name} cannot be imported alone: {e!r}")
        sys.stdout.flush(); os._exit(0)
    os.wait()
'''
def importable():
    code, out = run(sys.executable, '-c', ALONE)
    return out.strip()

SECURITY = 'S102,S202,S301,S302,S307,S506,S602,S604,S605,TID251' # exceptions stand in pyproject.toml alone, not in the code
def ruff(*options, paths=(PACKAGE, '.ci', 'docs', 'setup.py')):
    code, out = run(BIN/'ruff', 'check', '--no-cache', '--quiet', '--output-format', 'concise', *options, *paths)
    return (out.strip() or f'ruff ended with {code}') if code else ''

def harmless(): # and torch.load, where it is permitted, reads tensors only
    loads = [(path, call) for path in (ROOT/'annotated_transformer').rglob('*.py') for call in re.findall(r'torch\.load\(.*', path.read_text())]
    unsafe = [f'{path}: {call}' for path, call in loads if 'weights_only=True' not in call]
    return '\n'.join(filter(None, [*unsafe, ruff('--ignore-noqa', '--select', SECURITY)]))
def style(): return ruff() # the rules stand in pyproject.toml

def structure(): # figures and limits stand in .ci/structure.py
    code, out = run(sys.executable, '.ci/structure.py')
    print(out.strip(), flush=True)
    return 'beyond the limits above' if code else ''

def locked(): return run(sys.executable, '.ci/hashes.py')[1].strip()

def order(): return run(sys.executable, '.ci/order.py')[1].strip()

def outputs(): # a stored warning names a folder of one machine
    pages = [path.stem for path in sorted((ROOT/'nbs').glob('*.ipynb')) if '"name": "stderr"' in path.read_text(encoding='utf-8')]
    return f'stored outputs of stderr: {", ".join(pages)}' if pages else ''

def runner(): # the tests of the runner itself
    code, out = run(sys.executable, '.ci/test_proof.py')
    return out.strip() if code else ''

# Every page is run once, on the package: what is tested is what users import, and coverage measures the same run. nbdev_test runs the cells of the
# notebook; it would double the time, and what it finds beyond this is a name used above its export, for which `order` looks, so it runs on a few pages
# here, by `make check` on the page that is changed, and by `make nbdev-test` on all each night.
NOTEBOOKS = ('02_config', '03_checks', '20_losses', '25_sentences', '30_multi30k')

def nbdev():
    code, out = run(BIN/'nbdev_test', '--file_re', f"({'|'.join(NOTEBOOKS)})\\.ipynb", '--n_workers', '2', OMP_NUM_THREADS='1')
    return out.strip() if code else ''

def test(): # the notebooks share the cores, so each computes on one
    command = [sys.executable, '.ci/proof.py', '--no-abuse', '--workers', os.environ.get('WORKERS', '2')] # tables of hostile input: make abuse
    return 'tests failed, see above' if subprocess.run(command, cwd=ROOT, env=os.environ | dict(OMP_NUM_THREADS='1')).returncode else ''

def main():
    failed = 0
    def report(check, problem):
        nonlocal failed
        failed += bool(problem)
        print(f"{check.__name__:12} {problem or 'ok'}", flush=True)
    checks = clean, exported, readme, importable, harmless, style, structure, locked, order, outputs, runner, nbdev
    with ThreadPoolExecutor(2) as pool: # each waits for a process; readme executes a page
        for check, problem in zip(checks, pool.map(lambda check: check(), checks)): report(check, problem)
    report(test, test())
    print(f"{len(checks) + 1 - failed} passed, {failed} failed")
    sys.exit(bool(failed))

if __name__ == '__main__': main()
