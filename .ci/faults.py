"""Faults for the endurance checks of soak.py: damaged checkpoints, a full disk, made-up texts and files."""
import copy
import gzip
import io
import itertools
import json
import os
import pickle
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import hypothesis
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from torch import Tensor

from annotated_transformer.checks import short_repr
from annotated_transformer.data.normalize import clean_text
from annotated_transformer.data.pairs import read_pairs
from annotated_transformer.data.words import SPECIALS, UNK
from annotated_transformer.files import file_hash, write_manifest
from annotated_transformer.train.checkpoints import checkpoints, load_checkpoint, save_checkpoint
from annotated_transformer.train.optimizers import adam, noam
from annotated_transformer.transformer import make_model

# ---- checkpoints

def small(**settings): return make_model(12, 12, **dict(N=1, d_model=8, d_ff=16, h=2, tie="all") | settings)

scratch = tempfile.TemporaryDirectory()

class Surprise:
    "A pickle that makes a folder when it is loaded."
    def __init__(self, path): self.path = path
    def __reduce__(self): return os.mkdir, (str(self.path),)

trace = Path(scratch.name)/"trace"

bomb = pickle.dumps(Surprise(trace), protocol=2)

def rejected(call, *words, error=ValueError):
    "The call fails with one sentence that contains the words."
    try: call()
    except error as e: message = str(e)
    else: raise AssertionError("nothing was rejected")
    assert "\n" not in message, message
    for word in words: assert word in message, message

def flip(content, i): return content[:i // 8] + bytes([content[i // 8] ^ 1 << i % 8]) + content[i // 8 + 1:]

FILE_EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.scandir", "os.listdir", "fsync", "save_file"}

def some_updates(model, optimizer, scheduler, seed, n=3):
    "Updates with made-up gradients."
    rng = torch.Generator().manual_seed(seed)
    for _ in range(n):
        for p in model.parameters(): p.grad = torch.randn(p.shape, generator=rng)
        optimizer.step(); scheduler.step()

def equal(a, b):
    if isinstance(a, Tensor): return torch.equal(a, b)
    if isinstance(a, dict): return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list): return len(a) == len(b) and all(map(equal, a, b))
    return a == b and type(a) is type(b)

def rewritten(path, content):
    assert path.read_bytes() != content
    path.write_bytes(content)

def some_file(rng, folder): return rng.choice(sorted(p for p in folder.iterdir() if p.stat().st_size)) # the manifest too

def some_tensors(rng, folder): return folder/rng.choice(["model.safetensors", "optimizer.safetensors"])

def cut_short(rng, folder): path = some_file(rng, folder); rewritten(path, path.read_bytes()[:rng.randrange(path.stat().st_size)])

def grown(rng, folder): path = some_file(rng, folder); rewritten(path, path.read_bytes() + rng.randbytes(rng.randint(1, 99)))

def bit_flipped(rng, folder): path = some_file(rng, folder); rewritten(path, flip(path.read_bytes(), rng.randrange(8 * path.stat().st_size)))

def overwritten(rng, folder): path = some_file(rng, folder); rewritten(path, rng.randbytes(path.stat().st_size))

def zeroed(rng, folder): path = some_file(rng, folder); rewritten(path, bytes(path.stat().st_size))

def emptied(rng, folder): rewritten(some_file(rng, folder), b"")

def missing(rng, folder): some_file(rng, folder).unlink()

def swapped(rng, folder): path = some_file(rng, folder); rewritten(path, (folder.with_name("epoch-001")/path.name).read_bytes())

def joined(rng, folder): (folder/rng.choice(["surprise.py", "pytorch_model.bin", "mean.safetensors"])).write_bytes(bomb)

ACCIDENTS = [cut_short, grown, bit_flipped, overwritten, zeroed, emptied, missing, swapped, joined]

def forged(path, content):
    rewritten(path, content)
    write_manifest(path.parent)

def header(text, size=None): return struct.pack("<Q", len(text) if size is None else size) + text

def tensor(shape, start, end, dtype="F32"): return json.dumps(dict(a=dict(dtype=dtype, shape=shape, data_offsets=[start, end]))).encode()

def archived(content):
    with zipfile.ZipFile(made := io.BytesIO(), "w") as z: z.writestr("archive/data.pkl", content)
    return made.getvalue()

