"""`python .ci/visitors.py [--judge]`: translate the sentences of nbs/results/visitors.json, 20 of each kind as visitors type them, with the model `everyday`.

The authors of the project have judged each output: true where a reader understands what the German sentence says, and false otherwise. A judgement holds for its output; an
output that is new gets none (null), is listed, and waits for them. `--judge` asks for each of them.

`--kinds NAME=FOLDER …` scores models on the validation part instead, as it is and with each kind of change of page 28, and writes
nbs/results/typed_kinds.json.

`--spelling` scores the models of the package on typed validation sentences with and without the step of page 28a, and writes nbs/results/spelling.json.

`--quotations` scores the models of the package on validation sentences with a quotation, as a whole and with the quotation translated alone (page 25), and
writes nbs/results/quotations.json."""
import json
import random
import sys
from argparse import ArgumentParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PATH = ROOT/'nbs/results/visitors.json'

def translated(kinds):
    "The rows of each kind with the outputs of the model: source, output, judgement."
    from annotated_transformer.inference.translator import Translator
    translator = Translator.from_pretrained('everyday', 'cpu')
    def row(source, old, judged):
        output = str(translator.translate(source, beam_size=4)) # as at-translate
        return [source, output, judged if output == old else None]
    return {kind: [row(*given) for given in rows] for kind, rows in kinds.items()}

def kind_scores(folder):
    "BLEU of the validation part, greedy, as it is and with each kind of change; of a kind only the sentences that it changes."
    from annotated_transformer.data.everyday import everyday_pairs
    from annotated_transformer.data.noise import TYPED_KINDS, typed_text
    from annotated_transformer.inference.evaluation import score
    from annotated_transformer.inference.translator import Translator
    translator = Translator.from_pretrained(folder, 'cpu')
    translator.spelling = None # what the training alone gives
    lang, other = translator.about['pair'].split('-')
    sources, references = map(list, zip(*everyday_pairs('validation', translator.about['pair'])))
    def translated(texts): return [*map(str, translator.translate(iter(texts)))]
    def bleu(outputs, numbers): return round(score(outputs, [references[n] for n in numbers], lang=other).bleu, 1)
    usual = translated(sources) # once for all kinds
    scores = {'as it is': dict(sentences=len(sources), bleu=bleu(usual, range(len(sources))))}
    foreign = dict(de='apostrophes', en='umlauts')[lang] # a kind of the other language
    for kind in TYPED_KINDS:
        if kind == foreign: continue
        rng = random.Random(0)
        typed = [typed_text(source, rng, kind, lang) for source in sources]
        changed = [n for n, source in enumerate(sources) if typed[n] != source]
        scores[kind] = dict(sentences=len(changed), bleu=bleu(translated(typed[n] for n in changed), changed),
                            unchanged=bleu([usual[n] for n in changed], changed))
    return scores

def spelling_scores(name):
    "BLEU of the typed validation part, greedy, without and with the spelling step, and how many words it restores."
    from annotated_transformer.data.everyday import everyday_pairs
    from annotated_transformer.data.noise import typed_text
    from annotated_transformer.data.spelling import Spelling
    from annotated_transformer.inference.evaluation import score
    from annotated_transformer.inference.translator import Translator
    translator = Translator.from_pretrained(name, 'cpu')
    translator.spelling = None
    lang, other = translator.about['pair'].split('-')
    spelling = Spelling.of(translator.known_words, translator.src_tokenizer, lang)
    sources, references = map(list, zip(*everyday_pairs('validation', translator.about['pair'])))
    scores = {}
    for kind in (None, 'slip', dict(de='umlauts', en='apostrophes')[lang]):
        rng = random.Random(0)
        typed = [typed_text(source, rng, kind, lang) if kind else source for source in sources]
        rows = [n for n, source in enumerate(sources) if kind is None or typed[n] != source]
        restored = [spelling.restore(text)[0] for text in typed]
        exchanged = [n for n in rows if restored[n] != typed[n]]
        outputs = dict(zip(rows, map(str, translator.translate(typed[n] for n in rows))))
        new = outputs | dict(zip(exchanged, map(str, translator.translate(restored[n] for n in exchanged))))
        def bleu(outputs): return round(score([outputs[n] for n in rows], [references[n] for n in rows], lang=other).bleu, 1)
        scores[kind or 'nothing'] = {'sentences': len(rows), 'exchanged in': len(exchanged), 'as it was': sum(restored[n] == sources[n] for n in exchanged),
                                     'BLEU as typed': bleu(outputs), 'BLEU restored': bleu(new)}
    return scores

