"""Which lines and branches of the package the notebooks' checks run; `--record` keeps the figures for nbs/91_bug_museum.ipynb."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD, LEAST = ROOT/'nbs/results/coverage.json', .98
# probes stay in the code: taking them out changes how long tensors live, which the checks of memory notice
SLIPCOVER = 'slipcover --branch --threshold 1000000000 --source annotated_transformer --omit */_modidx.py --json --out'.split()

def part(s): return dict(lines=s['covered_lines'] + s['missing_lines'], lines_run=s['covered_lines'], branches=s['covered_branches'] + s['missing_branches'], branches_run=s['covered_branches'])

def main():
    # the museum stays out: it runs the package with faults put in; the short ones come last, so that no worker waits long for another
    notebooks = [path for path in sorted((ROOT/'nbs').glob('*.ipynb'), reverse=True) if not path.name.startswith('91_')]
    with tempfile.TemporaryDirectory() as tmp:
        out = Path(tmp)/'found.json'
        command = [sys.executable, '-m', *SLIPCOVER, out, ROOT/'.ci/proof.py', *notebooks, '--slow', '--workers', os.environ.get('WORKERS', '2')]
        failed = subprocess.run([str(word) for word in command], cwd=ROOT, env=os.environ | dict(OMP_NUM_THREADS='1')).returncode # the notebooks share the cores
        found = json.loads(out.read_text())
    modules = {'.'.join(Path(name).relative_to('annotated_transformer').with_suffix('').parts): part(file['summary']) for name, file in sorted(found['files'].items())}
    total = part(found['summary'])
    for name, p in (modules | dict(total=total)).items(): print(f"{name:18} {p['lines']:5} lines, {p['lines'] - p['lines_run']:3} not run, {p['branches']:5} branches, {p['branches'] - p['branches_run']:3} not taken")
    if (share := (total['lines_run'] + total['branches_run']) / (total['lines'] + total['branches'])) < LEAST: failed = f'{share:.1%} of lines and branches are reached, not {LEAST:.0%}'
    if '--record' in sys.argv and not failed:
        RECORD.write_text(json.dumps(dict(command='python .ci/cover.py --record', tool=f"{found['meta']['software']} {found['meta']['version']}", python=sys.version.split()[0], total=total, modules=modules), indent=1) + '\n')
    sys.exit(failed)

main()
