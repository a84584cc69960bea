"""The long forms of the endurance checks, `make soak`. Each part can be run alone, and keeps its figures in nbs/results/soak.json:

    python .ci/soak.py damage --n 500     # damaged checkpoints: refused, nothing executed, the one before used
    python .ci/soak.py full --n 20        # sizes at which the disk is full during a save
    python .ci/soak.py crash              # a training ended at every one of its file-system calls
    python .ci/soak.py modes --n 5        # trainings of every mode, each ended as many times at random updates and resumed: equal to the bit
    python .ci/soak.py kill --n 50        # SIGKILL at random moments of `at-train`, and in its saves; goes on where it was stopped
    python .ci/soak.py rank --n 50        # the same with two processes under torchrun, one of which is killed and comes back, or both with their launcher
    python .ci/soak.py store --n 5000000  # at-train --cache_dir with as many pairs: its memory, beside that with 100,000
    python .ci/soak.py start --n 5000000  # how soon such a training begins, once the store is there
    python .ci/soak.py shards --n 500000  # the same in small, without texts and models
    python .ci/soak.py race               # two processes with one thread each beside one with two
    python .ci/soak.py fuzz --n 10000     # made-up inputs to tokenizers, readers, configurations and commands
    python .ci/soak.py loop --minutes 60  # train, evaluate, resume, again and again: memory, handles, disk
    python .ci/soak.py quick              # all of them in short, keeps no figures; the short form of store and start is shards, that of race is in 37_distributed

The faults themselves are in faults.py."""
import argparse
import contextlib
import ctypes
import gc
import io
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
RECORD, WORK = ROOT/'nbs/results/soak.json', ROOT/'build/soak'
os.environ |= dict(OMP_NUM_THREADS='1', TOKENIZERS_PARALLELISM='false') # equal bits are promised for equal numbers of threads

# ---- checkpoints

def damage(n, seed, work, minutes):
    "Ends at the first damage that is not rejected by name, runs anything, or is not followed by the use of the checkpoint before it"
    import faults
    sys.addaudithook(faults.note_act)
    kinds = faults.check_all_damage(n, seed, work)
    return dict(damages=n, rejected=sum(kinds.values()), executed=len(faults.acts), previous_used=faults.previous_used[0], kinds=kinds)

def full(n, seed, work, minutes):
    import faults
    return faults.full_disk(n, work/'run') | dict(saves=2 * n)

# ---- trainings that are stopped

def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder

def litter(folder):
    "What is only there during a save; os.walk passes over a folder that another process has just moved, Path.rglob would not"
    found = (Path(at)/name for at, folders, files in os.walk(folder) for name in folders + files if name.startswith('.') and not name.endswith('.lock'))
    return sorted(str(path.relative_to(folder)) for path in found)

def train_in(folder, epochs=3):
    "What at-train does, for a few sentences: train, or go on; save; the fingerprint of the weights"
    import torch

    from annotated_transformer.config import TrainingConfig, TransformerConfig
    from annotated_transformer.data.pocket import pocket_pairs
    from annotated_transformer.files import file_hash
    from annotated_transformer.inference.translator import Translator
    torch.set_num_threads(1)
    pairs = [(p.src, p.tgt) for p in pocket_pairs(24, seed=5)]
    model, how = TransformerConfig(N=1, d_model=16, d_ff=32, h=2, tie='all'), TrainingConfig(epochs=epochs, max_tokens=200, warmup_steps=10, average_checkpoints=2)
    translator = Translator.fit(pairs, pairs[:4], model, how, vocab_size=300, out=folder/'model-training', resume=True, save_every=2, device='cpu', progress=False)
    return file_hash(translator.save_pretrained(folder/'model')/'model.safetensors')

def end_before(n, folder, note, events):
    """The process ends before file-system call number n inside the folder, as in a power cut; a file opened for writing counts twice, as it is then there and empty.
    If n is None it goes on, and notes the path of every call"""
    left, me, inside = [-1 if n is None else n], threading.get_ident(), str(folder)
    import safetensors.torch
    save_file, fsync = safetensors.torch.save_file, os.fsync
    def save_in_two(tensors, path, *args, **kwargs): # the library's own writing is announced too, and can end half way
        sys.audit('save_file', str(path))
        if left[0] == 0: Path(path).write_bytes(bytes(100))
        sys.audit('save_file', str(path))
        save_file(tensors, path, *args, **kwargs)
    def announced(fd):
        sys.audit('fsync', os.readlink(f'/proc/self/fd/{fd}'))
        fsync(fd)
    def watch(event, args):
        if (left[0] < 0 and n is not None) or event not in events or threading.get_ident() != me: return
        if not str(args[0]).startswith(inside) and os.path.isabs(str(args[0])): return # what is relative lies in a folder that rmtree holds open
        writes = event == 'open' and args[2] & (os.O_WRONLY | os.O_RDWR)
        if n is None: os.write(note, f'{args[0]}\n'.encode() * (2 if writes else 1)); return
        if left[0] == 0 or writes and left[0] == 1:
            after, left[0] = left[0] == 1, -1
            if after and os.path.isabs(str(args[0])): os.open(args[0], args[2], 0o666)
            os.write(note, f"{event}{'ed' * after} {Path(str(args[0])).name}".encode())
            os._exit(99)
        left[0] -= 2 if writes else 1
    safetensors.torch.save_file, os.fsync = save_in_two, announced
    sys.addaudithook(watch)

