"""`make nbdev3`: the newest nbdev (3 or later) in a copy of the clone: clean and export change nothing, ten pages pass their tests.

Its configuration is the table [tool.nbdev] of pyproject.toml, which must say what settings.ini says. What may differ in the
package is its index, `_modidx.py`, and comments that are directives (`#| ...`)."""
import subprocess
import sys
import tempfile
import tomllib
from configparser import ConfigParser
from pathlib import Path

from check import BIN, PACKAGE, ROOT, copied

PAGES = ('01_transformer', '02_config', '03_checks', '10_attention', '15_fast', '24_bpe', '32_batching', '35_optimizers', '45_decoding', '65_shapes')

def settings():
    "Where settings.ini and pyproject.toml differ."
    parser = ConfigParser(delimiters=['='])
    parser.read(ROOT/'settings.ini', encoding='utf-8')
    old, new = parser['DEFAULT'], tomllib.loads((ROOT/'pyproject.toml').read_text(encoding='utf-8'))['tool']['nbdev']
    text = {True: 'True', False: 'False'}
    return [f'{key}: {old.get(key)} in settings.ini, {value} in pyproject.toml' for key, value in new.items() if old.get(key) != text.get(value, value)]

def code(path): return [line for line in path.read_text(encoding='utf-8').splitlines() if not line.startswith('#|')]

def exported(folder):
    "Files that a command of nbdev 3 changed."
    names = sorted(p.relative_to(ROOT) for p in (ROOT/PACKAGE).rglob('*.py') if p.name != '_modidx.py')
    yield from (f'nbdev-export changed {name}' for name in names if code(ROOT/name) != code(folder/name))
    yield from (f'nbdev-clean changed {p.name}' for p in sorted((ROOT/'nbs').glob('*.ipynb')) if p.read_bytes() != (folder/'nbs'/p.name).read_bytes())

def main():
    problems = settings()
    with tempfile.TemporaryDirectory() as tmp:
        folder = copied(Path(tmp))
        for command in ('nbdev-clean', 'nbdev-export'): subprocess.run([BIN/command], cwd=folder, check=True)
        problems += exported(folder)
        for page in PAGES:
            [path] = (folder/'nbs').glob(f'{page}.ipynb')
            done = subprocess.run([BIN/'nbdev-test', path, '--n-workers', '0', '--do-print'], cwd=folder, capture_output=True, text=True)
            print(page, 'failed' if done.returncode else 'passed', flush=True)
            if done.returncode: problems.append(f'{page}: ' + (done.stdout + done.stderr)[-2000:])
    for problem in problems: print('  ' + problem)
    sys.exit(bool(problems))

main()
