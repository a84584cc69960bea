"""What every configuration of a model can do: each is trained, resumed, saved, searched, quantized, exported and drawn.

    python .ci/configurations.py                  # all of them, kept in nbs/results/configurations.json
    python .ci/configurations.py --without onnx   # what takes less than a second each
    python .ci/configurations.py --n 3            # three of them at random, printed

A cell of the table is "equal", or the one sentence with which an operation is refused. The record is written after each
configuration, and the next start fills only the cells that it lacks; without the file, everything is done again."""
import argparse
import json
import logging
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
RECORD = ROOT/'nbs/results/configurations.json'

import torch

from annotated_transformer.build import POSITIONS, build
from annotated_transformer.config import TrainingConfig, TransformerConfig
from annotated_transformer.data.batching import pad_rows
from annotated_transformer.data.pocket import pocket_pairs
from annotated_transformer.engine.int8 import from_int8, int8_linear, to_int8, weight_only_linear
from annotated_transformer.engine.program import IncrementalDecoder, is_known
from annotated_transformer.inference.decoding import greedy_search
from annotated_transformer.inference.export import export_ctranslate2, export_onnx
from annotated_transformer.inference.live import check_live
from annotated_transformer.inference.translator import Translator
from annotated_transformer.lab.architecture import draw_model
from annotated_transformer.train.checkpoints import unique_tensors
from annotated_transformer.train.recipes import train_tokenizers, training_batches
from annotated_transformer.train.training import fit
from annotated_transformer.transformer import greedy_decode, padding_mask

# ---- the configurations

MODERN = dict(norm='rms', ffn='swiglu', qk_norm=True, bias=False)
GROUPS = dict(kv_heads=2), MODERN | dict(kv_heads=1)
CHANGES = [dict(positions=scheme) | more for scheme in POSITIONS for more in ({}, dict(qk_norm=True), MODERN, *GROUPS)]
CHANGES += [
    dict(norm='rms'), dict(ffn='gelu'), dict(ffn='silu'), dict(ffn='swiglu'), dict(norm_eps=1e-5),
    dict(norm_first=False), dict(norm_first=False, final_norm=True), dict(final_norm=False), dict(bias=False),
    dict(d_k=6, d_v=3), dict(N_decoder=2), dict(tie='none'), dict(tie='decoder'),
    dict(ffn='silu', norm_first=False, positions='sinusoidal-concat', norm_eps=1e-5), dict(decoder='ssru'),
    dict(decoder='ssru', norm_first=False, bias=False, N_decoder=2),
    MODERN | dict(decoder='ssru', positions='rotary', kv_heads=2, d_k=6)]

def config_of(change):
    "A small configuration."
    return TransformerConfig(**dict(N=1, d_model=16, d_ff=24, h=4, tie='all') | change)

# ---- what each is given: eight short pairs, three texts

PAIRS = sorted(((p.src, p.tgt) for p in pocket_pairs(60)), key=lambda pair: len(''.join(pair)))[:8]
TEXTS = [source for source, _ in PAIRS[:3]]
LENGTH = 8 # Tokens of an output, at most, with the start symbol