def in_child(work):
    "Run work(note) in a copy of this process: its status, and what it noted"
    read, note = os.pipe()
    if (child := os.fork()) == 0:
        try: work(note); os._exit(0)
        except BaseException as e:
            os.write(note, f'{type(e).__name__}: {e}'.encode()[:2000])
            os._exit(1)
    os.close(note)
    with open(read, 'rb') as f: said = f.read().decode(errors='replace')
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said

def crash(n, seed, work, minutes):
    "n is the distance between the points: 1 is every call; the calls of one save, and of a swap with an older one, are all there anyway"
    import filelock
    import safetensors.torch
    import tokenizers
    import torch._dynamo
    import tqdm

    import annotated_transformer.all  # once, in the parent: a child is there at once
    import annotated_transformer.inference.translator
    digest = lambda folder: in_child(lambda note: os.write(note, train_in(folder).encode()))
    status, target = digest(fresh(work/'whole'))
    if status: sys.exit(f'the training itself fails: {target}')
    failed, events = [], Counter()
    from faults import FILE_EVENTS as watched
    folder = fresh(work/'cut')
    def noted(note): end_before(None, folder, note, watched); train_in(folder)
    status, calls = in_child(noted)
    if status: sys.exit(f'the training itself fails: {calls[-2000:]}')
    calls = calls.splitlines()
    of_save = [i for i, path in enumerate(calls) if 'epoch-002' in path]
    of_save = range(of_save[0], next(i for i in of_save if i + 1 not in of_save) + 2) # the last flushes the folder around it
    old = [i for i, path in enumerate(calls) if path.endswith('/.unfinished.old')] # the first two: an older save that a newer one has replaced is listed, and is gone
    moved = next(i for i in reversed(range(old[0])) if calls[i].endswith('/unfinished'))
    of_swap = range(moved, old[1] + 2)
    of_picture = [i for i, path in enumerate(calls) if path.endswith('run.svg.new')][-6:] # after the last epoch nothing draws it again
    every = 1 if n == 1 else 2 # the short form takes every second call of a save and of a swap
    for point in sorted({*range(0, len(calls), n), *of_save[::every], *of_swap[::every], *of_picture}):
        folder = fresh(work/'cut')
        def stopped(note): end_before(point, folder, note, watched); train_in(folder)
        status, at = in_child(stopped)
        if status != 99: failed.append(dict(point=point, at='', error=at or 'no such call')); continue
        status, found = digest(folder)
        if status or found != target or litter(folder): failed.append(dict(point=point, at=at, error=found if status else f'other weights, or litter {litter(folder)}'))
        events[at.split()[0]] += 1
    return dict(points=sum(events.values()), identical=sum(events.values()) - len(failed), of_one_save=len(of_save), of_one_swap=len(of_swap), calls=dict(events), failed=failed)

# ---- every mode of a training

MODES = dict( # name -> settings of the model, of the training, options of Translator.fit; mix, pieces: with a start
    paper=({}, {}, {}),
    modern=(dict(norm='rms', ffn='swiglu', qk_norm=True, bias=False, positions='rotary'), dict(optimizer='muon', schedule='cosine'), {}),
    grouped=(dict(kv_heads=1, ffn='gelu'), dict(schedule='inverse_sqrt', accum_iter=2), {}),
    moving_average=({}, dict(ema_decay=.9), {}),
    inside_epochs=({}, dict(average_every=3, average_checkpoints=3), {}),
    recurrent=(dict(decoder='ssru'), {}, {}),
    guided=({}, dict(guided_alignment=.2), {}),
    rdrop=({}, dict(rdrop_alpha=1.), {}),
    bpe_dropout=({}, dict(bpe_dropout=.1), {}),
    patience=({}, dict(epochs=5), dict(patience=1, best=True)),
    best_bleu=({}, {}, dict(metric='bleu', best=True)),
    best_chrf=({}, dict(ema_decay=.9), dict(metric='chrf', best=True)),
    mean_or_last=({}, {}, dict(check_mean=True)),
    extended=({}, dict(schedule='cosine'), dict(extend=True)),
    on_disk=({}, {}, dict(cache_dir=True)),
    further=({}, {}, dict(start=True)),
    mixed=({}, {}, dict(start=True, old=True, mix=.3, fixed=['encoder'])),
    pieces=({}, {}, dict(start=True, old=True, mix=.2, new_pieces=20)))

def train_mode(mode, folder, parent):
    "Train in a mode, or go on; the fingerprint of the weights and the log without times"
    import torch

    from annotated_transformer.config import TrainingConfig, TransformerConfig
    from annotated_transformer.data.pocket import pocket_pairs
    from annotated_transformer.files import file_hash
    from annotated_transformer.inference.translator import Translator
    from annotated_transformer.train.checkpoints import epoch_folders
    torch.set_num_threads(1)
    old, pairs = ([(p.src, p.tgt) for p in pocket_pairs(24, seed=seed)] for seed in (4, 5))
    if parent is None: pairs = old # of the start
    model, settings, options = MODES[mode]
    model = TransformerConfig(**dict(N=1, d_model=16, d_ff=32, h=2, tie='all') | model)
    settings = dict(epochs=3, max_tokens=200, warmup_steps=10, average_checkpoints=2) | settings
    options = dict(options)
    if options.pop('start', None): options['start'], model = parent, None
    if options.pop('old', None): options['old'] = old
    if options.pop('cache_dir', None): options['cache_dir'] = folder/'pairs'
    place = folder/'model-training'
    def train(options, **more):
        return Translator.fit(pairs, pairs[:4], model, TrainingConfig(**settings | more), vocab_size=None if 'start' in options else 300, out=place, resume=True, save_every=2, device='cpu', progress=False, **options)
    if options.pop('extend', None):
        if not place.is_dir() or len(epoch_folders(place)) == 0 or not (folder/'first').exists():
            train(options, epochs=2)
            (folder/'first').touch()
        options['extend'] = True
    translator = train(options)
    rows = [{name: value for name, value in row.items() if name not in ('seconds', 'tokens_per_s')} for row in translator.history]
    return file_hash(translator.save_pretrained(folder/'model')/'model.safetensors') + json.dumps(rows)

