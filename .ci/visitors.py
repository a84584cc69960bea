"""`python .ci/visitors.py [--judge]`: translate the sentences of nbs/results/visitors.json, 20 of each kind as visitors type them, with the model `everyday`.

A person has judged each output: true where a reader understands what the German sentence says, and false otherwise. A judgement holds for its output; an
output that is new gets none (null), is listed, and waits for a person. `--judge` asks for each of them."""
import json
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
        output = str(translator.translate(source))
        return [source, output, judged if output == old else None]
    return {kind: [row(*given) for given in rows] for kind, rows in kinds.items()}

def written(kinds):
    "The file's text: one line for each sentence."
    def block(kind, rows): return f'  {json.dumps(kind)}: [\n' + ',\n'.join(f'   {json.dumps(row, ensure_ascii=False)}' for row in rows) + ']'
    return '{"command": "python .ci/visitors.py",\n "kinds": {\n' + ',\n'.join(block(*item) for item in kinds.items()) + '}}\n'

def main():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('--judge', action='store_true', help='ask for a judgement of each new output')
    args = parser.parse_args()
    kinds = translated(json.loads(PATH.read_text())['kinds'])
    new = [row for rows in kinds.values() for row in rows if row[2] is None]
    for row in new:
        print(f'{row[0]} → {row[1]}')
        if args.judge: row[2] = input('understood? [y/n] ').strip().lower() == 'y'
    PATH.write_text(written(kinds))
    for kind, rows in kinds.items(): print(f'{sum(row[2] is True for row in rows)} of {len(rows)}  {kind}')
    if new and not args.judge: sys.exit(f'{len(new)} outputs wait for a judgement')

if __name__ == '__main__': main()
