"""Hostile input: damaged model folders, made-up texts and streams, each drawn from a seed.

    python .ci/hostile.py             # 300 folders, 10,000 texts, 25 streams
    python .ci/hostile.py --times 0.4 # two fifths of them, as in `make abuse`

A folder is rejected with one sentence, or loads and translates; both within 2 s of processor time and
500 MB. A text keeps the properties of the normal form, of the tokenizers and of the translations. A
stream of up to 10 MB gets an output line or one sentence within 10 s of processor time and 500 MB, and
a SIGTERM ends the command within 1 s of processor time. A failure prints the kind and number, which repeat it."""
import argparse
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

os.environ |= dict(OMP_NUM_THREADS='1', TOKENIZERS_PARALLELISM='false')
MEMORY = 500 # MB
SENTENCES = ['Der Hund schläft.', 'Die Frau kauft ein Buch.']

# ---- what a child process does

def in_child(work, seconds, memory=MEMORY):
    "Run `work()` in a fork: (result, processor seconds, peak MB); result is 'died' after a crash and 'late' after a hang"
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(4 * seconds), int(4 * seconds) + 1))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            Path('/proc/self/clear_refs').write_text('5') # sets the peak back
            said = work()
        except BaseException as e: said = f'traceback {type(e).__name__}: {e}'
        used = resource.getrusage(resource.RUSAGE_SELF)
        peak = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM')) / 1024
        os.write(write, json.dumps([str(said)[:1000], used.ru_utime + used.ru_stime, peak]).encode())
        os._exit(0)
    os.close(write)
    deadline, parts = time.monotonic() + 60 + 8 * seconds, []
    os.set_blocking(read, False)
    while True: # a child that waits without computing, such as for a pipe, uses no processor time
        try: part = os.read(read, 65536)
        except BlockingIOError: part = None
        if part == b'': break
        if part: parts.append(part)
        elif time.monotonic() > deadline: os.kill(pid, signal.SIGKILL); break
        else: time.sleep(.002)
    os.close(read)
    status = os.waitpid(pid, 0)[1]
    if parts: return tuple(json.loads(b''.join(parts)))
    return ('late' if os.WIFSIGNALED(status) else 'died', 0., 0.)

# ---- folders

def make_folder(path):
    "A whole model folder below 1 MB, and a word-level one"
    from annotated_transformer.config import TransformerConfig
    from annotated_transformer.data.bpe import SubwordTokenizer
    from annotated_transformer.data.pocket import pocket_pairs
    from annotated_transformer.data.words import WordTokenizer
    from annotated_transformer.inference.translator import Translator
    from annotated_transformer.transformer import make_model
    lines = [text for pair in pocket_pairs(300) for text in (pair.src, pair.tgt)]
    config = TransformerConfig(N=1, d_model=16, d_ff=32, h=2, tie='all')
    for name, tokenizer in (('pieces', SubwordTokenizer.train(lines, 320)), ('words', WordTokenizer.train(lines, lang='de'))):
        model = make_model(len(tokenizer), len(tokenizer), N=1, d_model=16, d_ff=32, h=2, tie='all')
        Translator(model, tokenizer, tokenizer, config, about=dict(pair='de-en')).save_pretrained(path/name)
    return path

VALUES = [-1, 0, 1, 2**31, 2**63, 10**30, 1.5, -0., 1e308, 'a', '', 'x' * 100_000, None, True, False, [], {}, [[]] * 50, ['a'] * 3, dict(a=1), [1] * 10_000]

def places(value, path=()):
    "Paths of all values in a JSON value"
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:20]) if isinstance(value, list) else ()
    for key, inner in items: yield from places(inner, (*path, key))

def put(value, path, new):
    if not path: return new
    inner = value
    for key in path[:-1]: inner = inner[key]
    inner[path[-1]] = new
    return value

def json_files(folder): return sorted(p for p in folder.iterdir() if p.suffix == '.json')

def any_file(rng, folder): return rng.choice(sorted(p for p in folder.iterdir() if p.is_file() and p.name != 'README.md'))

def flipped(rng, folder):
    path = any_file(rng, folder)
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 5, 100])): content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)

