"""The models of the live page beside its scripts: `python .ci/live_models.py _site/live [NAME=FOLDER ...]`.
Copies each built-in model that the package holds (or the given folders), with a translation that is shown before the model is loaded, and lists them in models.json."""
import json
import shutil
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
FILES = 'MANIFEST.json', 'config.json', 'tokenizer.json', 'model.safetensors', 'known_words.safetensors'
ORDER = 'everyday', 'everyday-en-de', 'pocket' # the first that is there is shown
sys.path.insert(0, str(ROOT))

def present():
    "Name -> folder of the built-in models that this package holds"
    from annotated_transformer.inference.model_folder import BUILT_IN
    places = {name: ROOT/'annotated_transformer'/BUILT_IN[name] for name in ORDER}
    return {name: place for name, place in places.items() if (place/'MANIFEST.json').is_file()}

def run_of(translator, text):
    "Pieces of a greedy translation and all of its attention maps"
    from annotated_transformer.data.words import BOS, EOS
    from annotated_transformer.inference.decoding import greedy_search
    from annotated_transformer.transformer import record_attention, subsequent_mask
    tok, model = translator.src_tokenizer, translator.model
    src = torch.tensor([[*tok.encode(text), EOS]])
    with torch.no_grad(), record_attention(model) as maps:
        tgt = greedy_search(model, src, None, src.size(1) + 50, BOS, EOS)
        model(src, tgt[:, :-1], None, subsequent_mask(tgt.size(1) - 1))
    rounded = {name: [[[round(x, 3) for x in row] for row in head] for head in w[0].tolist()] for name, w in maps.items()}
    return dict(src=tok.pieces(src[0]), tgt=tok.pieces(tgt[0]), text=tok.decode(tgt[0]), maps=rounded)

def chips(name, pair, phrases=ROOT/'nbs/live/phrases.json'):
    "Example sentences of a model, as in nbs/live/live.js"
    rows = json.loads(phrases.read_text(encoding='utf-8'))
    return rows.get(name, rows.get(pair.split('-')[0], dict(chips=[])))['chips']

def listed(models):
    "models.json: what the page knows of a model before it is loaded"
    rows = []
    for name, folder in models.items():
        pair = json.loads((folder/'config.json').read_text(encoding='utf-8'))['about'].get('pair', 'de-en')
        place = f'{name.replace("-", "_")}_model'
        example = 'example.json' if name == 'pocket' else f'{place}/example.json' if chips(name, pair) else None
        size = sum((folder/file).stat().st_size for file in FILES if (folder/file).is_file())
        rows.append(dict(name=name, folder=place, pair=pair, bytes=size, example=example))
    return rows

def write_models(target, models):
    "Copy the models, make their examples, and write the list"
    from annotated_transformer.inference.translator import Translator
    for row, folder in zip(rows := listed(models), models.values()):
        place = target/row['folder']
        place.mkdir(parents=True, exist_ok=True)
        for file in FILES:
            if (folder/file).is_file(): shutil.copyfile(folder/file, place/file)
        if row['name'] == 'pocket' or not row['example']: continue # nbs/live/example.json, with the gold alignment
        torch.set_num_threads(1)
        run = run_of(Translator.from_pretrained(folder, device='cpu'), chips(row['name'], row['pair'])[0])
        (target/row['example']).write_text(json.dumps(dict(run=run), ensure_ascii=False, separators=(',', ':')) + '\n', encoding='utf-8')
    (target/'models.json').write_text(json.dumps(rows) + '\n', encoding='utf-8')

def main():
    given = dict(arg.split('=', 1) for arg in sys.argv[2:])
    write_models(Path(sys.argv[1]), {name: Path(folder) for name, folder in given.items()} or present())

if __name__ == '__main__': main()
