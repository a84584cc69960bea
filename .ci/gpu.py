"""`python .ci/gpu.py [PART ...]`: all checks and records that need a GPU, in about ten minutes; nbs/results/gpu.json has the figures.

Without a GPU the same parts run in small on the processor, nothing is recorded, and the last lines say what did not run.
Each part runs in a process of its own: a failure is one row of the record, and the others go on."""
import copy
import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT/'.ci')]
GPU = torch.cuda.is_available()
DEVICE = 'cuda' if GPU else 'cpu'
LIMIT = 240 # Seconds of a part

def package(name): return import_module(f'annotated_transformer.{name}')

def sync():
    if GPU: torch.cuda.synchronize()

def seconds(work, rounds=5):
    "Median seconds of a function, after one call that does not count."
    times = []
    for n in range(rounds + 1):
        sync()
        start = perf_counter()
        work()
        sync()
        if n: times.append(perf_counter() - start)
    return median(times)

def reason(text):
    "The last line of an output that names an error."
    lines = text.strip().splitlines() or ['no message']
    return next((line for line in reversed(lines) if 'rror' in line), lines[-1])[-300:]

def memory():
    "Peak of the GPU's memory in MiB since the last call; None without a GPU."
    if not GPU: return None
    peak = torch.cuda.max_memory_allocated() / 2**20
    torch.cuda.reset_peak_memory_stats()
    return round(peak)

# ---- parts: each returns rows for the record

def equal():
    "Translations on the device are those of the processor, float32, greedy and beam, both engines."
    translator, corpora = package('inference.translator').Translator, package('data.corpora')
    texts = [s for s, _ in corpora.load_corpus('pocket', 'test')[:100 if GPU else 10]]
    rows = []
    for beam in (1, 4):
        wanted = list(translator.from_pretrained('pocket', 'cpu').translate(texts, beam_size=beam))
        for engine in ('fast', 'plain'):
            found = list(translator.from_pretrained('pocket', DEVICE, engine).translate(texts, beam_size=beam))
            rows.append(dict(beam=beam, engine=engine, sentences=len(texts), equal=sum(a == b for a, b in zip(wanted, found))))
    least = .95 if GPU else 1 # a GPU adds in another order, so two nearly equal tokens may change places
    for row in rows:
        if row['equal'] < least * len(texts): row['error'] = 'too few equal translations'
    return rows

def graphs():
    "Program, static step and CUDA graph: the long cell of page 97, whose record it writes on a GPU."
    from proof import execute, read_notebook
    cell, = (c for c in read_notebook(ROOT/'nbs'/'97_engines.ipynb')[1] if c.directive('long$') and 'def graph_benchmark' in c.source)
    if GPU:
        run = subprocess.run([sys.executable, ROOT/'.ci'/'long.py', '97', 'graph_benchmark'], check=True, capture_output=True, text=True)
        return [dict(output=run.stdout[-200:]), *json.loads((ROOT/'nbs'/'results'/'cuda_graphs.json').read_text())['rows']]
    os.environ.pop('RUN_LONG', None)
    names = dict(__name__='gpu')
    execute(cell, names, '<97_engines, long cell>')
    names |= dict(tokens=6, source=5)
    with torch.no_grad(): return names['graph_benchmark'](DEVICE, 1, 32, 64, 2, 2)

def peers():
    "Greedy and beam search beside `MarianMTModel.generate`, with its growing and its static cache."
    if not find_spec('transformers'): return [dict(skipped='transformers is not installed')]
    config = package('config')
    sizes = dict(norm_first=False, tie='all', dropout=0.)
    sizes |= {} if GPU else dict(N=1, d_model=32, d_ff=64, h=2)
    torch.manual_seed(0)
    vocabulary, tokens = (8000, 32) if GPU else (60, 5)
    model = package('build').build(config.preset('small', **sizes), vocabulary).eval()
    marian = package('lab.interop').to_marian(model).to(DEVICE)
    model = package('engine.fast').accelerate(model).to(DEVICE)
    rows = []
    for batch in (1, 32, 128) if GPU else (2,):
        src = torch.randint(4, vocabulary, (batch, 24), device=DEVICE)
        mask = torch.ones(batch, 1, 24, dtype=torch.bool, device=DEVICE)
        def generate(beam, **options):
            return marian.generate(src, attention_mask=mask[:, 0].long(), max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False,
                                   num_beams=beam, **options)
        def search(beam): # no sentence ends
            if beam == 1: return package('inference.decoding').greedy_search(model, src, mask, tokens + 1, 0)
            return package('lab.engines').our_beam(model, src, mask, tokens + 1, tokens + 2)
        ways = {'ours': search, 'MarianMTModel.generate': generate,
                'MarianMTModel.generate, static cache': lambda beam: generate(beam, cache_implementation='static')}
        for beam in (1, 4):
            for way, work in ways.items():
                row = dict(batch=batch, beam=beam, way=way)
                try: rows.append(row | dict(per_second=round(batch / seconds(lambda: work(beam), 3), 1), mib=memory()))
                except Exception as e: rows.append(row | dict(error=f'{type(e).__name__}: {e}'[:200]))
    rows.append(dict(skipped='eole: its own configuration and converted weights are not prepared'))
    return rows