def cut(rng, folder): path = any_file(rng, folder); path.write_bytes(path.read_bytes()[:rng.randrange(path.stat().st_size)])
def grown(rng, folder): path = any_file(rng, folder); path.write_bytes(path.read_bytes() + rng.randbytes(rng.choice([1, 50, 5000])))
def random_bytes(rng, folder): path = any_file(rng, folder); path.write_bytes(rng.randbytes(rng.randrange(5000)))
def missing(rng, folder): any_file(rng, folder).unlink()

def changed_value(rng, folder):
    path = rng.choice(json_files(folder))
    value = json.loads(path.read_text())
    path.write_text(json.dumps(put(value, rng.choice([*places(value)]), rng.choice(VALUES))))

def changed_config(rng, folder):
    value = json.loads((folder/'config.json').read_text())
    for name in rng.sample(sorted(value['model']), rng.choice([1, 1, 2])): value['model'][name] = rng.choice(VALUES)
    (folder/'config.json').write_text(json.dumps(value))

def large_config(rng, folder):
    value = json.loads((folder/'config.json').read_text())
    value['model'] |= rng.choice([dict(N=8000, d_model=1, h=1), dict(N=2**20), dict(N=10**9), dict(d_ff=2**40), dict(d_model=2**20, h=1), dict(d_k=2**33),
                                  dict(N=8000, d_model=1, h=1, d_ff=1, d_k=1, d_v=1), dict(N_decoder=10**6), dict(N=2000, N_decoder=2000, d_model=2, d_ff=1, h=1)])
    (folder/'config.json').write_text(json.dumps(value))
    if rng.random() < .5: # as many bytes as 1 MB allows
        header = json.dumps(dict(a=dict(dtype='F16', shape=[450_000], data_offsets=[0, 900_000]))).encode()
        (folder/'model.safetensors').write_bytes(struct.pack('<Q', len(header)) + header + bytes(900_000))

def deep(rng, folder):
    path = rng.choice(json_files(folder))
    sign = rng.choice(['[', '{"a":'])
    path.write_text(sign * rng.choice([500, 200_000]))

def doubled_key(rng, folder):
    path = rng.choice(json_files(folder))
    text = path.read_text()
    path.write_text('{"model": {}, "version": 9, "files": {},' + text.lstrip()[1:])

def tensor_header(rng, folder):
    path = folder/'model.safetensors'
    content = path.read_bytes()
    size, = struct.unpack('<Q', content[:8])
    header = json.loads(content[8:8 + size])
    name = rng.choice([n for n in header if n != '__metadata__'])
    what = rng.choice(['shape', 'data_offsets', 'dtype', 'name', 'gone', 'more', 'size'])
    if what == 'shape': header[name]['shape'] = rng.choice([[2**40, 2**40], [-1], [], [0], [2**63], header[name]['shape'][::-1], [1] * 60])
    elif what == 'data_offsets': header[name]['data_offsets'] = rng.choice([[0, 2**62], [8, 0], [0, 0], [-4, 4], header[name]['data_offsets'][::-1]])
    elif what == 'dtype': header[name]['dtype'] = rng.choice(['F64', 'F16', 'I8', 'BOOL', 'X', ''])
    elif what == 'name': header[rng.choice(['a' * 10_000, '__class__', name.upper(), '../x'])] = header.pop(name)
    elif what == 'gone': header.pop(name)
    elif what == 'more': header |= {f'{name}{i}': header[name] for i in range(rng.choice([1, 3000]))}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack('<Q', rng.choice([2**63, 10**12, 0, 3]) if what == 'size' else len(text)) + text + content[8 + size:])

def no_finite(rng, folder):
    path = folder/'model.safetensors'
    content = bytearray(path.read_bytes())
    at = len(content) - 4 * rng.randrange(1, 1000)
    content[at:at + 4] = struct.pack('<f', rng.choice([float('nan'), float('inf'), -float('inf')]))
    path.write_bytes(content)

def not_a_file(rng, folder):
    path = any_file(rng, folder)
    path.unlink()
    kind = rng.choice(['folder', 'fifo', 'device', 'sparse', 'loop', 'away', 'null'])
    if kind == 'folder': path.mkdir()
    elif kind == 'fifo': os.mkfifo(path)
    elif kind == 'sparse': os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 2**36)
    else: path.symlink_to(dict(device='/dev/zero', loop=path.name, away='/etc/passwd', null='/dev/null')[kind])

