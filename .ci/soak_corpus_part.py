"""The part `corpus` of soak.py: a corpus larger than one would keep in lists.

100,000 and n pairs of random ids are stored and trained on, each in a process of its own, which is started twice: the first start
stores, the second finds the store. What counts is the anonymous memory of the second process, in which nothing was written, over the
updates after the first quarter; the same of a process that walks through a whole epoch of batches, shard after shard; and how long it takes until the first batch is there, from the start of the process."""
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

CORPUS_CHILD = r'''
import json, os, sys, time
from pathlib import Path
job = json.loads(sys.argv[1])
began = job['began']
import numpy as np, torch
from annotated_transformer.config import TrainingConfig
from annotated_transformer.model import make_model
from annotated_transformer.shards import ShardedBatches, store_pairs
from annotated_transformer.training import Stopped, fit
torch.set_num_threads(1)

def anonymous(): return int(next(line for line in Path('/proc/self/status').read_text().splitlines() if line.startswith('RssAnon')).split()[1])

def made_up(n, seed, chunk=10_000):
    'n pairs of 5 to 25 ids a side, a chunk at a time'
    for number in range(0, n, chunk):
        dice = np.random.default_rng([seed, number])
        sizes = dice.integers(5, 26, 2 * min(chunk, n - number))
        ids, ends = dice.integers(4, 500, sizes.sum()).tolist(), [0, *sizes.cumsum().tolist()]
        for i in range(0, len(sizes), 2): yield ids[ends[i]:ends[i + 1]], ids[ends[i + 1]:ends[i + 2]]

pairs = store_pairs(made_up(job['pairs'], job['seed']), job['folder'], about=[job['pairs'], job['seed']], progress=False)
opened = time.time() - began
data = ShardedBatches(pairs, max_tokens=2_000, seed=0)
next(data.epoch())
report = dict(opened=round(opened, 2), first_batch=round(time.time() - began, 2), cpu=round(time.process_time(), 2))

if job['updates']:
    torch.manual_seed(0)
    model, memory = make_model(500, 500, N=1, d_model=16, d_ff=32, h=2, tie='all'), []
    class Watched(ShardedBatches):
        'Notes the memory at each batch, and ends the training after so many'
        def epoch(self, epoch=0, start=0):
            for batch in super().epoch(epoch, start):
                memory.append(anonymous())
                if len(memory) > job['updates']: raise Stopped([], False)
                yield batch
    try: fit(model, Watched(pairs, 2_000, 0), None, TrainingConfig(epochs=100, max_tokens=2_000, warmup=100, precision='fp32'), device='cpu', progress=False)
    except Stopped: pass
    report |= dict(updates=len(memory) - 1, memory_kB=memory, shards_seen=len(pairs.compared))

if job['walk']: # an epoch of batches without a model
    walked, seen, began = [], 0, time.time()
    for batch in data.epoch(1):
        seen += batch.npairs
        walked.append(anonymous())
    assert seen == len(pairs)
    report |= dict(walked_kB=walked[::max(1, len(walked) // 400)], pairs_per_second=round(seen / (time.time() - began)))
print(json.dumps(report))
'''

def corpus_child(folder, pairs, seed, updates, walk):
    job = json.dumps(dict(began=time.time(), folder=str(folder), pairs=pairs, seed=seed, updates=updates, walk=walk))
    done = subprocess.run([sys.executable, '-c', CORPUS_CHILD, job], capture_output=True, text=True, env=os.environ | dict(OMP_NUM_THREADS='1'))
    if done.returncode: sys.exit(f'the training from {pairs:,} stored pairs ended with {done.returncode}: {done.stderr[-2000:]}')
    return json.loads(done.stdout)

def stored_corpus(n, seed, work, minutes, small=100_000, updates=1000):
    "n is the size of the larger corpus"
    found = {}
    for pairs in (small, n):
        folder = work/f'{pairs} pairs'
        first = corpus_child(folder, pairs, seed, 0, False)
        second = corpus_child(folder, pairs, seed, updates, False)
        walk = corpus_child(folder, pairs, seed, 0, True)
        settled = second['memory_kB'][updates // 4:]
        passed = walk['walked_kB'][len(walk['walked_kB']) // 4:]
        found[f'{pairs:,} pairs'] = dict(
            bytes=sum(file.stat().st_size for file in folder.iterdir()), stored_in_s=first['opened'], first_batch_s=[first['first_batch'], second['first_batch']], first_batch_cpu_s=[first['cpu'], second['cpu']],
            updates=second['updates'], shards_seen=second['shards_seen'], memory_kB=round(statistics.median(settled)), memory_span_kB=[min(settled), max(settled)],
            epoch_memory_kB=round(statistics.median(passed)), epoch_memory_span_kB=[min(passed), max(passed)], pairs_per_second=walk['pairs_per_second'])
        print(pairs, found[f'{pairs:,} pairs'], flush=True)
    little, much = found.values()
    ratios = dict(memory_ratio=round(much['memory_kB'] / little['memory_kB'], 4), epoch_memory_ratio=round(much['epoch_memory_kB'] / little['epoch_memory_kB'], 4))
    failed = [f'{name} {ratio}' for name, ratio in ratios.items() if abs(ratio - 1) > .05] + [f'first batch after {late} s' for late in [much['first_batch_s'][1]] if late >= 10]
    return ratios | dict(first_batch_second_start_s=much['first_batch_s'][1], corpora=found, failed=failed)

if __name__ == '__main__': # until it is part of soak.py
    work = Path(sys.argv[2]); work.mkdir(parents=True, exist_ok=True)
    print(json.dumps(stored_corpus(int(sys.argv[1]), 0, work, 0), indent=1))
