"""Do the notebooks' checks notice faults that a tool makes? cosmic-ray's operators change one place of a module at a
time, its own notebook runs against the mutant until a check fails.

    pip install -e .[mutation]
    python .ci/mutants.py --sample 100   # resumable: what is in runs/mutants is not run again
    python .ci/mutants.py --record       # what is there, as nbs/results/mutants.json; why a mutant survives is written there by hand
"""
import ast
import difflib
import json
import os
import random
import sys
from argparse import ArgumentParser
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import monotonic

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from proof import check_in_processes, import_common, install_mutant, notebooks_of

ROOT = Path(__file__).resolve().parent.parent
RUNS, RECORD = ROOT/'runs/mutants', ROOT/'nbs/results/mutants.json'
MODULES = ('transformer', 'engine.fast', 'engine.cache', 'train.losses', 'data.batching', 'inference.decoding', 'inference.beam')

def mutants(source):
    "Every mutant that is a program and differs in more than annotations, as (operator, occurrence, code)."
    tree, sound = get_ast(source), without_annotations(source)
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments(): continue
        places = sum(1 for node in ast_nodes(tree) for _ in operator().mutation_positions(node))
        for place in range(places):
            code = mutate_code(source, operator(), place)
            try:
                if without_annotations(code) != sound: yield name.removeprefix('core/'), place, code
            except SyntaxError: pass

def without_annotations(source):
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in ('annotation', 'returns'):
            if hasattr(node, field): setattr(node, field, None)
    return ast.dump(tree)

def changed(source, code):
    "The one line that changed, before and after."
    lines = [line for line in difflib.unified_diff(source.splitlines(), code.splitlines(), n=0, lineterm='') if line[:3] not in ('---', '+++', '@@ ')]
    return [' '.join(' '.join(line[1:] for line in lines if line[0] == sign).split()) for sign in '-+']

def prepare(module, code):
    import hypothesis
    hypothesis.settings.register_profile('first', phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate], database=None) # the first failure will do
    hypothesis.settings.load_profile('first')
    install_mutant(module, code, 'annotated_transformer')

def check_module(module, sample):
    source = (ROOT/f'annotated_transformer/{module.replace(".", "/")}.py').read_text()
    path, notebook = RUNS/f'{module}.jsonl', notebooks_of(module, ROOT/'nbs')[0]
    known = {(m['operator'], m['before'], m['after']) for m in read(path)}
    start = monotonic()
    [sound] = check_in_processes(notebook, prepare=partial(prepare, module, source))
    assert sound.passed, sound
    limit, found = 20 + 5 * (monotonic() - start), list(mutants(source))
    random.Random(0).shuffle(found)
    for operator, place, code in found[:sample]:
        before, after = changed(source, code)
        if (operator, before, after) in known: continue
        [result] = check_in_processes(notebook, prepare=partial(prepare, module, code), limit=limit) # too slow is caught, too
        fate = 'survived' if result.passed else 'killed' if result.cell else 'stillborn'
        row = dict(operator=operator, before=before, after=after, fate=fate, by=result.cell and result.cell.number, error=result.error[:100], seconds=round(result.seconds, 1), of=len(found))
        with path.open('a') as file: file.write(json.dumps(row) + '\n')
    rows = read(path)
    print(module, {fate: sum(row['fate'] == fate for row in rows) for fate in ('killed', 'survived', 'stillborn')}, 'of', len(found), flush=True)

def read(path): return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

def record(modules):
    reasons = {(s['module'], s['before'], s['after']): s['reason'] for s in json.loads(RECORD.read_text())['survived']} if RECORD.exists() else {}
    text = lambda module: ' '.join((ROOT/f'annotated_transformer/{module.replace(".", "/")}.py').read_text().split())
    rows = {module: [m for m in read(RUNS/f'{module}.jsonl') if m['before'] in source] for module in modules for source in [text(module)]} # of the code as it is
    counts = {module: dict(mutants=found[-1]['of'], tried=len(found), killed=sum(m['fate'] == 'killed' for m in found), stillborn=sum(m['fate'] == 'stillborn' for m in found)) for module, found in rows.items()}
    survivors = [dict(module=module, before=m['before'], after=m['after'], reason=reasons.get((module, m['before'], m['after']), '')) for module, found in rows.items() for m in found if m['fate'] == 'survived']
    RECORD.write_text(json.dumps(dict(command='python .ci/mutants.py', tool=f"cosmic-ray {version('cosmic-ray')}", modules=counts, survived=survivors), indent=1, ensure_ascii=False) + '\n')

def main():
    parser = ArgumentParser()
    parser.add_argument('modules', nargs='*', default=MODULES)
    parser.add_argument('--sample', type=int, help='so many of each module, drawn with seed 0 (default: all)')
    parser.add_argument('--record', action='store_true', help='write down what was found, run nothing')
    args = parser.parse_args()
    if args.record: return record(args.modules)
    RUNS.mkdir(parents=True, exist_ok=True)
    os.environ['OMP_NUM_THREADS'] = '1'
    import_common()
    for module in args.modules: check_module(module, args.sample)

main()
