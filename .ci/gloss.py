"""`python .ci/gloss.py`: learn a literal gloss for German words from the training part of the everyday corpus, and compare it with nbs/live/gloss.gz; `--write` replaces the file.
IBM model 1 (`lexical_table`) gives p(English | German). A gloss maximizes p(English | German) · p(German | English) and is kept from two occurrences and p(English | German) ≥ 0.1 on."""
import gzip
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PATH, LEAST, MOST_BYTES = ROOT/'nbs/live/gloss.gz', 0.1, 250_000
LETTERS = re.compile(r'[^\W_]+')
IS = 'he she it that this there here what who where how when why let'.split()
SHORT = [(r"\bcan't\b", 'can not'), (r"\bwon't\b", 'will not'), (r"\bshan't\b", 'shall not'), (r"n't\b", ' not'), (r"'m\b", ' am'), (r"'re\b", ' are'),
         (r"'ve\b", ' have'), (r"'ll\b", ' will'), (r"'d\b", ' would'), (rf"\b({'|'.join(IS)})'s\b", r'\1 is'), (r"'s\b", '')]

def english_words(text):
    "Words without contractions, in their case"
    text = text.replace('’', "'")
    for pattern, words in SHORT: text = re.sub(pattern, words, text, flags=re.I)
    return LETTERS.findall(text)

def numbered(sentences):
    "Rows of ids of words in lower case, and the words"
    ids = defaultdict(lambda: len(ids))
    return [[ids[word.lower()] for word in words] for words in sentences], list(ids)

def forms(sentences):
    "Lower case -> the most frequent form inside of sentences"
    counts = Counter(word for words in sentences for word in words[1:])
    best = {}
    for word, _ in sorted(counts.items(), key=lambda item: (item[1], item[0])): best[word.lower()] = word
    return best

def learn(least_p=LEAST, least_count=2):
    "German word -> English word; the surest pair comes last"
    from annotated_transformer.data.everyday import everyday_pairs
    from annotated_transformer.inference.shortlist import lexical_table
    torch.set_num_threads(1)
    pairs = everyday_pairs('train', 'de-en')
    german, english = [LETTERS.findall(s) for s, _ in pairs], [english_words(t) for _, t in pairs]
    (sources, de), (targets, en), shown = numbered(german), numbered(english), forms(english)
    table = lexical_table(sources, targets, (len(de), len(en)))
    number = torch.bincount(torch.tensor([i for row in sources for i in row]), minlength=len(de) + 1).double()
    number[len(de)] = len(pairs) # NULL stands in each sentence
    together = number[table.source] * table.p
    score = together * table.p / torch.bincount(table.target, together, minlength=len(en))[table.target]
    score[table.p < least_p] = 0
    gloss = {}
    for i in score.argsort(stable=True).tolist(): # the best comes last
        source = int(table.source[i])
        if score[i] > 0 and source < len(de) and number[source] >= least_count:
            word = en[int(table.target[i])]
            gloss[de[source]] = shown.get(word, word)
    return gloss

def main():
    gloss = learn()
    text = ''.join(f'{word}\t{gloss[word]}\n' for word in sorted(gloss))
    data = gzip.compress(text.encode(), 9, mtime=0)
    print(f'{len(gloss):,} German words, {len(data):,} bytes')
    if len(data) > MOST_BYTES: sys.exit(f'more than {MOST_BYTES:,} bytes')
    if '--write' in sys.argv: return PATH.write_bytes(data)
    if gzip.decompress(PATH.read_bytes()).decode() != text: sys.exit(f'{PATH.name} has other glosses')
    same = PATH.read_bytes() == data # another version of zlib may compress otherwise
    print(f"{PATH.name}: the same glosses, {'the same bytes' if same else 'compressed otherwise'}")

if __name__ == '__main__': main()