class Subject:
    "A configuration, its trained model and the tokens of its definition."
    def __init__(self, change, tokenizers, place):
        self.change = change
        self.config = config_of(change)
        self.tokenizers = tokenizers
        self.place = place

    def trained(self, epochs, **options):
        "A model after some epochs."
        torch.manual_seed(0)
        model = build(self.config, *map(len, self.tokenizers))
        training = TrainingConfig(epochs=epochs, max_tokens=400, warmup_steps=4, average_checkpoints=1, precision='fp32')
        batches = training_batches(PAIRS, self.tokenizers, training, 0)
        rows = fit(model, batches, None, training, device='cpu', progress=False, **options)
        assert rows[-1]['train_loss'] < 20
        return model

    def train(self):
        "Two epochs; then a larger scale, so that the texts are not all empty."
        self.whole = self.trained(2, out=self.place/'whole')
        model = self.trained(2).eval()
        same_weights(model, self.whole) # with and without files
        with torch.no_grad():
            for p in unique_tensors(model).values(): p.mul_(2) if p.dim() > 1 else p.add_(.1)
        self.one = Translator(model, *self.tokenizers, self.config, dict(pair='de-en'), 'cpu')
        self.plain = Translator(model, *self.tokenizers, self.config, dict(pair='de-en'), 'cpu', 'plain')
        self.src = pad_rows([[*self.tokenizers[0].encode(text), 1] for text in TEXTS])
        self.mask = padding_mask(self.src)

    def resume(self):
        "An epoch and another are as two epochs, bit for bit."
        self.trained(1, out=self.place/'run')
        same_weights(self.trained(2, out=self.place/'run', resume=True), self.whole)

    def save_and_load(self):
        "The loaded model has the same bits, in both engines."
        folder = self.one.save_pretrained(self.place/'saved')
        for engine in 'fast', 'plain':
            loaded = Translator.from_pretrained(folder, 'cpu', engine)
            same_weights(loaded.model, self.one.model)
            same(outputs(loaded), outputs(self.one))

    def greedy(self):
        "The program or the cache gives the tokens of the core's loop."
        same(greedy_search(self.one.model, self.src, self.mask, LENGTH, 0, 1), self.definition())
        same(greedy_decode(self.one.model, self.src, self.mask, LENGTH, 0, 1), self.definition())

    def definition(self):
        "Tokens of the core's loop."
        return greedy_decode(self.plain.model, self.src, self.mask, LENGTH, 0, 1)

    def beam(self):
        "The same hypotheses as with the modules of the core."
        def found(translator): return translator.translate(TEXTS, max_extra_tokens=2, beam_size=3, n_best=3)
        texts = [[[row.text for row in rows] for rows in found(one)] for one in (self.one, self.plain)]
        same(*texts)

    def ensemble(self):
        "With a second model, the tokens of the mean probability."
        other = Translator(self.whole.eval(), *self.tokenizers, self.config, dict(pair='de-en'), 'cpu')
        out = self.src.new_zeros(len(self.src), 1)
        models = [model.model for model in (self.plain, other)]
        with torch.no_grad():
            for _ in range(LENGTH - 1):
                logp = [m.generator(m.decode(m.encode(self.src, self.mask), self.mask, out, triangle(out))[:, -1]) for m in models]
                mean = torch.stack(logp).exp().mean(0)
                out = torch.cat([out, mean.argmax(-1, keepdim=True)], 1)
        same(greedy_search([self.one.model, other.model], self.src, self.mask, LENGTH, 0), out)

    def int8(self):
        "Products of the program are those of the cache; the logits are near those of float32."
        tgt = torch.tensor([[0, 5], [0, 6], [0, 7]])
        for factory in weight_only_linear, int8_linear:
            def logits(kinds, factory=factory):
                with mock.patch.object(IncrementalDecoder, 'kinds', kinds), torch.no_grad():
                    return IncrementalDecoder(self.one.model, self.src, self.mask, factory).logits(tgt)
            kinds = IncrementalDecoder.kinds
            quick, cached = logits(kinds), logits(kinds[1:])
            with torch.no_grad(): exact = IncrementalDecoder(self.one.model, self.src, self.mask).logits(tgt)
            assert (quick - exact).norm() < .1 * exact.norm(), (factory.__name__, (quick - exact).norm(), exact.norm())
            assert (quick - cached).norm() < .05 * exact.norm(), (factory.__name__, (quick - cached).norm(), exact.norm())

    def int8_file(self):
        "A stored int8 model has the rounded weights, and the texts of the core with them."
        folder = self.one.save_pretrained(self.place/'small', int8=True)
        loaded, plain = (Translator.from_pretrained(folder, 'cpu', engine) for engine in ('fast', 'plain'))
        rounded = from_int8(to_int8(unique_tensors(self.one.model)))
        for name, p in unique_tensors(loaded.model).items(): assert torch.equal(p, rounded[name].to(p)), name
        same(outputs(loaded), outputs(plain))

    def onnx(self):
        "ONNX Runtime gives the tokens of the core's loop."
        import numpy as np
        import onnxruntime
        folder = export_onnx(self.one, self.place/'onnx')
        encoder, decoder = (onnxruntime.InferenceSession(folder/f'{name}.onnx', providers=['CPUExecutionProvider'])
                            for name in ('encoder', 'decoder'))
        for ids in self.src.tolist():
            ids = ids[:ids.index(2)] if 2 in ids else ids
            k, v, mask = encoder.run(None, dict(src=np.array([ids])))
            out, past_k, past_v = [0], k[..., :0, :], v[..., :0, :]
            while len(out) < LENGTH and out[-1] != 1:
                inputs = dict(tgt=np.array([out[-1:]]), source_k=k, source_v=v, mask=mask, past_k=past_k, past_v=past_v)
                scores, past_k, past_v = decoder.run(None, inputs)
                out.append(int(scores[0].argmax()))
            same(out, greedy_decode(self.plain.model, torch.tensor([ids]), None, LENGTH, 0, 1)[0].tolist())

    def ctranslate2(self):
        "CTranslate2 gives the tokens of the core's loop."
        import ctranslate2
        ctranslate2.set_log_level(logging.ERROR)
        folder = export_ctranslate2(self.one, self.place/'ctranslate2')
        engine = ctranslate2.Translator(str(folder), intra_threads=1)
        names = ['<s>', '</s>', '<blank>', '<unk>', *map(str, range(4, len(self.tokenizers[0])))]
        for ids in self.src.tolist():
            ids = ids[:ids.index(2)] if 2 in ids else ids
            best, = engine.translate_batch([[names[i] for i in ids]], beam_size=1, max_decoding_length=LENGTH - 1)[0].hypotheses
            wanted = greedy_decode(self.plain.model, torch.tensor([ids]), None, LENGTH, 0, 1)[0, 1:].tolist()
            same([names.index(name) for name in best], wanted[:wanted.index(1)] if 1 in wanted else wanted)

    def picture(self):
        "A drawing with every part of the model."
        svg = draw_model(self.one.model).svg
        assert svg.startswith('<svg') and svg.rstrip().endswith('</svg>')

    def live_page(self):
        "The scripts of the page give the texts of Python, under node."
        check_live(self.one)
        folder = self.one.save_pretrained(self.place/'live')
        for text in TEXTS:
            done = subprocess.run(['node', '--input-type=module', '-e', NODE, folder, text], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            same(done.stdout, self.one.translate(text))

NODE = f"""
import fs from 'node:fs';
globalThis.matchMedia ??= () => ({{matches: false}});
globalThis.navigator ??= {{}};
globalThis.document ??= {{querySelectorAll: () => []}};
const LIVE = {json.dumps((ROOT/'nbs/live').as_uri() + '/')}, [folder, s] = process.argv.slice(-2);
const {{read_state, translate}} = await import(LIVE + 'live.js');
const {{open_model}} = await import(LIVE + 'models.js');
const file = name => fs.readFileSync(folder + '/' + name), json = name => JSON.parse(file(name));
const core = await open_model(file('model.safetensors'), json('tokenizer.json'), json('config.json'), json('MANIFEST.json'));
process.stdout.write([...translate(core, {{...read_state(''), s, beam: 1}})].at(-1)().text);
"""

# ---- comparisons

def same(ours, theirs):
    if isinstance(ours, torch.Tensor): ours, theirs = ours.tolist(), theirs.tolist()
    assert ours == theirs, f'{ours} instead of {theirs}'

def same_weights(ours, theirs):
    tensors = unique_tensors(theirs)
    for name, p in unique_tensors(ours).items(): assert torch.equal(p, tensors[name]), name

def triangle(out): return torch.ones(1, out.size(1), out.size(1)).tril()

def outputs(translator):
    "Greedy texts and the hypotheses of a beam."
    beams = translator.translate(TEXTS, max_extra_tokens=2, beam_size=3, n_best=3)
    return [*translator.translate(TEXTS, max_extra_tokens=2), *([row.text for row in rows] for rows in beams)]

# ---- the table

OPERATIONS = [
    Subject.train, Subject.resume, Subject.save_and_load, Subject.greedy, Subject.beam, Subject.ensemble, Subject.int8,
    Subject.int8_file, Subject.onnx, Subject.ctranslate2, Subject.picture, Subject.live_page]
NAMES = {operation.__name__.replace('_', ' '): operation for operation in OPERATIONS}

def missing(operation):
    "What this machine lacks for an operation; empty if nothing."
    needed = {Subject.onnx: ('onnx', 'onnxscript', 'onnxruntime'), Subject.ctranslate2: ('ctranslate2',)}.get(operation, ())
    if operation is Subject.live_page and not shutil.which('node'): return 'node'
    return ', '.join(name for name in needed if not find_spec(name))

def row_of(change, tokenizers, names=tuple(NAMES)):
    "Configuration, whether the program runs it, and for each operation 'equal' or the sentence of its refusal."
    row = dict(change=change, program=None, results={})
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action='ignore'):
        try: subject = Subject(change, tokenizers, Path(folder))
        except ValueError as e: return row | dict(results=dict.fromkeys(names, sentence(e)))
        refusal = try_operation(subject, 'train')
        if refusal != 'equal': return row | dict(results=dict.fromkeys(names, refusal))
        for name in names:
            if name == 'train': row['results'][name] = refusal
            elif not missing(NAMES[name]): row['results'][name] = try_operation(subject, name)
        row['program'] = is_known(subject.one.model)
    return row