def forged_manifest(rng, folder):
    path = folder/'MANIFEST.json'
    value = json.loads(path.read_text())
    files = value['files']
    name = rng.choice(sorted(files))
    what = rng.choice(['climb', 'bytes', 'none', 'many', 'hash'])
    if what == 'climb': files[rng.choice(['../../etc/passwd', '/dev/zero', '/etc/passwd', 'a\0b', '..', ''])] = files[name]
    elif what == 'bytes': files[name]['bytes'] = rng.choice([-1, 2**70, '3', None, 1.5])
    elif what == 'none': files.clear()
    elif what == 'many': files |= {f'file{i}': files[name] for i in range(3000)}
    elif what == 'hash': files[name]['sha256'] = rng.choice(['', 'x' * 64, 5, None, '0' * 64])
    path.write_text(json.dumps(value))

ACCIDENTS = [flipped, cut, grown, random_bytes, missing, not_a_file] # the manifest stays
FORGERIES = [changed_value, changed_config, large_config, deep, doubled_key, tensor_header, no_finite, flipped, random_bytes] # a new manifest describes them
MANIFESTS = [forged_manifest]

def try_folder(folder):
    "Load and translate: 'loaded', or the sentence of the error"
    from annotated_transformer.inference.translator import Translator
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try: translator = Translator.from_pretrained(folder, 'cpu')
        except (ValueError, OSError, TypeError) as e: return f'rejected {e}'
        found = list(translator.translate(SENTENCES, max_extra_tokens=3))
    assert len(found) == len(SENTENCES) and all(isinstance(text, str) for text in found), found
    return 'loaded'

def check_folder(n, whole, work, seed):
    "One damaged folder: its kind and what is wrong with the result"
    from annotated_transformer.files import write_manifest
    rng, folder = random.Random(f'{seed} folder {n}'), work/f'folder-{n}'
    shutil.copytree(whole/rng.choice(['pieces', 'pieces', 'words']), folder)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    kinds = ACCIDENTS + FORGERIES + MANIFESTS
    damage = kinds[n % len(kinds)]
    forged = len(ACCIDENTS) <= n % len(kinds) < len(ACCIDENTS) + len(FORGERIES)
    damage(rng, folder)
    if forged:
        (folder/'MANIFEST.json').unlink(missing_ok=True)
        write_manifest(folder)
    same = all(p.is_file() and not p.is_symlink() and p.stat().st_size < 2**24 and p.read_bytes() == before.get(p.name) for p in folder.iterdir())
    said, seconds, peak = in_child(lambda: try_folder(folder), 2)
    shutil.rmtree(folder)
    if said not in ('loaded',) and not said.startswith('rejected '): return damage.__name__, said
    if '\n' in said or len(said) > 700: return damage.__name__, f'not one sentence: {said!r}'
    if seconds > 2 or peak > MEMORY: return damage.__name__, f'{seconds:.1f} s, {peak:.0f} MB: {said}'
    if said == 'loaded' and not forged and not same and damage is not forged_manifest: return damage.__name__, 'loaded damaged files'
    return damage.__name__, ''

def folders(n, seed, work):
    import safetensors.torch  # noqa: E401, F401
    import spacy
    import tokenizers
    import torch

    import annotated_transformer.inference.translator  # children have it
    torch.set_num_threads(1)
    whole = make_folder(work/'whole')
    for name in ('pieces', 'words'): assert try_folder(whole/name) == 'loaded' # libraries load what they need
    for number in range(n):
        kind, wrong = check_folder(number, whole, work, seed)
        yield f'folder {number} ({kind})', wrong

# ---- texts

WORDS = ['Der', 'Hund', 'schläft', 'kauft', '.', ',', '?', 'ein', 'Buch', 'Äpfel', 'don’t', '$5', '#hash', 'http://a.b/?q=1', '猫在睡觉。', 'かな', '한국어', 'नमस्ते', 'می‌روم', '👩‍👩‍👧', 'é', 'e\u0301', 'ﬁ', 'İ', 'ß']
MARKS = ['\u00a0', '\u2009', '\u3000', '\t', '\u200b', '\ufeff', '\u00ad', '\u2060', '\u0300' * 40, '\u202e', '\x07', '\x00', '\x85', '\u2028', '\ufffd', '\ud800', '\U0010ffff', '\ufdfa', '\u0345', '\U000e0041', ' ', '  ', '']