def bombed(rng, folder): forged(folder/rng.choice(["model.safetensors", "optimizer.safetensors", "state.json"]), bomb)

def zipped_bomb(rng, folder): forged(some_tensors(rng, folder), archived(bomb))

def large_header(rng, folder): forged(some_tensors(rng, folder), header(b"{}", rng.choice([3, 10**8, 10**12, 2**63, 2**64 - 1])) + bytes(rng.randrange(3)))

def deep_header(rng, folder): forged(some_tensors(rng, folder), header(b'{"a":' * rng.randint(1000, 100_000)))

def lying_shape(rng, folder): forged(some_tensors(rng, folder), header(tensor(*rng.choice([([10**9, 10**9], 0, 8), ([2**63], 0, 8), ([-1], 0, 8), ([4], 0, 8)]))) + bytes(8))

def lying_place(rng, folder): forged(some_tensors(rng, folder), header(tensor([2], *rng.choice([(0, 2**62), (8, 16), (8, 0), (-8, 0)]))) + bytes(8))

def unknown_type(rng, folder): forged(some_tensors(rng, folder), header(tensor([2], 0, 8, rng.choice(["pickle", "F33", "", "os.system"]))) + bytes(8))

def strange_state(rng, folder): forged(folder/"state.json", rng.choice([b"[]", b"null", b"\xff\xfe{}", b"[" * 200_000, b"1" * 5000, b'{"a": ', b"import os"]))

def folder_for_file(rng, folder): path = some_file(rng, folder); path.unlink(); path.mkdir()

def climbing(rng, folder):
    other = folder.with_name("epoch-001")/"model.safetensors"
    name = rng.choice(["../epoch-001/model.safetensors", str(other), "/etc/passwd", "..\\epoch-001\\model.safetensors", "a/../../epoch-001/model.safetensors", "model.safetensors\0"])
    listed = json.loads((folder/"MANIFEST.json").read_text())
    listed["files"][name] = dict(bytes=other.stat().st_size, sha256=file_hash(other))
    (folder/"MANIFEST.json").write_text(json.dumps(listed))

HOSTILE = [bombed, zipped_bomb, large_header, deep_header, lying_shape, lying_place, unknown_type, strange_state, folder_for_file, climbing]

acts, on_watch, previous_used = [], dict(on=False), [0]

ACTS = {"os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect", "pickle.find_class", "marshal.loads", "exec", "compile", "import", "os.mkdir", "os.rename", "os.remove"}

def note_act(event, args, acts=acts, on_watch=on_watch):
    if not on_watch["on"] or threading.get_ident() != on_watch["on"]: return
    if event in ACTS or event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT): acts.append((event, short_repr(args[:1])))

def check_damage(damage, rng, whole, ruin, model, optimizer):
    "Damage the newer of two checkpoints; what is refused, and what is used instead?"
    shutil.rmtree(ruin, ignore_errors=True)
    shutil.copytree(whole, ruin)
    damage(rng, ruin/"epoch-002")
    kept = copy.deepcopy([model.state_dict(), optimizer.state_dict()])
    on_watch["on"] = threading.get_ident()
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            names = [path.name for path in checkpoints(ruin)]
        rejected(lambda: load_checkpoint(ruin/"epoch-002", model, optimizer), "epoch-002", error=(ValueError, OSError))
    finally: on_watch["on"] = False
    assert names == ["epoch-001"] and len(told) == 1 and "\n" not in str(told[0].message), (names, told)
    assert equal([model.state_dict(), optimizer.state_dict()], kept) and acts == [] and not trace.exists(), acts
    assert load_checkpoint(ruin/"epoch-001", model, optimizer)["step"] == 3
    previous_used[0] += 1

def check_all_damage(n, seed, place):
    "n damages, each kind in turn; how many of each were withstood."
    torch.manual_seed(seed)
    model, rng, done = small(), random.Random(seed), Counter()
    optimizer = adam(model)
    for epoch in (1, 2):
        some_updates(model, optimizer, noam(optimizer, 8, warmup=4, done=3 * epoch - 3), seed=epoch)
        save_checkpoint(place/"whole"/f"epoch-00{epoch}", model, optimizer, dict(step=3 * epoch))
    load_checkpoint(place/"whole"/"epoch-002", model, optimizer) # what is imported on the way is imported now
    for damage in itertools.islice(itertools.cycle(ACCIDENTS + HOSTILE), n):
        check_damage(damage, rng, place/"whole", place/"ruin", model, optimizer)
        done[damage.__name__] += 1
    return dict(done)

