"""`python .ci/translators.py NAME [NAME ...] [--pair de-en] [--seeds 0 1 2] [--out runs]`: train translators of the everyday corpus by the variants below.

Each run adds a row to results/everyday_search.json: settings, bytes, minutes, machine, and BLEU and chrF of the *validation* part (beam 4, the saved int8
model). Only `--test` scores the test part; a recipe is chosen without it. An interrupted run goes on from its last epoch. `--list` shows the variants; a GPU
is used where there is one (a run of 8 epochs takes some minutes there, hours on two cores)."""
import json
import random
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
RESULTS = ROOT/'nbs/results/everyday_search.json'

VARIANTS = { # Name -> settings of model and training, size of the vocabulary, share of typed copies and of the pairs, over the recipe `everyday`
    'first': dict(d_model=192, d_ff=768, dropout=.05, attention_dropout=0., activation_dropout=0., vocab=6000, typed=.3, share=.78,
                  epochs=2, max_tokens=2500, peak_lr=.0045, lr_factor=1., warmup_steps=200), # 82 minutes on one AVX2 core
    'recipe': {},
    'second': dict(start='recipe', epochs=4, peak_lr=.003, warmup_steps=200, typed=.5, copies_seed=1), # four further passes over more data: `more_pairs`
    'third': dict(start='second', epochs=1, peak_lr=.0008, warmup_steps=50, typed=.8, copies_seed=2, back=False, share=.6), # typing alone: one further pass
    'fourth': dict(start='package', epochs=3, peak_lr=.002, warmup_steps=200, typed=.5, copies_seed=3), # from the translator of the package, whose checkpoints are not kept
    'clean': dict(typed=0.),
    'typed 1': dict(typed=1.),
    'epochs 16': dict(epochs=16),
    'epochs 24': dict(epochs=24),
    'dropout .15': dict(epochs=16, dropout=.15, attention_dropout=.15, activation_dropout=.15),
    'dropout .2': dict(epochs=16, dropout=.2),
    'rdrop': dict(epochs=16, rdrop_alpha=1.),
    'rdrop 3': dict(epochs=24, rdrop_alpha=3.),
    'bpe dropout': dict(epochs=16, bpe_dropout=.1),
    'ema': dict(epochs=16, ema_decay=.999),
    'average': dict(epochs=16, average_checkpoints=3),
    'lr 1': dict(epochs=16, peak_lr=.00225),
    'lr 3': dict(epochs=16, peak_lr=.0067),
    'vocabulary 4000': dict(epochs=16, vocab=4000),
    'vocabulary 8000': dict(epochs=16, vocab=8000),
    'deeper': dict(epochs=16, N=4, N_decoder=2),
    'shallow decoder': dict(epochs=16, N=5, N_decoder=2),
    'narrow': dict(epochs=16, N=5, d_model=192, d_ff=768, h=6),
    'wide': dict(epochs=16, N=2, d_model=320, d_ff=1024, h=8),
}
SHIPPED = dict([('de-en', 'everyday'), ('en-de', 'everyday-en-de')]) # direction -> translator of the package
PHRASE_COPIES = 6
LEAST_P = .6 # of a word pair
MODEL_FIELDS = 'N', 'N_decoder', 'd_model', 'd_ff', 'h', 'dropout', 'attention_dropout', 'activation_dropout'
DATA_FIELDS = 'vocab', 'typed', 'share', 'start', 'copies_seed', 'back'

def everyday(part='train', pair='de-en'):
    from annotated_transformer.data.everyday import everyday_pairs
    return everyday_pairs(part, pair)

def configured(settings):
    "Configurations of model and training, and the size of the vocabulary."
    from annotated_transformer.train.recipes import recipe
    model, training, vocab = recipe('everyday')
    rest = {name: value for name, value in settings.items() if name not in MODEL_FIELDS + DATA_FIELDS}
    model = replace(model, **{name: settings[name] for name in MODEL_FIELDS if name in settings})
    return model, replace(training, **rest), settings.get('vocab', vocab)