def modes(n, seed, work, minutes):
    "Each mode once as a whole, then n times with an end before the update of a random number"
    import annotated_transformer.all  # once, in the parent
    from annotated_transformer.inference.translator import Translator
    from annotated_transformer.train import training
    dice, failed, ends = random.Random(seed), [], Counter()
    def digest(mode, folder, parent): return in_child(lambda note: write_all(note, train_mode(mode, folder, parent).encode()))
    status, _ = in_child(lambda note: train_mode('paper', fresh(work/'parent'), None))
    if status: sys.exit('the training of the start fails')
    parent = work/'parent'/'model'
    def ended(mode, folder, update):
        usual, left = training._after_update, [update]
        def end(*args):
            if not left[0]: os._exit(99)
            left[0] -= 1
            usual(*args)
        training._after_update = end
        train_mode(mode, folder, parent)
    for mode in MODES:
        status, target = digest(mode, fresh(work/'whole'), parent)
        if status: failed.append(dict(mode=mode, error=target)); continue
        updates = json.loads(target[64:])[-1]['step']
        for _ in range(n):
            folder, update = fresh(work/'cut'), dice.randrange(updates)
            status, said = in_child(lambda note: ended(mode, folder, update))
            if status != 99: failed.append(dict(mode=mode, update=update, error=said or f'status {status}')); continue
            status, found = digest(mode, folder, parent)
            if status or found != target: failed.append(dict(mode=mode, update=update, error=found if status else 'other weights or another log'))
            ends[mode] += 1
    return dict(modes=len(MODES), ends=sum(ends.values()), identical=sum(ends.values()) - sum('update' in row for row in failed), failed=failed)

def write_all(note, data):
    "A pipe takes a part of a long text only"
    with os.fdopen(os.dup(note), 'wb') as file: file.write(data)

# ---- and killed, as commands

def pocket_file(path):
    from annotated_transformer.data.pocket import pocket_pairs
    path.write_text(''.join(f'{p.src}\t{p.tgt}\n' for p in pocket_pairs(600, seed=7)))
    return path