def made_up_text(rng):
    kind = rng.randrange(6)
    if kind == 0: return ''.join(chr(rng.choice([rng.randrange(128), rng.randrange(0x3000), rng.randrange(0x110000)])) for _ in range(rng.randrange(30)))
    if kind == 1: return rng.choice(MARKS) * rng.randrange(200)
    if kind == 2: return rng.choice(WORDS) * rng.randrange(1, 60)
    return ''.join(rng.choice([*WORDS, *MARKS, ' ', ' ', ' ']) for _ in range(rng.randrange(12)))

def encodable(text): return text.encode('utf-8', 'replace').decode()

def check_text(text, tokenizers):
    "Properties of the normal form and of the tokenizers"
    from annotated_transformer.data.normalize import clean_text
    from annotated_transformer.data.words import UNK, WordTokenizer
    clean = clean_text(text)
    assert clean_text(clean) == clean, f'clean_text changes its own result {clean[:80]!r}'
    assert clean == clean.strip() and '  ' not in clean, f'spaces stay in {clean[:80]!r}'
    assert not set(clean) & set('\u00a0\u3000\t\n\r\u200b\ufeff\u00ad\u2060\x07\x00\x85\u2028'), f'invisible characters stay in {clean[:80]!r}'
    for tokenizer in tokenizers:
        ids = tokenizer.encode(text)
        assert ids == tokenizer.encode(clean), f'{tokenizer} tells a text from its normal form'
        assert all(3 < i < len(tokenizer) or i == UNK for i in ids), f'{tokenizer} gives special tokens'
        if UNK in ids: continue
        found, wanted = tokenizer.decode(ids), clean
        if tokenizer.kind == WordTokenizer.kind: found, wanted = found.replace(' ', ''), wanted.replace(' ', '') # a word may be known with a space alone
        assert found == wanted, f'{tokenizer}: {found[:80]!r} is not {wanted[:80]!r}'