def run_name(name, pair, seed): return f'{name.replace(" ", "-")}-{pair}-{seed}'

def package(folder, pair):
    "Learn the confidence of a trained translator from validation pairs, and put it into the package."
    from annotated_transformer.inference.confidence import learn_confidence
    from annotated_transformer.inference.translator import Translator
    translator = Translator.from_pretrained(folder, 'cpu')
    translator.training_pairs = None # `at-evaluate` knows those of the corpus
    print(learn_confidence(translator, everyday('validation', pair)))
    translator.about['test'] = asdict(translator.evaluate(everyday('test', pair))) # greedy, for the card
    place = ROOT/'annotated_transformer'/dict([('de-en', 'everyday_model'), ('en-de', 'everyday_en_de_model')])[pair]
    translator.save_pretrained(place, int8=True)
    before, after = [(root/'model.safetensors').read_bytes() for root in (folder, place)]
    if before != after: sys.exit('the weights changed: int8 of int8 must be the same')

def word_pairs(pair):
    "Words that translate each other, by the alignment model of the glosses, without the most frequent ones (they stand for no other word alone)."
    from gloss import LETTERS, forms, learn
    frequent = Counter(word.lower() for _, english in everyday(pair='de-en') for word in english.split())
    usual = {word for word, _ in frequent.most_common(60)}
    german = forms(LETTERS.findall(german) for german, _ in everyday())
    words = {german.get(word, word): target for word, target in learn(LEAST_P, least_count=5).items() if target.lower() not in usual and target.lower() != word}
    if pair == 'de-en': return list(words.items())
    return list({target: word for word, target in words.items()}.items()) # the best translation of a word comes last

def translated_back(pair, out):
    "The targets of the training part with the source that the opposite model of the package gives them; new pairs only. They are stored in `out`."
    from annotated_transformer.inference.translator import Translator
    path = out/f'translated-{pair}.json'
    if not path.exists():
        pairs = everyday(pair=pair)
        targets = list(dict.fromkeys(target for _, target in pairs))
        opposite = Translator.from_pretrained(SHIPPED['-'.join(pair.split('-')[::-1])], 'cpu')
        sources = map(str, opposite.translate(iter(targets)))
        given = set(pairs)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([two for two in zip(sources, targets) if two not in given and two[0].strip()], ensure_ascii=False))
    return [tuple(two) for two in json.loads(path.read_text())]

def more_pairs(pair, settings, out):
    "Pairs of the second stage: the training part, new typed copies, its targets translated back, phrases, words. `originals` counts those whose words are spelled right."
    from annotated_transformer.data.corpora import TypedPairs
    from annotated_transformer.data.noise import phrase_pairs, typed_pairs
    pairs = everyday(pair=pair)
    copies = typed_pairs(pairs, settings['typed'], settings['copies_seed'], pair)
    words, phrases = word_pairs(pair), phrase_pairs(pair)
    back = translated_back(pair, out) if settings.get('back', True) else []
    clean = [*pairs, *words, *phrases * PHRASE_COPIES]
    more = TypedPairs([*clean, *copies, *back, *typed_pairs(phrases * 3, 1, 2, pair)])
    more.originals = len(clean)
    print(f'{len(pairs):,} pairs, {len(copies):,} typed, {len(back):,} translated back, {len(words):,} words, {len(phrases)} phrases', flush=True)
    return more

def test_scores(translator, pairs):
    "BLEU and chrF of the test part, beam 4"
    from annotated_transformer.inference.evaluation import bleu_and_chrf, score
    sources, references = zip(*pairs)
    outputs, lang = list(translator.translate(sources, beam_size=4)), translator.about['pair'][-2:]
    _, chrf = bleu_and_chrf(outputs, references, lang)
    return dict(test=asdict(score(outputs, references, lang=lang)), test_chrf=chrf)