def try_operation(subject, name):
    "'equal', or the sentence of a refusal; raise with the configuration if the result is another one."
    try: NAMES[name](subject)
    except ValueError as e: return sentence(e)
    except Exception as e: raise AssertionError(f'{subject.change}, {name}: {type(e).__name__}: {e}') from e
    return 'equal'

def sentence(error):
    "The text of an error, which must be one sentence."
    text = str(error).removesuffix('.')
    assert '\n' not in text and not re.search(r'\. [A-Z]', text), text
    return text

def read_rows():
    "The rows of the record; one without results for each configuration that it lacks."
    kept = json.loads(RECORD.read_text(encoding='utf-8'))['rows'] if RECORD.exists() else []
    rows = {json.dumps(row['change']): row for row in kept}
    return [rows.get(json.dumps(change), dict(change=change, program=None, results={})) for change in CHANGES]

def write_rows(rows):
    record = dict(command='python .ci/configurations.py', torch=torch.__version__, rows=rows)
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + '\n', encoding='utf-8')

def report(number, row):
    refused = {name: text for name, text in row['results'].items() if text != 'equal'}
    print(number, row['change'], 'program' if row['program'] else 'cache', refused or 'all equal', flush=True)

def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--n', type=int, help='number of configurations, at random; all by default')
    options.add_argument('--without', nargs='*', default=[], choices=NAMES, help='operations that are left out')
    given = options.parse_args()
    torch.set_num_threads(1)
    tokenizers = train_tokenizers(PAIRS, 'bpe', 290)
    wanted = [name for name in NAMES if name not in given.without]
    if given.n is not None:
        for change in random.SystemRandom().sample(CHANGES, given.n): report('', row_of(change, tokenizers, wanted))
        return
    lacking = sorted({name for wish in wanted if (name := missing(NAMES[wish]))})
    if lacking: sys.exit(f'nothing is kept: this machine lacks {", ".join(lacking)}')
    rows = read_rows()
    for number, row in enumerate(rows, 1):
        names = [name for name in wanted if name not in row['results']]
        if not names: continue
        new = row_of(row['change'], tokenizers, names)
        results = row['results'] | new['results']
        row |= dict(program=new['program'], results={name: results[name] for name in NAMES if name in results})
        write_rows(rows)
        report(number, row)

if __name__ == '__main__':
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    main()