def at_train(data, out, resume, processes=1):
    small = 'N=1 d_model=32 d_ff=64 h=2 dropout=0.1 max_tokens=500 warmup_steps=40 average_checkpoints=3 save_every=7 accum_iter=2'
    command = [Path(sys.executable).parent/'at-train', '--data', data, '--out', out, '--set', small, '--epochs', '12', '--vocab', '400', '--show', '0', '--device', 'cpu', *(['--resume'] if resume else [])]
    launch = [sys.executable, '-m', 'torch.distributed.run', '--nproc-per-node', processes, '--max-restarts', 9, '--rdzv-backend', 'c10d', '--rdzv-endpoint', 'localhost:0', '--no-python'] if processes > 1 else []
    return subprocess.Popen([str(word) for word in (*launch, *command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | dict(TORCH_DISABLE_SHARE_RDZV_TCP_STORE='1'))

def finished(process):
    out, err = process.communicate()
    if process.returncode: sys.exit(f'at-train ended with {process.returncode}: {err[-2000:]}')
    return out

def newest(folder):
    "Number of the last whole checkpoint of a training"
    from annotated_transformer.train.checkpoints import checkpoints
    return max((int(p.name[6:]) for p in checkpoints(folder/'model-training')), default=0) if (folder/'model-training').is_dir() else 0

def phase(folder, began):
    "What a training was doing that began then and has just been killed"
    def since(paths):
        for path in paths: # which another process may be taking away
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime > began: return True
    if since(folder/name for name in litter(folder)): return 'save'
    return 'training' if since(p for p in (folder/'model-training').rglob('*') if p.is_file() and p.name != '.lock') else 'start'

def state(pid):
    "As in /proc: R runs, S sleeps, T stands still, Z is dead"
    try: return Path(f'/proc/{pid}/stat').read_text().split(')')[1].split()[0]
    except OSError: return 'Z'

@contextlib.contextmanager
def held(pids):
    "These processes stand still: what a folder shows is what they were doing"
    def tell(what):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError): os.kill(pid, what)
    tell(signal.SIGSTOP)
    while any(state(pid) not in 'TZ' for pid in pids): time.sleep(.0002)
    try: yield
    finally: tell(signal.SIGCONT)

def strike_in_save(process, writers, folder, number, strike):
    "Call strike in the middle of the save of this number, or of one soon after it, if there are so many"
    saves, inside = -1, False
    while process.poll() is None:
        before, inside = inside, bool(litter(folder))
        saves += inside and not before
        if inside and saves >= number:
            with held(writers()):
                if litter(folder): return strike()
        time.sleep(.0002)

def killed_run(number, data, folder, target, dice, length):
    "Kill one training at least once, the first time in a save in a third of the runs, and let it end; what has to be true of it"
    from annotated_transformer.files import file_hash
    phases, lost = [], 0
    while True:
        process, began = at_train(data, folder/'model', resume=bool(phases)), time.time()
        if phases and dice.random() < .6: finished(process); break # the others are killed again
        if not phases and number % 3 == 0: killer = threading.Thread(target=strike_in_save, args=(process, lambda: [process.pid], folder, dice.randrange(12), process.kill))
        else: killer = threading.Timer(dice.uniform(0, length), process.kill)
        killer.start()
        out, err = process.communicate()
        if isinstance(killer, threading.Timer): killer.cancel()
        killer.join()
        if process.returncode == 0 and phases: break
        if process.returncode == 0: fresh(folder); continue # too late
        if process.returncode != -signal.SIGKILL: return dict(number=number, kills=len(phases), phases=phases, error=f'status {process.returncode}: {err[-1000:]}')
        phases.append(phase(folder, began))
        told = max((int(line.split()[1].rstrip(':')) for line in out.splitlines() if line.startswith('epoch ')), default=0)
        lost += max(0, told - newest(folder))
    return dict(number=number, kills=len(phases), phases=phases, lost=lost, same=file_hash(folder/'model/model.safetensors') == target, litter=litter(folder))

def kill(n, seed, work, minutes):
    from annotated_transformer.files import file_hash
    data, progress = pocket_file(work/'corpus.tsv'), work/'progress.json'
    began = time.time()
    finished(at_train(data, fresh(work/'whole')/'model', False))
    length, target = time.time() - began, file_hash(work/'whole/model/model.safetensors')
    runs = repeated(n, seed, target, progress, lambda number, dice: killed_run(number, data, fresh(work/'killed'), target, dice, length))
    return judged(runs)

def repeated(n, seed, target, progress, run):
    "n runs, each with dice of its own; what an earlier start has done stands in a file"
    done = json.loads(progress.read_text()) if progress.exists() else {}
    if done.get('target') != [target, seed]: done = dict(target=[target, seed], runs=[])
    while len(done['runs']) < n:
        number = len(done['runs'])
        done['runs'].append(run(number, random.Random(f'{seed} {number}')))
        progress.write_text(json.dumps(done))
        print(done['runs'][-1], flush=True)
    return done['runs'][:n]

def judged(runs):
    good = [run for run in runs if run.get('same') and not run.get('lost') and not run['litter']]
    total, first = lambda what: sum(run.get(what, 0) for run in runs), Counter(run['phases'][0] for run in runs if run['phases'])
    failed = [run for run in runs if run not in good] + [dict(error='no kill struck a save')] * (not first['save'])
    return dict(runs=len(runs), kills=total('kills'), first_kills=dict(first), identical=total('same'), unfinished=sum('error' in run for run in runs), checkpoints_lost=total('lost'), failed=failed)

def children(pid):
    try: return [int(child) for child in Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]
    except OSError: return []

def bereaved_run(number, data, folder, target, dice, length):
    """Kill one of two processes, whom the launcher starts anew: in a save, or at a random moment and again in a third of the runs.
    Or kill both and the launcher, as when a machine is lost, and give the command again"""
    from annotated_transformer.files import file_hash
    process, phases, lost, given_up, began = at_train(data, folder/'model', True, 2), [], 0, threading.Event(), time.time()
    def struck(pid, kill):
        nonlocal lost, began
        there = newest(folder)
        kill(pid)
        phases.append(phase(folder, began) + ' of all' * (kill is all_three))
        lost += max(0, there - newest(folder))
        began = time.time()
    def end(pid): os.kill(pid, signal.SIGKILL)
    def all_three(pid): # the launcher first, or it would start the others anew; they have sessions of their own
        ranks = children(pid)
        end(pid)
        for rank in ranks:
            with contextlib.suppress(ProcessLookupError): end(rank)
        while any(state(rank) != 'Z' for rank in ranks): time.sleep(.01)
    def one(): struck(dice.choice(children(process.pid) or [process.pid]), end)
    def strike():
        if number % 3 == 0: strike_in_save(process, lambda: children(process.pid), folder, dice.randrange(12), one)
        wanted = 1 if number % 3 == 0 or dice.random() < 2 / 3 else 2
        while len(phases) < wanted and not given_up.wait(dice.uniform(0, length)):
            if len(children(process.pid)) == 2: one() # else they have not begun, or are being started anew
    def lose_all():
        if not given_up.wait(dice.uniform(0, length)): struck(process.pid, all_three)
    killer = threading.Thread(target=lose_all if number % 3 == 2 else strike)
    killer.start()
    out, err = process.communicate()
    given_up.set(); killer.join()
    if process.returncode == -signal.SIGKILL and number % 3 == 2: _, err = (process := at_train(data, folder/'model', True, 2)).communicate()
    if process.returncode: return dict(number=number, kills=len(phases), phases=phases, error=f'status {process.returncode}: {err[-1000:]}')
    if not phases: return bereaved_run(number, data, fresh(folder), target, dice, length) # too late
    return dict(number=number, kills=len(phases), phases=phases, lost=lost, same=file_hash(folder/'model/model.safetensors') == target, litter=litter(folder))

def rank(n, seed, work, minutes):
    from annotated_transformer.files import file_hash
    data, progress = pocket_file(work/'corpus.tsv'), work/'progress.json'
    began = time.time()
    finished(at_train(data, fresh(work/'whole')/'model', True, 2))
    length, target = time.time() - began, file_hash(work/'whole/model/model.safetensors')
    runs = repeated(n, seed, target, progress, lambda number, dice: bereaved_run(number, data, fresh(work/'bereaved'), target, dice, length))
    return judged(runs)

def race(n, seed, work, minutes):
    "The cells of 37_distributed that measure, and keep results/distributed.json"
    record, threads = ROOT/'nbs/results/distributed.json', os.environ.pop('OMP_NUM_THREADS')
    before = record.stat().st_mtime_ns
    done = subprocess.run([Path(sys.executable).parent/'nbdev_test', '--path', ROOT/'nbs/37_distributed.ipynb'], env=os.environ | dict(RUN_LONG='1'), capture_output=True, text=True)
    os.environ['OMP_NUM_THREADS'] = threads
    if done.returncode or record.stat().st_mtime_ns == before: sys.exit(f'37_distributed failed, or measured nothing: {(done.stdout + done.stderr)[-2000:]}')
    found = json.loads(record.read_text())
    return dict(ratio=found['ratio'], communication=found['communication'], failed=[] if found['ratio'] >= 1 else [f"two processes reach {found['ratio']} of one"])

# ---- a corpus larger than one would keep in lists

def anonymous(pid='self'):
    "Memory that a process has asked for, in kB, without the files it has mapped"
    return int(next(line for line in Path(f'/proc/{pid}/status').read_text().splitlines() if line.startswith('RssAnon')).split()[1])

def made_up_texts(n, path, seed, chunk=10_000):
    "n pairs of 5 to 25 words a side, which are drawn from 500"
    import numpy as np
    letters = random.Random(0)
    words = np.array([''.join(letters.choices('abcdefghijklmnopqrstuvwxyz', k=letters.randint(2, 5))) for _ in range(500)])
    with open(path, 'w') as file:
        for number in range(0, n, chunk):
            dice = np.random.default_rng([seed, number])
            sizes = dice.integers(5, 26, 2 * min(chunk, n - number))
            drawn, ends = words[dice.integers(0, 500, sizes.sum())].tolist(), [0, *sizes.cumsum().tolist()]
            sides = [' '.join(drawn[a:b]) for a, b in zip(ends, ends[1:])]
            file.writelines(f'{src}\t{tgt}\n' for src, tgt in zip(sides[::2], sides[1::2]))

def to_be_stored(n, seed, work):
    "A folder of texts with n pairs to train on, and a place for their store, where nothing is"
    folder, place = fresh(work/f'{n} pairs'), work/f'{n} stored'
    shutil.rmtree(place, ignore_errors=True)
    for part, size in dict(train=n, valid=100, test=100).items(): made_up_texts(size, folder/f"{part}.tsv", seed + len(part))
    return folder, place

def followed(data, store, out, work, epochs):
    "So many epochs of at-train from a store, or with none the first 5 seconds of one: seconds to the first save, after five updates, and to the end; memory while it trains, and at its highest"
    how = 'N=1 d_model=16 d_ff=32 h=2 max_tokens=20000 warmup_steps=100 average_checkpoints=1 save_every=5 precision=fp32'
    command = [Path(sys.executable).parent/'at-train', '--data', data, '--cache_dir', store, '--out', out, '--epochs', epochs or 1, '--vocab', '1000', '--show', '0', '--device', 'cpu', '--set', how]
    began, first, held, training, asked = time.time(), None, [], out.with_name(f'{out.name}-training'), False
    said = tempfile.TemporaryFile('w+')
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=said, text=True, env=os.environ | dict(HF_DATASETS_CACHE=str(work/'cache'), HF_DATASETS_DISABLE_PROGRESS_BARS='1'))
    highest = 0
    while process.poll() is None:
        with contextlib.suppress(OSError, StopIteration): highest = max(highest, now := anonymous(process.pid))
        if first is None and (training/'unfinished').exists(): first = time.time() - began
        if first: held.append(now)
        if first and not (epochs or asked) and time.time() - began > first + 5: process.terminate(); asked = True # one signal: a second would end it at once
        time.sleep(.02)
    said.seek(0)
    if process.returncode != (143 if asked else 0) or not held: sys.exit(f'at-train --cache_dir ended with {process.returncode}: {said.read()[-2000:]}')
    settled = held[len(held) // 4:]
    return dict(first_save_s=round(first, 2), seconds=round(time.time() - began), memory_kB=round(statistics.median(settled)), memory_span_kB=[min(settled), max(settled)], highest_kB=highest)

def store(n, seed, work, minutes, small=100_000):
    "n is the size of the larger corpus; for each a training is begun, which makes the store, and another one finds it and goes through a whole epoch of the larger, and through as many updates of the smaller"
    found = {}
    for pairs in (small, n):
        folder, place = to_be_stored(pairs, seed, work)
        first, second = (followed(folder, place, work/f'{pairs} {time}'/'model', work, n // pairs if time == 'second' else 0) for time in ('first', 'second'))
        size = lambda path: sum(file.stat().st_size for file in path.rglob('*') if file.is_file())
        found[f'{pairs:,} pairs'] = dict(text_bytes=size(folder), store_bytes=size(place), shards=len([*place.glob('*.arrow')]), first=first, second=second)
        print(pairs, found[f'{pairs:,} pairs'], flush=True)
    little, much = found.values()
    ratios = {f'{time}_start_memory_ratio': round(much[time]['memory_kB'] / little[time]['memory_kB'], 4) for time in ('first', 'second')}
    highest = max(much[time]['highest_kB'] for time in ('first', 'second'))
    failed = [f'{name} {ratio}' for name, ratio in ratios.items() if abs(ratio - 1) > .05] + [f'{highest} kB at the highest'] * (highest > 2 * little['second']['highest_kB'])
    return ratios | dict(pairs=n, corpora=found, failed=failed)

def start(n, seed, work, minutes):
    "How long it takes a training to its first save, after five updates, when it makes the store and when it finds it, which is timed three times; for a machine that does nothing else"
    folder, place = to_be_stored(n, seed, work)
    first, *others = (followed(folder, place, work/f'start {i}'/'model', work, 0)['first_save_s'] for i in range(4))
    return dict(pairs=n, first_start_s=first, second_starts_s=others, failed=[f'five updates after {statistics.median(others)} s'] * (statistics.median(others) >= 10))

def walk_through(n, seed, folder, shard):
    "One epoch of batches from n stored pairs: the memory it takes, beside the bytes of the store"
    import numpy as np

    from annotated_transformer.data.shards import ShardedBatches, store_pairs
    def made_up():
        for number in range(0, n, shard):
            dice = np.random.default_rng([seed, number])
            sizes = dice.integers(5, 26, 2 * shard)
            ids, ends = dice.integers(4, 500, sizes.sum()).tolist(), [0, *sizes.cumsum().tolist()]
            for i in range(0, len(sizes), 2): yield ids[ends[i]:ends[i + 1]], ids[ends[i + 1]:ends[i + 2]]
    before = anonymous() # a copy of a process that has done other things has their memory, too
    pairs = store_pairs(made_up(), fresh(folder), [n, seed], shard, progress=False)
    memory = [anonymous() - before for _ in ShardedBatches(pairs, 2_000, 0).epoch()]
    return dict(pairs=n, shards=len(pairs.checked), store_kB=sum(p.stat().st_size for p in folder.iterdir()) // 1000, memory_kB=statistics.median(memory[len(memory) // 4:]))

def shards(n, seed, work, minutes):
    "The same in small, without texts and models: n pairs in twenty shards, beside two of those shards; what a store has more may not be in memory"
    found = []
    for pairs in (n // 10, n):
        status, said = in_child(lambda note: os.write(note, json.dumps(walk_through(pairs, seed, work/f'{pairs}', n // 20)).encode()))
        if status: sys.exit(f'the epoch from {pairs:,} stored pairs failed: {said}')
        found.append(json.loads(said))
    share = round((found[1]['memory_kB'] - found[0]['memory_kB']) / (found[1]['store_kB'] - found[0]['store_kB']), 3)
    return dict(share_in_memory=share, corpora=found, failed=[f'{share} of what the larger store has more is in memory'] * (share > .5))

# ---- made-up inputs

class Hang(BaseException): 'An input took longer than it may'

@contextlib.contextmanager
def in_time(seconds=60):
    def late(*args): raise Hang(f'no answer in {seconds} s')
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try: yield
    finally: signal.alarm(0); signal.signal(signal.SIGALRM, before)

def one_sentence(error):
    said = str(error)
    assert said and '\n' not in said and len(said) < 2000, said

def drawn(n, seed, *strategies):
    "As a decorator: call with n drawn examples, each in time; how many there were"
    import hypothesis.strategies
    def run(check):
        seen = Counter()
        @hypothesis.seed(seed)
        @hypothesis.settings(max_examples=n, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(hypothesis.strategies.tuples(*strategies))
        def timed(drawn):
            with in_time(): seen[check(*drawn)] += 1
        timed()
        return seen
    return run

def texts(n, seed, work):
    import faults
    from annotated_transformer.data.bpe import SubwordTokenizer
    from annotated_transformer.data.words import WordTokenizer
    german, english = map(list, zip(*faults.sentences(400, seed=1)))
    with in_time(120): return Counter(answered=faults.fuzz_texts(n, seed, WordTokenizer.train(german, 'de'), SubwordTokenizer.train(german + english, 500))['lists'])

def files(n, seed, work):
    import faults
    with in_time(120): return faults.fuzz_files(n, seed, work/'files')

def settings(n, seed, work):
    from dataclasses import fields

    from hypothesis import strategies as st

    from annotated_transformer.config import TrainingConfig, TransformerConfig, from_json, to_json
    from annotated_transformer.inference.model_folder import read_config
    from annotated_transformer.train.recipes import read_settings
    kinds = (TransformerConfig, TrainingConfig)
    names = [f.name for kind in kinds for f in fields(kind)]
    value = st.one_of(st.none(), st.booleans(), st.integers(), st.integers(-2, 600), st.floats(), st.floats(0, 1), st.text(max_size=8), st.sampled_from(['all', 'none', 'decoder', 'fp32', 'adam', 'cosine', 10**400, [], {}, [1]]))
    given = st.dictionaries(st.one_of(st.sampled_from(names), st.text(max_size=6)), value, max_size=4)
    junk = st.one_of(st.text(max_size=40), st.sampled_from(['[' * 5000, '{"N": 1, "N": 2}', '{"N": NaN}', '1' * 6000, '\ud800', '{"a":' * 3000, 'null', '[]']))
    def check(kind, settings, raw, mode):
        text = raw if mode == 'raw' else json.dumps(settings)
        if mode == 'words': text = ' '.join(f'{name}={value}' for name, value in settings.items())
        try:
            if mode == 'words':
                found = read_settings(text)
                assert set(found) <= set(names)
            elif mode == 'saved':
                (work/'config.json').write_text(json.dumps(dict(model=settings, joint=True, about={})))
                found = read_config(work)[0]
                assert all(getattr(found, name) == value for name, value in settings.items())
            else:
                found = from_json(text, kind)
                assert from_json(to_json(found), kind) == found and all(getattr(found, name) == value for name, value in json.loads(text).items())
        except (ValueError, TypeError) as e: one_sentence(e); return 'rejected'
        return 'answered'
    return drawn(n, seed, st.sampled_from(kinds), given, junk, st.sampled_from(['raw', 'json', 'saved', 'words']))(check)

VALUES = ['', '0', '1', '2', '-1', '1e9', 'nan', 'inf', '1.5', 'pocket', 'de-en', 'en-de', 'xx', 'tiny', 'base', 'bpe', 'words', 'fp32', 'cpu', 'cuda:7', 'abacus', '.', '/', '/proc/nowhere', '../..', '~', '*', 'a=b', 'N=0', 'd_model=7',
          'epochs=1', 'max_grad_norm=__import__("os")', '--', '-', '-h', '9' * 30, 'Emma', 'ü🚪', '\udcff', 'a\nb', 'x' * 3000]

class Reached(Exception): 'The arguments are good, and the work would begin'

def commands(n, seed, work):
    from inspect import signature

    import torch
    from hypothesis import strategies as st

    from annotated_transformer.cli import base, benchmarks as bench, evaluate, experiments, train, translate
    from annotated_transformer.inference.translator import Translator
    from annotated_transformer.lab import benchmarks, engines
    load, pocket, parsed = Translator.from_pretrained, Translator.from_pretrained('pocket'), []
    def reached(*args, **kwargs): raise Reached
    kept = base.parse_options
    def parse(*args): parsed.append(kept(*args)); return parsed[-1]
    functions = {'at-train': train.train, 'at-translate': translate.translate, 'at-evaluate': evaluate.evaluate, 'at-grid': experiments.grid, 'at-ablate': experiments.ablate, 'at-bench': bench.bench, 'at-bench-decoding': bench.bench_decoding}
    takes = {name: {option: p.annotation for option, p in signature(f).parameters.items()} for name, f in functions.items()}
    where = [(train, 'load_parts'), (evaluate, 'evaluate_translator'), (experiments, 'quality_grid'), (experiments, 'load_corpus'), (engines, 'comparison'), (engines, 'lengths_benchmark')]
    word = st.one_of(st.sampled_from(VALUES), st.text(st.characters(exclude_characters='\0'), max_size=6).filter(lambda s: not s.startswith('--p'))) # --pdb waits at a prompt
    fitting = {int: ['1', '2', '7'], float: ['0.5', '1', '2'], str: [word for word in VALUES if word and not word.startswith('-')]}
    def check(name, options, words, well_meant, typed):
        numbers, options = options, [[*takes[name]][i % len(takes[name])] for i in options]
        if well_meant:
            options = [option for option in options if takes[name][option] in fitting]
            words = [(some := fitting[takes[name][option]])[i % len(some)] for option, i in zip(options, numbers)]
        arguments = [w for option, word in zip(options, words) for w in (f'--{option}', word)] + words[len(options):]
        out, err = (io.TextIOWrapper(io.BytesIO(), 'utf-8', errors, write_through=True) for errors in ('strict', 'backslashreplace'))
        function = functions[name]
        parsed.clear()
        with patch.object(sys, 'argv', [name, *arguments]), patch.object(sys, 'stdin', io.TextIOWrapper(io.BytesIO(typed))), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try: base.run_command(function); status = 0
            except SystemExit as e: status = e.code or 0
            except Reached: status = 0
        said, answer = (stream.buffer.getvalue().decode('utf-8') for stream in (err, out))
        assert status in (0, 2) and 'Traceback' not in said, (status, said)
        if status == 2: assert 'error: ' in said, said
        given = dict(zip(options, words))
        if told := bool(parsed) and 0 < len(words) == len(options) and not any(word.startswith('-') for word in words): # nothing is lost or turned into something else
            assert {option: repr(parsed[0][option]) for option in given} == {option: repr(takes[name][option](word)) for option, word in given.items()}, (parsed, given)
        return ('rejected' if status else 'answered') + ', its options compared with what was typed' * told
    os.chdir(fresh(work/'here'))
    with contextlib.ExitStack() as held:
        for room, attribute in where: held.enter_context(patch.object(room, attribute, reached))
        held.enter_context(patch.object(benchmarks, 'steps_benchmark', reached))
        held.enter_context(patch.object(base, 'parse_options', parse))
        held.enter_context(patch.object(Translator, 'from_pretrained', lambda folder='pocket', device=None, engine='fast': pocket if folder == 'pocket' and device in (None, 'cpu') else load(folder, device)))
        held.callback(torch.set_num_threads, 1) # at-bench takes a number of threads
        return drawn(n, seed, st.sampled_from([*functions]), st.lists(st.integers(0, 99), max_size=4), st.lists(word, max_size=6), st.booleans(), st.one_of(st.binary(max_size=20), st.just(b'Emma\n')))(check)

def fuzz(n, seed, work, minutes):
    "A quarter of the inputs for each border, in portions with seeds of their own"
    progress, portion = work/f'progress-{n}-{seed}.json', 250
    done = json.loads(progress.read_text()) if progress.exists() else {}
    for border in (texts, files, settings, commands):
        for number, first in enumerate(range(0, n // 4, portion)):
            size = min(portion, n // 4 - first)
            key = f'{border.__name__} {seed} {number} {size}'
            if key not in done:
                try: done[key] = dict(border(size, seed * 1_000_003 + number, work))
                except (Exception, Hang) as e: done[key] = dict(failed=f'{type(e).__name__}: {e}'[:2000])
            progress.write_text(json.dumps(done))
            print(key, done[key], flush=True)
    failed = [dict(portion=key, error=found['failed']) for key, found in done.items() if 'failed' in found]
    total = {border.__name__: dict(sum((Counter(found) for key, found in done.items() if key.split()[0] == border.__name__ and 'failed' not in found), Counter())) for border in (texts, files, settings, commands)}
    return dict(planned=4 * (n // 4), inputs=sum(sum(found.values()) for found in total.values()), borders=total, failed=failed)

# ---- an hour of it

def standing_now(folder):
    "Anonymous memory in kB without what only the allocator keeps, open handles, threads, bytes on disk"
    gc.collect()
    trim = getattr(ctypes.CDLL(None), 'malloc_trim', None) # of the C library of GNU
    if trim: trim(0)
    status = dict(line.split(':', 1) for line in Path('/proc/self/status').read_text().splitlines() if ':' in line)
    return [int(status['RssAnon'].split()[0]), len(os.listdir('/proc/self/fd')), int(status['Threads']), sum(p.stat().st_size for p in folder.rglob('*') if p.is_file())]

def loop(n, seed, work, minutes):
    import torch

    from annotated_transformer.config import TrainingConfig, TransformerConfig
    from annotated_transformer.data.pocket import pocket_pairs
    from annotated_transformer.inference.translator import Translator
    torch.set_num_threads(1)
    pairs, folder, samples, began = [(p.src, p.tgt) for p in pocket_pairs(400, seed=seed)], fresh(work/'run'), [], time.time()
    while time.time() - began < 60 * minutes:
        if len(samples) % 10 == 0: shutil.rmtree(folder/'model-training', ignore_errors=True) # ten times two epochs, then a new run
        how = TrainingConfig(epochs=2 * (len(samples) % 10 + 1), max_tokens=1000, warmup_steps=40, average_checkpoints=3)
        translator = Translator.fit(pairs[:350], pairs[350:], TransformerConfig(N=1, d_model=64, d_ff=128, h=4, tie='all'), how, vocab_size=500, out=folder/'model-training', resume=True, device='cpu', progress=False)
        translator.save_pretrained(folder/'model')
        Translator.from_pretrained(folder/'model', 'cpu').evaluate(pairs[350:])
        samples.append(standing_now(folder))
        print(f'{time.time() - began:.0f} s', *samples[-1], flush=True)
    memory, handles, threads, disk = zip(*samples)
    quarter = max(1, len(samples) // 4)
    growth = statistics.median(memory[-quarter:]) / statistics.median(memory[quarter:2 * quarter] or memory)
    cycles = {i % 10: [disk[j] for j in range(i % 10, len(disk), 10)] for i in range(len(disk))} # the log grows within a run, so like is compared with like
    flat = growth <= 1.05 and max(handles[1:] or handles) <= handles[min(1, len(handles) - 1)] + 2 and max(threads[1:] or threads) <= threads[min(1, len(threads) - 1)] + 2 and all(max(same) <= 1.02 * same[0] for same in cycles.values())
    return dict(minutes=round((time.time() - began) / 60, 1), cycles=len(samples), epochs=2 * len(samples), memory_kB=[min(memory), max(memory)], memory_growth=round(growth, 3), handles=[min(handles), max(handles)], disk_bytes=[min(disk), max(disk)], failed=[] if flat else ['not flat'])

# ---- one command

PARTS = dict(damage=(damage, 500), full=(full, 20), crash=(crash, 1), modes=(modes, 5), kill=(kill, 50), rank=(rank, 50), store=(store, 5_000_000), start=(start, 5_000_000), shards=(shards, 500_000), race=(race, 1), fuzz=(fuzz, 10_000), loop=(loop, 0))
QUICK = dict(damage=38, full=20, crash=40, modes=1, kill=1, rank=1, shards=400_000, fuzz=200, loop=0)

def run(part, n, seed, minutes, keep):
    work = WORK/part if keep else Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    began, used = time.time(), os.times()
    found = PARTS[part][0](n, seed, work.resolve(), minutes)
    after = os.times()
    from annotated_transformer.train.hardware import environment_info, hardware
    size = f' --minutes {minutes:g}' if part == 'loop' else '' if part == 'race' else f' --n {n}'
    about = dict(command=f'python .ci/soak.py {part}{size} --seed {seed}', seed=seed, revision=environment_info().get('revision'), hardware=hardware('cpu'), seconds=round(time.time() - began), cpu_seconds=round(sum(after[:4]) - sum(used[:4])))
    print(part, json.dumps(about | found, indent=1))
    if keep:
        kept = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        RECORD.write_text(json.dumps(dict(sorted((kept | {part: about | found}).items())), indent=1) + '\n')
    shutil.rmtree(work, ignore_errors=True)
    return not found.get('failed')

def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument('part', choices=[*PARTS, 'all', 'quick'])
    ask.add_argument('--n', type=int, help='how many; by default as many as the bar asks for')
    ask.add_argument('--seed', type=int, default=0)
    ask.add_argument('--minutes', type=float, default=60, help='of the loop')
    ask.add_argument('--no-record', action='store_true', help='leave nbs/results/soak.json as it is')
    given = ask.parse_args()
    if given.part == 'quick': good = [run(part, n, given.seed, .3, False) for part, n in QUICK.items()]
    else: good = [run(part, PARTS[part][1] if given.n is None else given.n, given.seed, given.minutes, not given.no_record) for part in (PARTS if given.part == 'all' else [given.part])]
    sys.exit(not all(good))

main()
