"""`make package`: wheel and sdist as a user gets them. They are built from a copy of the clone, the wheel from the sdist; the wheel alone is installed in a
bare environment outside the repository and used: at-translate, at-evaluate, page 01 up to its tests, page 85. The Colab cell runs in an environment that
holds another torch, which it must not replace. A clone with core.autocrlf=true, as on Windows, has the bytes of the repository.

torch is large: where the environment that runs this has the pinned version, its files are linked, not installed again. The other torch of the Colab
check is the same files under another version number, as each further build has several GB."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from argparse import ArgumentParser
from configparser import ConfigParser
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = 'annotated_transformer'
PAGES = ('01_transformer', '85_exercises')
MAX_WHEEL = 22_000_000 # Bytes
SCRIPTS = 'Scripts' if os.name == 'nt' else 'bin'
ENV = {key: value for key, value in os.environ.items() if key not in ('PYTHONPATH', 'PYTHONHOME', 'VIRTUAL_ENV')} | dict(PIP_DISABLE_PIP_VERSION_CHECK='1', PYTHONUTF8='1')

def run(*command, cwd=None, **env):
    "Output of a command; it must succeed."
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=ENV | env, text=True, encoding='utf-8', stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode: sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-6000:]}")
    return done.stdout

@contextmanager
def step(title):
    began = time.monotonic()
    yield
    print(f'{title}: ok, {time.monotonic() - began:.0f} s', flush=True)

def settings():
    parser = ConfigParser(delimiters=['='])
    parser.read(ROOT/'settings.ini', encoding='utf-8')
    return parser['DEFAULT']

# ---- building

def copy_sources(folder):
    "The files of the clone that git knows or would add."
    names = run('git', 'ls-files', '-co', '--exclude-standard', '-z', cwd=ROOT).split('\0')
    for name in filter(None, names):
        if not (ROOT/name).exists(): continue
        (folder/name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT/name, folder/name, follow_symlinks=False)

def build(folder):
    "Make the sdist of the sources, and the wheel from the sdist; return both."
    sources, dist, unpacked = folder/'sources', folder/'dist', folder/'unpacked'
    copy_sources(sources)
    citation = re.search(r'^version: (\S+)', (sources/'CITATION.cff').read_text(encoding='utf-8'), re.M)[1]
    if citation != settings()['version']: sys.exit(f"CITATION.cff names version {citation}, settings.ini {settings()['version']}")
    command = 'import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])'
    run(sys.executable, '-c', command, 'build_sdist', dist, cwd=sources)
    [sdist] = dist.glob('*.tar.gz')
    with tarfile.open(sdist) as archive: archive.extractall(unpacked, filter='data') # noqa: S202
    [source] = unpacked.iterdir()
    run(sys.executable, '-c', command, 'build_wheel', dist, cwd=source)
    [wheel] = dist.glob('*.whl')
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {p.relative_to(sources).as_posix() for p in (sources/PACKAGE).rglob('*') if p.is_file() and '__pycache__' not in p.parts}
    wanted |= {f'{PACKAGE}/live_page/{p.name}' for p in (sources/'nbs/live').iterdir() if p.is_file()} # a link
    if wanted - names: sys.exit(f'the wheel lacks {sorted(wanted - names)}')
    licenses = {Path(name).name for name in names if '.dist-info/licenses/' in name}
    if licenses != {'LICENSE', 'LICENSE-DATA'}: sys.exit(f'the wheel has the licenses {sorted(licenses)}')
    if extra := {name for name in names if not name.startswith((PACKAGE + '/', PACKAGE + '-'))}: sys.exit(f'the wheel has {sorted(extra)}')
    return sdist, wheel

# ---- environments

def link_file(source, target):
    try: os.link(source, target)
    except OSError: shutil.copy2(source, target)

class Environment:
    "Environment with torch alone, or with the packages of another one but ours."
    def __init__(self, folder, like=None):
        self.bin = folder/SCRIPTS
        venv.create(folder, with_pip=True, symlinks=os.name != 'nt')
        self.python = self.bin/('python.exe' if os.name == 'nt' else 'python')
        self.site = Path(run(self.python, '-c', 'import sysconfig; print(sysconfig.get_path("purelib"))').strip())
        pin = re.search(r'^torch==(\S+)', (ROOT/'constraints.txt').read_text(encoding='utf-8'), re.M)[1]
        if like: shutil.copytree(like.site, self.site, copy_function=link_file, dirs_exist_ok=True, ignore=shutil.ignore_patterns(f'{PACKAGE}*', '__pycache__'))
        elif not self.link('torch', pin): self.pip(f'torch=={pin}')

    def pip(self, *words): return run(self.python, '-m', 'pip', 'install', '--quiet', '--no-compile', *words)

    def link(self, name, version):
        "Link the files of a package that is installed here; its requirements are left to pip."
        try: dist = distribution(name)
        except PackageNotFoundError: return False
        if dist.version.partition('+')[0] != version or sys.prefix == sys.base_prefix: return False
        for file in dist.files or ():
            source, target = Path(dist.locate_file(file)), self.site/file
            if file.parts[0] == '..' or '__pycache__' in file.parts or not source.is_file(): continue
            target.parent.mkdir(parents=True, exist_ok=True)
            link_file(source, target)
        return True

    def rename(self, name, version):
        "Give an installed package another version number."
        [info] = self.site.glob(f'{name}-*.dist-info')
        text = (info/'METADATA').read_text(encoding='utf-8')
        (info/'METADATA').unlink() # it may be a link
        (info/'METADATA').write_text(re.sub(r'^Version: .*$', f'Version: {version}', text, count=1, flags=re.M), encoding='utf-8')
        info.rename(info.with_name(f'{name}-{version}.dist-info'))

    def version(self, name): return run(self.python, '-c', f'from importlib.metadata import version; print(version("{name}"))').strip()

    def run(self, command, *words, cwd, **env): return run(self.bin/command, *words, cwd=cwd, PATH=os.pathsep.join([str(self.bin), ENV.get('PATH', '')]), **env)

# ---- uses

def commands(bare, outside):
    out = bare.run('at-translate', '--beam_size', '2', 'Die kleine Katze schläft im Garten.', cwd=outside)
    if 'small cat' not in out: sys.exit(f'at-translate printed {out!r}')
    out = bare.run('at-evaluate', '--data', 'pocket', '--beam_size', '1', cwd=outside)
    if 'BLEU' not in out: sys.exit(f'at-evaluate printed {out!r}')
    where = bare.run('python', '-c', f'import {PACKAGE}; print({PACKAGE}.__file__)', cwd=outside)
    if str(bare.site) not in where: sys.exit(f'the package was taken from {where}')

def pages(bare, outside, names):
    "Run pages up to *Tests*, in a copy of the folder of notebooks without the package."
    for folder in ('nbs', '.ci'): shutil.copytree(ROOT/folder, outside/folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns('__pycache__', '.ipynb_checkpoints', '.hypothesis'))
    print(bare.run('python', outside/'.ci/plain_pages.py', *names, cwd=outside).strip())

def colab(folder, like=None, torch_version='2.12.1'):
    "The Colab cell of page 01, in an environment with IPython and another torch; git takes the clone from here."
    cell = next(source for c in json.loads((ROOT/'nbs/01_transformer.ipynb').read_text(encoding='utf-8'))['cells'] if 'google.colab' in (source := ''.join(c['source'])))
    options = settings()
    address = f"https://github.com/{options['user']}/{options['repo']}"
    if f'"{address}"' not in cell or f"-b {options['branch']} " not in cell: sys.exit('the Colab cell does not clone the repository of settings.ini')
    sources = folder/'colab-sources'
    copy_sources(sources)
    git = ('git', '-c', 'user.name=check', '-c', 'user.email=check@localhost', '-c', 'commit.gpgsign=false')
    run(*git, 'init', '-q', '-b', options['branch'], cwd=sources)
    run(*git, 'add', '-A', cwd=sources)
    run(*git, 'commit', '-q', '-m', 'check', cwd=sources)
    there = Environment(folder/'colab', like) # a Colab machine has most of the packages, too
    there.rename('torch', torch_version)
    if not like: there.pip('ipython')
    before = there.version('torch')
    script = folder/'colab.py'
    script.write_text(f'''import sys, types
sys.modules['google'], sys.modules['google.colab'] = types.ModuleType('google'), types.ModuleType('google.colab')
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for source in [{cell!r}.replace('/content/', {str(folder / 'content') + '/'!r}), 'import os; print(os.getcwd())',
               "from annotated_transformer.inference.translator import Translator; print(Translator.from_pretrained('pocket').translate('Das Kind liest.'))"]:
    if not shell.run_cell(source).success: sys.exit(1)
''', encoding='utf-8')
    (folder/'content').mkdir()
    out = there.run('python', script, cwd=folder, GIT_CONFIG_COUNT='1', GIT_CONFIG_KEY_0=f'url.{sources.as_uri()}.insteadOf', GIT_CONFIG_VALUE_0=address)
    if f'content{os.sep}{PACKAGE}{os.sep}nbs' not in out: sys.exit(f'the Colab cell ends elsewhere: {out}')
    there.version(PACKAGE) # it was installed here
    if (after := there.version('torch')) != before: sys.exit(f'the Colab cell replaced torch {before} by {after}')
    names = {path.name for path in (ROOT/'nbs').glob('*.ipynb')}
    badge = re.search(r"^COLAB = f'(\S+)'", (ROOT/'docs/bridge.py').read_text(encoding='utf-8'), re.M)[1]
    if badge != 'https://colab.research.google.com/github/{CFG.user}/{CFG.repo}/blob/{CFG.branch}/nbs/' or not names: sys.exit(f'the badge leads to {badge}')

def line_ends(folder):
    "A clone that converts line ends has the bytes of the repository."
    clone = folder/'windows'
    run('git', 'clone', '-q', '-c', 'core.autocrlf=true', '-c', 'core.eol=crlf', ROOT, clone)
    for line in run('git', 'ls-files', '--eol', cwd=clone).splitlines():
        if re.match(r'\S+\s+w/(crlf|mixed)', line): sys.exit(f'a checkout on Windows changes the line ends of {line.split()[-1]}: see .gitattributes')
    return clone

def main():
    parser = ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--pages', nargs='*', default=PAGES, help='pages to run up to their tests; "all" for all')
    parser.add_argument('--only', choices=('wheel', 'colab'), help='one part')
    parser.add_argument('--folder', help='where the environments are made, outside the repository (default: the folder of temporary files)')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder, ignore_cleanup_errors=True) as tmp:
        folder, bare = Path(tmp).resolve(), None
        if args.only != 'colab':
            with step('line ends of a clone on Windows'): line_ends(folder)
            with step('sdist, and the wheel from it'): sdist, wheel = build(folder)
            with step('bare environment with the wheel'):
                bare = Environment(folder/'bare')
                bare.pip(wheel)
            outside = folder/'outside'
            outside.mkdir()
            with step('at-translate and at-evaluate'): commands(bare, outside)
            with step('pages'):
                bare.pip('ipython')
                pages(bare, outside, [] if [*args.pages] == ['all'] else args.pages)
            if wheel.stat().st_size > MAX_WHEEL: raise SystemExit(f'{wheel.name} has more than {MAX_WHEEL / 1e6:.0f} MB')
            print(f'{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB, {wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB')
        if args.only != 'wheel' and os.name != 'nt': # Colab runs Linux
            with step('Colab cell beside another torch'): colab(folder, bare)

if __name__ == '__main__': main()
