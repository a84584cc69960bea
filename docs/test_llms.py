"The texts for language models in a built site: `python docs/test_llms.py _site`."
import importlib
import re
import sys
from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from llms import BUDGET, SITE, markdown, shortened
from menu import pages, parts

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = { # a question, and what its answer must have
    'How is it installed?': 'pip install .', 'How do I translate one sentence?': 'at-translate "', 'How do I train on my own file?': 'at-train --data corpus.tsv',
    'How do I score a model?': 'at-evaluate --model', 'Which command compares speed?': 'at-bench', 'How is a saved model loaded?': 'from_pretrained',
    'How do I train in Python?': 'Translator.fit', 'Does True in a mask mean "may attend"?': '"may attend"', 'What hides later positions?': 'subsequent_mask(',
    'How is a model made?': 'make_model(src_vocab, tgt_vocab', 'Which norm is the default?': 'norm_first=True', 'How are weights tied?': "tie='none'",
    'How is attention called?': 'attention(query, key, value', 'How do I see attention weights?': 'record_attention(', 'How is the rate computed?': 'rate(step',
    'Is beam search there?': 'beam_search(', 'Is sampling there?': 'sample_decode(', 'Can a model be exported?': 'export_ctranslate2(',
    'Can nn.Transformer be converted?': 'from_torch(', 'How is BLEU computed?': 'corpus_bleu(', 'How are checkpoints averaged?': 'average(',
    'How is a checkpoint saved?': 'save_checkpoint(', 'Which corpora have names?': 'load_corpus(', 'Is there a corpus without download?': 'pocket_pairs(',
    'Do I need a GPU?': 'Do I need a GPU?', 'Why is the loss NaN?': 'Why is the loss NaN?', 'Does it run on Colab?': 'Colab', 'How is a batch made?': 'Batch(src',
    'What smooths labels?': 'LabelSmoothing(size', 'Why do I not reach 27.3 BLEU?': '27.3'}

nb = new_notebook(cells=[
    new_markdown_cell('# T\n\n<span id="api-f"></span>\n\n{.source}\n[source](x)\n\n[Page](other.ipynb#part) <details open>\n\n'), new_code_cell('f(1)', outputs=[new_output('execute_result', {'text/plain': '2'})]),
    new_code_cell('hidden', metadata=dict(tags=['remove-input']), outputs=[new_output('display_data', {'text/html': '<figure class="chart" aria-label="a &amp; b">'})]),
    new_markdown_cell('Last.\n\n## Tests\n\nnot here'), new_code_cell('nor this')])
assert markdown(nb) == '# T\n\n[source](x)\n\n[Page](other.md)\n\n```python\nf(1)\n```\n\n```\n2\n```\n\n[Figure: a & b]\n\nLast.\n', markdown(nb)
assert shortened('x\n' * 50).endswith('x\n… 10 more lines')

site = Path(sys.argv[1])
text, listing = ((site/name).read_text(encoding='utf-8') for name in ('llms-ctx.txt', 'llms.txt'))
menu = parts(ROOT/'_quarto.yml')
links = re.findall(rf'\({re.escape(SITE)}/([\w.-]+)\)', listing)
assert {link.removesuffix('.md') for link in links} == {name for part in menu for name in pages(part)} | {'llms-ctx.txt'}, 'every page is listed'
for link in links: assert (site/link).is_file(), f'{link} is missing'
assert listing.startswith('# ') and '\n> ' in listing and '\n## Optional\n' in listing

assert len(text.encode()) <= BUDGET, f'the context file has {len(text.encode()):,} bytes'
for question, answer in QUESTIONS.items(): assert answer in text, f'{question} has no answer in llms-ctx.txt: {answer}'
assert len(QUESTIONS) == 30
module, names = None, 0
for line in text.splitlines():
    if match := re.match(r'### from ([\w.]+) import', line): module = importlib.import_module(match[1])
    elif module and (match := re.match(r'- `(\w+)', line)):
        names += 1
        assert hasattr(module, match[1]), f'{module.__name__} has no {match[1]}'
assert names > 120, names

for page in sorted(site.glob('*.md')): # twins lead to twins
    for link in re.findall(r'\]\(([\w-]+\.md)', page.read_text(encoding='utf-8')): assert (site/link).is_file(), f'{page.name}: no {link}'
print(f'llms: ok, {len(links)} pages, {names} names, {len(text.encode()):,} bytes of context')