FULL_DISK = """
import json, resource, sys, torch
from pathlib import Path
from annotated_transformer.train.checkpoints import checkpoints, load_checkpoint, read_state, save_checkpoint
from annotated_transformer.train.optimizers import adam
from annotated_transformer.transformer import make_model

torch.manual_seed(0)
torch.set_num_threads(1)
run, limits, model = Path(sys.argv[1]), int(sys.argv[2]), make_model(12, 12, N=1, d_model=8, d_ff=16, h=2)
optimizer = adam(model)
for p in model.parameters(): p.grad = torch.ones_like(p)
optimizer.step()
def save(epoch, step): save_checkpoint(run/f"epoch-{epoch:03}", model, optimizer, dict(step=step, history=list(range(6_000)))) # state.json is the largest file
def found(): return {path.name: read_state(path)["step"] for path in checkpoints(run)}
save(1, 1); save(2, 2)
largest, told = max(p.stat().st_size for p in (run/"epoch-001").iterdir()), []
for n in range(limits):
    for epoch in (2, 3):
        resource.setrlimit(resource.RLIMIT_FSIZE, (n * (largest - 1) // (limits - 1), resource.RLIM_INFINITY))
        try: save(epoch, 3)
        except OSError as e: told.append(str(e))
        finally: resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert found() == {"epoch-001": 1, "epoch-002": 2} and sorted(p.name for p in run.iterdir()) == ["epoch-001", "epoch-002"]
        load_checkpoint(run/"epoch-002", model, optimizer)
save(3, 3)
assert found() == {"epoch-001": 1, "epoch-002": 2, "epoch-003": 3}
assert all("could not be saved" in text and "\\n" not in text for text in told), told
print(json.dumps(dict(limits=limits, saves_rejected=len(told), largest_file=largest)))
"""

def full_disk(limits, place):
    "What a process found that limited the sizes of its own files."
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(place), str(limits)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)

# ---- texts

FIRST = dict(Haus="house", Garten="garden", See="lake", Stein="stone", Holz="wood", Wasser="water", Berg="mountain",
             Dorf="village", Markt="market", Land="country", Burg="castle", Wald="forest", Tal="valley", Gras="grass")

LAST = dict(tor="gate", haus="house", boot="boat", dorf="village", bild="picture", fenster="window", dach="roof", ufer="bank")

VERB = {"steht neben": "stands next to", "liegt hinter": "lies behind", "gehört zu": "belongs to"}

def noun(rng):
    parts = [rng.choice(list(FIRST)) for _ in range(rng.randint(0, 2))] + [rng.choice(list(LAST))]
    english = [(FIRST | LAST)[p] for p in parts]
    return "".join(parts).capitalize(), " ".join(english)

def sentences(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        (a, x), (b, y), verb = noun(rng), noun(rng), rng.choice(list(VERB))
        yield f"Das {a} {verb} dem {b}.", f"The {x} {VERB[verb]} the {y}."

UNUSUAL = [*SPECIALS, "", " ", "\n", "\r\n", "\0", "\ufeff", "\u2028", "\u202e", "\u200d", "\ud83d", "\ude00", "\U0010ffff", "e" + "\u0301" * 300, "((((", "don't", "1,5", "https://a.b/c?d", "ß", "İ", "ﬁ", "한국"]

def fuzz_texts(n, seed, words, pieces):
    "n lists of texts through a tokenizer of words and one of pieces; how many there were."
    seen = Counter()
    @hypothesis.seed(seed)
    @settings(max_examples=n, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.lists(st.one_of(st.sampled_from(UNUSUAL), st.text(st.characters(exclude_categories=()), max_size=20)), max_size=6).map("".join), max_size=4))
    def check(texts):
        for tok in (words, pieces):
            rows = tok.encode_batch(texts)
            assert rows == [tok.encode(text) for text in texts]
            assert all(UNK <= i < len(tok) for row in rows for i in row)
        assert pieces.decode_batch(pieces.encode_batch(texts)) == [clean_text(text) for text in texts]
        assert ["".join(words.tokenize(text)) for text in texts] == ["".join(clean_text(text).split()) for text in texts]
        for text in texts: words.decode(words.encode(text)).encode("utf-8")
        seen["texts"] += len(texts); seen["lists"] += 1
    check()
    return seen

