"""Which lines and branches of the package the notebooks' checks run; `--record` keeps the figures for nbs/91_bug_museum.ipynb."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT/'nbs/results/coverage.json'

def coverage(*arguments): return subprocess.run([sys.executable, '-m', 'coverage', *map(str, arguments)], cwd=ROOT).returncode

def record(path):
    found = json.loads(path.read_text())
    part = lambda s: dict(lines=s['num_statements'], lines_run=s['covered_lines'], branches=s['num_branches'], branches_run=s['covered_branches'])
    modules = {Path(name).stem: part(file['summary']) for name, file in sorted(found['files'].items())}
    RECORD.write_text(json.dumps(dict(command='python .ci/cover.py --record', tool=f"coverage {found['meta']['version']}", python=sys.version.split()[0], total=part(found['totals']), modules=modules), indent=1) + '\n')

def main():
    # the museum stays out: it runs the package with faults put in; the short ones come last, so that no worker waits long for another
    notebooks = [path for path in sorted((ROOT/'nbs').glob('*.ipynb'), reverse=True) if not path.name.startswith('91_')]
    with tempfile.TemporaryDirectory() as tmp:
        os.environ |= dict(COVERAGE_FILE=f'{tmp}/data', COVERAGE_RCFILE=str(ROOT/'.ci/coveragerc'), OMP_NUM_THREADS='1') # the notebooks share the cores
        failed = coverage('run', '-m', 'annotated_transformer.proof', *notebooks, '--workers', os.environ.get('WORKERS', '2')) or coverage('combine', '-q') or coverage('report')
        if '--record' in sys.argv and not failed:
            coverage('json', '-q', '-o', f'{tmp}/found.json')
            record(Path(tmp)/'found.json')
    sys.exit(failed)

main()
