"""`python .ci/everyday.py deu-eng-2018-05-13.tsv.xz`: make the parts of the everyday corpus from Tatoeba's file (English, tab, German) and compare them with
the file of the package; `--write` replaces it. The file is that of manythings.org/anki, 169,813 lines."""
import lzma
import sys
from argparse import ArgumentParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PATH = ROOT/'annotated_transformer/data/everyday.xz'

def packed(path):
    "The parts one after another, German and English, as text and compressed."
    from annotated_transformer.data.everyday import EVERYDAY_SIZES, everyday_groups, split_groups
    with lzma.open(path, 'rt', encoding='utf-8', newline='\n') as file: pairs = [tuple(line.rstrip('\n').split('\t'))[::-1] for line in file]
    parts = split_groups(everyday_groups(pairs))
    sizes = {part: len(numbers) for part, numbers in parts.items()}
    if sizes != EVERYDAY_SIZES: sys.exit(f'{path} gives parts of other sizes: {sizes}')
    text = ''.join(f'{pairs[n][0]}\t{pairs[n][1]}\n' for part in EVERYDAY_SIZES for n in parts[part]).encode()
    return text, lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)

def main():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('path', help="Tatoeba's file")
    parser.add_argument('--write', action='store_true', help='replace the file of the package')
    args = parser.parse_args()
    text, data = packed(args.path)
    if args.write: return PATH.write_bytes(data)
    if lzma.decompress(PATH.read_bytes()) != text: sys.exit(f'{PATH.name} has other pairs')
    same = PATH.read_bytes() == data # another version of liblzma may compress otherwise
    print(f"{PATH.name}: the same pairs, {'the same bytes' if same else 'compressed otherwise'}")

if __name__ == '__main__': main()