def texts(n, seed, work):
    from annotated_transformer.data.bpe import SubwordTokenizer
    from annotated_transformer.data.normalize import clean_text
    from annotated_transformer.data.words import WordTokenizer
    from annotated_transformer.inference.translator import Translator
    made = [made_up_text(random.Random(f'{seed} text {i}')) for i in range(n)]
    made = [encodable(text) for text in made]
    tokenizers = [SubwordTokenizer.train(WORDS * 3, 400), WordTokenizer.train([' '.join(WORDS)] * 3, lang='de')]
    for i, text in enumerate(made):
        try: check_text(text, tokenizers)
        except Exception as e: yield f'text {i}', f'{type(e).__name__}: {e}'
        else: yield f'text {i}', ''
    translator, some = Translator.from_pretrained('pocket', 'cpu'), made[:max(20, n // 20)]
    found = list(translator.translate(some, max_extra_tokens=3))
    backwards = list(translator.translate(some[::-1], max_extra_tokens=3, max_tokens=500))[::-1]
    cleaned = list(translator.translate([clean_text(text) for text in some], max_extra_tokens=3))
    for i, text in enumerate(some):
        wrong = ''
        if found[i] != backwards[i]: wrong = f'depends on its batch: {found[i][:80]!r}, {backwards[i][:80]!r}'
        elif found[i] != cleaned[i]: wrong = f'differs from the translation of its normal form: {text[:80]!r}'
        elif bool(clean_text(text)) < bool(found[i]): wrong = f'an empty text becomes {found[i][:80]!r}'
        yield f'translation {i}', wrong

# ---- streams

def made_up_stream(rng, most):
    size = rng.choice([0, 1, 1000, most // 10, most])
    kind = rng.choice(['bytes', 'letter', '0xff', 'marks', 'lines', 'blank lines', 'text', 'zeros', 'one word', 'spaces', 'emoji'])
    if kind == 'bytes': return kind, rng.randbytes(size)
    if kind == 'text': return kind, ''.join(made_up_text(rng) + '\n' for _ in range(200)).encode('utf-8', 'replace')[:size]
    if kind == 'lines': return kind, ('Der Hund schläft.\n' * (size // 19 + 1)).encode()[:size]
    unit = {'letter': b'a', '0xff': b'\xff', 'marks': 'e\u0301\u0300\u0315'.encode(), 'blank lines': b'\n', 'zeros': b'\0', 'one word': b'Haus', 'spaces': '\u3000'.encode(), 'emoji': '👩‍👧'.encode()}[kind]
    return kind, (unit * (size // len(unit) + 1))[:size]

def status_of(pid):
    "Processor seconds and peak MB of a running process"
    text = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    peak = [int(line.split()[1]) for line in Path(f'/proc/{pid}/status').read_text().splitlines() if line.startswith('VmHWM')]
    return (int(text[11]) + int(text[12])) / os.sysconf('SC_CLK_TCK'), (peak or [0])[0] / 1024

def check_stream(n, seed, work):
    rng = random.Random(f'{seed} stream {n}')
    kind, content = made_up_stream(rng, 10_000_000)
    (path := work/f'stream-{n}').write_bytes(content)
    out, err = work/f'out-{n}', work/f'err-{n}'
    command = [sys.executable, '-W', 'ignore', '-m', 'annotated_transformer.cli.main', 'translate', '--device', 'cpu']
    with path.open('rb') as stdin, out.open('wb') as stdout, err.open('wb') as stderr:
        process = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
        seconds, peak, deadline, wrong = 0., 0., time.monotonic() + 120, ''
        while process.poll() is None:
            try: seconds, peak = status_of(process.pid)
            except (OSError, IndexError): break
            if out.stat().st_size or seconds > 25 or time.monotonic() > deadline: break
            time.sleep(.02)
        waited = 0.
        if process.poll() is None: # a second of processor time, as the machine may do other work
            process.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + 60
            while process.poll() is None and waited <= 1 + LOADED and time.monotonic() < deadline:
                with suppress(OSError, IndexError): waited = status_of(process.pid)[0] - seconds
                time.sleep(.02)
            if process.poll() is None: process.kill(); wrong = 'SIGTERM was not obeyed'
        status = process.wait()
    said, printed = err.read_text(errors='replace'), out.stat().st_size
    if not wrong and 'Traceback' in said: wrong = said.strip()[-300:]
    if not wrong and seconds > 10 + START: wrong = f'{seconds:.1f} s of processor time without an answer'
    if not wrong and peak > MEMORY: wrong = f'{peak:.0f} MB'
    if not wrong and status not in (0, 143, -15) and not said.strip(): wrong = f'status {status} without a sentence'
    if not wrong and not printed and status == 0 and content.strip(): wrong = 'no output'
    for p in (path, out, err): p.unlink()
    return f'stream {n} ({kind}, {len(content):,} bytes)', wrong

START = 4  # processor seconds of importing and loading
LOADED = 1 # further processor seconds, as clocks of busy machines count more

def streams(n, seed, work):
    for number in range(n): yield check_stream(number, seed, work)

# ---- all

SERIES = dict(folders=(folders, 300), texts=(texts, 10_000), streams=(streams, 25))

def run(times=1., seed=0, only=None):
    "Run the series; print a line for each failure and a count for each series: (tried, failed)"
    tried = failed = 0
    with tempfile.TemporaryDirectory() as work:
        for name, (series, size) in SERIES.items():
            if only not in (None, name): continue
            began, cases, bad = time.monotonic(), 0, 0
            for what, wrong in series(max(1, round(size * times)), seed, Path(work)):
                cases += 1
                bad += bool(wrong)
                if wrong: print(f'  {what}: {wrong}', flush=True)
            print(f'{name}: {cases:,} tried, {cases - bad:,} passed, {bad:,} failed, {time.monotonic() - began:.0f} s', flush=True)
            tried, failed = tried + cases, failed + bad
    return tried, failed

if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--times', type=float, default=1., help='multiple of the sizes')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--only', choices=SERIES)
    options = parser.parse_args()
    sys.exit(bool(run(options.times, options.seed, options.only)[1]))