# ---- files

PLAIN = [b"\n", b"\r\n", b"\t", b" ", b"a", "ü🚪".encode(), b'"', b"Haus\tam\tSee\n", b"a\tb\n", b"de\ten\n", b'{"de": "a", "en": "b"}\n', b'{"translation": {"de": "a", "en": "b"}}\n']

SCRAPS = PLAIN + [b"\r", b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", "\u2028".encode(), b"{", b"}", b"[" * 2000, b"1" * 5000, b"\x1f\x8b\x08", b'{"de": 1, "en": "b"}', b'{"de": "\\ud800", "en": "b"}', b"null\n", b"NaN\n"]

def naive_lines(data):
    "Lines of UTF-8 bytes; None where they are none."
    try: text = data.decode()
    except UnicodeDecodeError: return None
    lines = text.removeprefix("\ufeff").split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]

def naive_pairs(kind, *datas):
    "What a file holds, or None where it has to be refused."
    sides = [naive_lines(data) for data in datas]
    if None in sides: return None
    if kind == "two": return list(zip(*sides)) if len(sides[0]) == len(sides[1]) else None
    if kind == "tsv":
        rows = [line.split("\t") for line in sides[0]]
        if len({len(row) for row in rows}) > 1 or rows and len(rows[0]) < 2: return None
        named = len({"de", "en"} & {*rows[0]}) if rows else 0
        if named == 1: return None
        named = named == 2
        return [tuple(row[rows[0].index(c) if named else i] for i, c in enumerate(("de", "en"))) for row in rows[named:]]
    try: rows = [json.loads(line) for line in sides[0]]
    except (ValueError, RecursionError): return None
    rows = [row["translation"] if isinstance(row, dict) and isinstance(row.get("translation"), dict) else row for row in rows]
    def whole(text): return isinstance(text, str) and not re.search("[\ud800-\udfff]", text)
    return [(row["de"], row["en"]) for row in rows] if all(isinstance(row, dict) and whole(row.get("de")) and whole(row.get("en")) for row in rows) else None

def fuzz_files(n, seed, folder):
    "n files of made-up bytes through the readers; how many were read and how many rejected."
    def joined(scrap, most): return st.lists(scrap, max_size=most).map(b"".join)
    seen, lines = Counter(), st.one_of(joined(st.sampled_from(line), 4) for line in ([b"a\tb\n", b"\t\n", b"de\ten\n", b"\ta\r\n"], [line for line in PLAIN if b"{" in line]))
    scraps = st.one_of(lines, lines, joined(st.sampled_from(PLAIN), 6), joined(st.one_of(st.sampled_from(SCRAPS), st.binary(max_size=8)), 10))
    names = dict(two=("x.de", "x.en"), tsv=("x.tsv",), jsonl=("x.jsonl",))
    @hypothesis.seed(seed)
    @settings(max_examples=n, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(list(names)), scraps, scraps, st.booleans(), st.sampled_from(["plain", "plain", "packed", "cut"]))
    def check(kind, first, second, alike, how):
        if alike: second = first # two files in step
        shutil.rmtree(folder, ignore_errors=True); folder.mkdir()
        for name, data in zip(names[kind], (first, second)):
            packed = gzip.compress(data, mtime=0)
            (folder/(name if how == "plain" else f"{name}.gz")).write_bytes(dict(plain=data, packed=packed, cut=packed[:-4])[how])
        expected = None if how == "cut" else naive_pairs(kind, *(first, second)[:len(names[kind])])
        try: found = read_pairs(folder/("x" if kind == "two" else names[kind][0]))
        except ValueError as e:
            said = str(e).replace(str(folder), "")
            assert expected is None and "x." in said and "\n" not in said, (said, expected)
            seen["rejected"] += 1
        else:
            assert found == expected, (found, expected)
            seen["read"] += 1
    check()
    return seen