def training():
    "Target tokens per second of `base` in bfloat16, with and without `torch.compile`, beside `nn.Transformer`."
    bench = package('lab.benchmarks')
    config = package('config').preset('base' if GPU else 'tiny', **({} if GPU else dict(N=1, d_model=32, d_ff=64, h=2)), tie='all')
    work = bench.workload(4, 8000) if GPU else bench.workload(1, 300, 'pocket')
    torch.manual_seed(0)
    model = package('build').build(config, work.vocab).to(DEVICE)
    tokens = sum(batch.ntokens for batch in work.batches)
    compiled = torch.compile(package('engine.fast').accelerate(copy.deepcopy(model)), dynamic=True)
    losses = package('train.losses').CrossEntropyCompute(compiled.generator, smoothing=.1)
    ways = {'ours, bf16': lambda: bench.contender(bench.STEPS['bf16'], model),
            'ours, bf16, compiled': lambda: bench.trainer(compiled, losses, package('train.optimizers').adam(compiled, 1e-4), True),
            'nn.Transformer, bf16': lambda: bench.library_contender(model, bf16=True)}
    if not GPU: del ways['ours, bf16, compiled'] # minutes on a processor
    rows = []
    for way, make in ways.items():
        try:
            step = make()
            taken = seconds(lambda step=step: [step(batch) for batch in work.batches], 3)
            rows.append(dict(way=way, tokens_per_s=round(tokens / taken), mib=memory()))
        except Exception as e: rows.append(dict(way=way, error=f'{type(e).__name__}: {e}'[:200]))
    return rows

def sharded():
    "A run of one epoch whose model is sharded over one rank (FSDP), as `torchrun` starts it."
    with tempfile.TemporaryDirectory() as home:
        pairs = Path(home)/'pairs.tsv'
        pairs.write_text('ein Hund\ta dog\neine Katze\ta cat\nein Haus\ta house\n' * 200)
        command = [sys.executable, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', '1', '--no-python', 'at-train',
                   '--data', str(pairs), '--preset', 'tiny', '--epochs', '1', '--vocab', '300', '--set', 'N=1', '--shard',
                   '--device', DEVICE, '--out', f'{home}/run']
        start = perf_counter()
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode: raise RuntimeError(reason(run.stderr))
        return [dict(seconds=round(perf_counter() - start, 1), files=len(list(Path(f'{home}/run').rglob('*'))))]

PARTS = dict(equal=equal, graphs=graphs, peers=peers, training=training, sharded=sharded)

# ---- all parts

def run_part(name):
    "Run a part in a process of its own; its rows, or why it has none."
    start = perf_counter()
    try: run = subprocess.run([sys.executable, __file__, '--part', name], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired: return dict(error=f'more than {LIMIT} s', seconds=LIMIT)
    taken = dict(seconds=round(perf_counter() - start, 1))
    if run.returncode: return dict(error=reason(run.stderr)) | taken
    rows = json.loads(run.stdout.splitlines()[-1])
    errors = [row['error'] for row in rows if 'error' in row]
    return dict(rows=rows) | (dict(error=f'{len(errors)} of {len(rows)} rows: {errors[0]}') if errors else {}) | taken

def main(*names):
    if names[:1] == ('--part',): return print(json.dumps(PARTS[names[1]]()))
    unknown = [name for name in names if name not in PARTS]
    if unknown: sys.exit(f'{unknown[0]} is no part: choose from {", ".join(PARTS)}')
    results = {}
    for name in names or PARTS:
        results[name] = run_part(name)
        print(f"{name}: {results[name].get('error') or 'passed'} ({results[name]['seconds']} s)", flush=True)
        for row in results[name].get('rows', []): print('   ', *(f'{key}={value}' for key, value in row.items()), flush=True)
    failed = [name for name, result in results.items() if 'error' in result]
    if GPU:
        record = dict(command='python .ci/gpu.py', hardware=package('train.hardware').hardware(DEVICE), torch=torch.__version__, parts=results)
        (ROOT/'nbs'/'results'/'gpu.json').write_text(json.dumps(record, indent=1) + '\n')
    else: print('No GPU: the parts ran in small on the processor and nothing was recorded. Not run: CUDA graphs, compiled training, memory of the GPU, NCCL.')
    sys.exit(bool(failed))

if __name__ == '__main__': main(*sys.argv[1:])