def train(name, pair, seed, args):
    "Train, save as int8 and score one translator; return its row."
    from annotated_transformer.data.corpora import load_splits
    from annotated_transformer.data.words import WordSet
    from annotated_transformer.inference.translator import Translator
    from annotated_transformer.train.hardware import hardware
    from annotated_transformer.train.recipes import TYPED_SHARES
    settings = VARIANTS[name]
    model, training, vocab = configured(settings)
    training = replace(training, seed=seed, epochs=args.epochs or training.epochs)
    typed = settings.get('typed', TYPED_SHARES['everyday'])
    further = 'start' in settings # the copies of a further stage are those of `more_pairs`
    parts = load_splits('everyday', pair, typed=0. if further else typed)
    parent = None
    if further:
        parts['train'] = more_pairs(pair, settings, args.out)
        run = args.out/f'{run_name(settings["start"], pair, seed)}-training'
        parent = SHIPPED[pair] if settings['start'] == 'package' else max(run.glob('epoch-*'))
    originals = parts['train'][:parts['train'].originals] if typed else parts['train'] # typed copies have words with slips
    if 'share' in settings:
        rng = random.Random(0)
        parts['train'] = [pair_ for pair_ in parts['train'] if rng.random() < settings['share']]
    if args.pairs: parts = {part: pairs[:args.pairs] for part, pairs in parts.items()}
    folder = args.out/run_name(name, pair, seed)
    start = time.perf_counter()
    translator = Translator.fit(parts['train'], parts['valid'], model, training, 'bpe', None if further else vocab, pair, out=folder.with_name(f'{folder.name}-training'),
                                resume=True, progress=sys.stderr.isatty(), start=parent)
    minutes = (time.perf_counter() - start) / 60
    translator.known_words = WordSet.of(source for source, _ in originals)
    command = f'python .ci/translators.py {json.dumps(name)} --pair {pair} --seeds {seed}'
    if args.epochs: command += f' --epochs {args.epochs}'
    translator.about |= dict(corpus='everyday', typed=typed, command=command, hardware=hardware(translator.device))
    translator.save_pretrained(folder, int8=True)
    saved = Translator.from_pretrained(folder)
    size = sum(file.stat().st_size for file in folder.iterdir() if not file.name.startswith('training_pairs')) # as in the package
    row = dict(variant=name, pair=pair, seed=seed, settings=settings, epochs=training.epochs, pairs=len(parts['train']), model=asdict(model), vocab=vocab,
               bytes=size, minutes=round(minutes, 1), hardware=hardware(translator.device), command=command,
               greedy=asdict(saved.evaluate(parts['valid'])), valid=asdict(saved.evaluate(parts['valid'], beam_size=4)))
    if args.test: row |= test_scores(saved, parts['test'])
    return row

def main():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help='variants')
    parser.add_argument('--pair', default='de-en', choices=('de-en', 'en-de'))
    parser.add_argument('--seeds', type=int, nargs='+', default=[0])
    parser.add_argument('--out', type=Path, default=ROOT/'runs', help='folder of the models')
    parser.add_argument('--epochs', type=int, help='another number of epochs, to try the script')
    parser.add_argument('--pairs', type=int, help='only so many pairs of each part, to try the script; nothing is recorded')
    parser.add_argument('--test', action='store_true', help='score the test part too: for the chosen recipe only')
    parser.add_argument('--package', action='store_true', help='train nothing: put the trained variant into the package, with a calibrated confidence')
    parser.add_argument('--list', action='store_true', help='print the variants')
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in VARIANTS]: sys.exit(f'no variant: {", ".join(unknown)}')
    if args.list or not args.names: return print(*(f'{name}: {settings}' for name, settings in VARIANTS.items()), sep='\n')
    if args.package: return package(args.out/run_name(args.names[0], args.pair, args.seeds[0]), args.pair)
    for name in args.names:
        for seed in args.seeds:
            row = train(name, args.pair, seed, args)
            print(json.dumps(row), flush=True)
            if args.pairs: continue
            rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
            RESULTS.write_text(json.dumps([*rows, row], indent=1) + '\n')

if __name__ == '__main__': main()
