"""`python .ci/curve.py [curve | transfer]`: how much data a translator needs, and what everyday sentences and captions teach each other.

`curve` trains two sizes of model on 5,000 to all pairs of the everyday corpus, with equally many updates; BLEU of the test part, also by sentence length.
`transfer` trains one size on everyday sentences, on captions (MULTI30K names their folder), on both, and first on one and then on the other, with equally
many updates in all; BLEU of both test parts. Greedy search; each run is added to nbs/results/everyday_curve.json as soon as it is done, and runs that the
file has are not repeated."""
import json
import os
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
RESULTS = ROOT/'nbs/results/everyday_curve.json'
AMOUNTS = 5_000, 15_000, 50_000, 164_363
SEEDS = 0, 1, 2
LENGTHS = (1, 4), (5, 7), (8, 11), (12, 99) # words of the source
UPDATES, MAX_TOKENS, VOCABULARY = 909, 2000, 6000

def sizes():
    from annotated_transformer.config import preset
    plain = dict(tie='all', attention_dropout=0., activation_dropout=0.)
    return {'2 layers, width 128': preset('tiny', N=2, dropout=.1, **plain), '3 layers, width 192': preset('small', d_model=192, d_ff=768, dropout=.1, **plain)}

def updates_per_pass(pairs):
    "Batches of one pass, by the tokenizer that `Translator.fit` learns from these pairs."
    from annotated_transformer.data.batching import token_batches
    from annotated_transformer.train.recipes import train_tokenizers
    tokenizer, _ = train_tokenizers(pairs, 'bpe', VOCABULARY)
    def length(text): return len(tokenizer.encode(text)) + 1
    return len(token_batches([(length(source), length(target)) for source, target in pairs], MAX_TOKENS, seed=0))

def fitted(pairs, model, seed, updates=UPDATES, **more):
    "Train with about so many updates: whole passes, at least one."
    from annotated_transformer.config import TrainingConfig
    from annotated_transformer.inference.translator import Translator
    epochs = max(1, round(updates / updates_per_pass(pairs)))
    training = TrainingConfig(seed=seed, epochs=epochs, max_tokens=MAX_TOKENS, schedule='cosine', optimizer='muon', peak_lr=.0045, warmup_steps=100,
                              average_checkpoints=1)
    return Translator.fit(pairs, None, model, training, vocab_size=None if "start" in more else VOCABULARY, progress=False, **more), epochs

def bleu(translator, pairs): return round(translator.evaluate(pairs).bleu, 2)

def by_length(translator, pairs):
    "BLEU of all pairs, and of those of each length; each sentence is translated once."
    from annotated_transformer.inference.evaluation import score
    rows = [(source, str(output), target) for (source, target), output in zip(pairs, translator.translate(source for source, _ in pairs))]
    def scored(rows): return dict(bleu=round(score([output for _, output, _ in rows], [target for *_, target in rows]).bleu, 2), sentences=len(rows))
    groups = {f'{low}-{high}': [row for row in rows if low <= len(row[0].split()) <= high] for low, high in LENGTHS}
    return scored(rows)['bleu'], {name: scored(rows) for name, rows in groups.items()}

def curve_run(size, amount, seed):
    from annotated_transformer.data.everyday import everyday_pairs
    pairs = everyday_pairs()
    pairs = random.Random(seed).sample(pairs, amount) if amount < len(pairs) else pairs
    translator, epochs = fitted(pairs, sizes()[size], seed)
    whole, lengths = by_length(translator, everyday_pairs('test'))
    return dict(epochs=epochs, updates=translator.about['history'][-1]['step'], bleu=whole, by_length=lengths)

def transfer_run(order, seed):
    from annotated_transformer.data.corpora import load_splits
    data = {'everyday': load_splits('everyday'), 'captions': load_splits('multi30k')}
    model = list(sizes().values())[1]
    train = {name: list(parts['train']) for name, parts in data.items()}
    train['both'] = [*train['everyday'], *train['captions']]
    if order in train: translator, epochs = fitted(train[order], model, seed)
    else:
        first, second = order.split(', then ')
        parent, before = fitted(train[first], model, seed, UPDATES * .7)
        translator, epochs = fitted(train[second], None, seed, UPDATES * .3, start=parent)
        epochs = [before, epochs]
    return dict(epochs=epochs, **{name: bleu(translator, parts['test']) for name, parts in data.items()})

def record():
    "The results so far."
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else dict(curve=[], transfer=[])

def planned(what):
    "The runs, those of the first seed first."
    if what == 'transfer': return [dict(order=order, seed=seed) for seed in SEEDS[:1] for order in ('everyday', 'captions', 'both', 'everyday, then captions', 'captions, then everyday')]
    return [dict(size=size, amount=amount, seed=seed) for seed in SEEDS for size in sizes() for amount in AMOUNTS]

def main(what='curve'):
    if what not in ('curve', 'transfer'): sys.exit(__doc__)
    if what == 'transfer' and not os.environ.get('MULTI30K'): sys.exit('MULTI30K names no folder: the captions are missing')
    from annotated_transformer.train.hardware import hardware
    for run in planned(what):
        if any(run.items() <= row.items() for row in record()[what]): continue
        start = time.perf_counter()
        row = run | (curve_run if what == 'curve' else transfer_run)(**run)
        row |= dict(minutes=round((time.perf_counter() - start) / 60, 1), hardware=hardware('cpu'), command=f'python .ci/curve.py {what}')
        print(json.dumps(row), flush=True)
        results = record() # another process may have added some
        results[what].append(row)
        RESULTS.write_text(json.dumps(results, indent=1) + '\n')

if __name__ == '__main__': main(*sys.argv[1:])