def quotation_scores(name):
    "BLEU of typed validation sentences with a quotation, greedy, with and without its own translation."
    from annotated_transformer.data.everyday import everyday_pairs
    from annotated_transformer.data.noise import typed_pairs
    from annotated_transformer.data.sentences import quotation
    from annotated_transformer.inference.evaluation import score
    from annotated_transformer.inference.translator import Translator
    translator = Translator.from_pretrained(name, 'cpu')
    pair = translator.about['pair']
    copies = [copy for seed in range(5) for copy in typed_pairs(everyday_pairs('validation', pair), 1, seed, pair)]
    sources, references = zip(*(copy for copy in copies if quotation(copy[0])))
    def bleu(split): return round(score([*map(str, translator.translate(iter(sources), split_sentences=split))], [*references], lang=pair[3:]).bleu, 1)
    return {'sentences': len(sources), 'BLEU as a whole': bleu(False), 'BLEU with the quotation alone': bleu(True)}

def written(kinds):
    "The file's text: one line for each sentence."
    def block(kind, rows): return f'  {json.dumps(kind)}: [\n' + ',\n'.join(f'   {json.dumps(row, ensure_ascii=False)}' for row in rows) + ']'
    return '{"command": "python .ci/visitors.py",\n "kinds": {\n' + ',\n'.join(block(*item) for item in kinds.items()) + '}}\n'

def main():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('--judge', action='store_true', help='ask for a judgement of each new output')
    parser.add_argument('--kinds', nargs='+', metavar='NAME=FOLDER', help='score these models on changed validation sentences')
    parser.add_argument('--spelling', action='store_true', help='score the spelling step on changed validation sentences')
    parser.add_argument('--quotations', action='store_true', help='score validation sentences with a quotation')
    args = parser.parse_args()
    if args.quotations:
        scores = {name: quotation_scores(name) for name in ('everyday', 'everyday-en-de')}
        print(json.dumps(scores, indent=1))
        record = dict(command='python .ci/visitors.py --quotations', models=scores)
        return (ROOT/'nbs/results/quotations.json').write_text(json.dumps(record, indent=1) + '\n')
    if args.spelling:
        scores = {name: spelling_scores(name) for name in ('everyday', 'everyday-en-de')}
        print(json.dumps(scores, indent=1))
        record = dict(command='python .ci/visitors.py --spelling', models=scores)
        return (ROOT/'nbs/results/spelling.json').write_text(json.dumps(record, indent=1) + '\n')
    if args.kinds:
        scores = {name: kind_scores(folder) for name, _, folder in (given.partition('=') for given in args.kinds)}
        print(json.dumps(scores, indent=1))
        record = dict(command='python .ci/visitors.py --kinds NAME=FOLDER ...', models=scores)
        return (ROOT/'nbs/results/typed_kinds.json').write_text(json.dumps(record, indent=1) + '\n')
    kinds = translated(json.loads(PATH.read_text())['kinds'])
    new = [row for rows in kinds.values() for row in rows if row[2] is None]
    for row in new:
        print(f'{row[0]} → {row[1]}')
        if args.judge: row[2] = input('understood? [y/n] ').strip().lower() == 'y'
    PATH.write_text(written(kinds))
    for kind, rows in kinds.items(): print(f'{sum(row[2] is True for row in rows)} of {len(rows)}  {kind}')
    if new and not args.judge: sys.exit(f'{len(new)} outputs wait for a judgement')

if __name__ == '__main__': main()
