"""The models of nbs/live in Chromium, beside PyTorch, and its page: `python .ci/live.py [int8] [sentences] [_site] [folder for pictures]`.
Each built-in model that the package holds is compared. With `int8`, only folders of int8 weights are, and a model of preset `small` is timed."""
import ast
import functools
import http.server
import json
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import unicodedata
from itertools import accumulate
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

from annotated_transformer.build import build, core_settings
from annotated_transformer.config import TransformerConfig, preset
from annotated_transformer.data.bpe import SubwordTokenizer
from annotated_transformer.data.everyday import everyday_pairs
from annotated_transformer.data.normalize import clean_text
from annotated_transformer.data.noise import typed_text
from annotated_transformer.data.pocket import pocket_pairs
from annotated_transformer.data.words import BOS, EOS, SPECIALS, WordSet, WordTokenizer
from annotated_transformer.inference.beam import SearchOptions, beam_search
from annotated_transformer.inference.decoding import greedy_search, top_k_top_p
from annotated_transformer.inference.translator import Translator
from annotated_transformer.transformer import record_attention, subsequent_mask
from live_models import chips, listed, present
from proof import with_fault

LIVE = Path(__file__).resolve().parent.parent/'nbs'
PACKAGE = LIVE.parent/'annotated_transformer'
INT8, GIVEN = 'int8' in sys.argv[1:2], [arg for arg in sys.argv[1:] if arg != 'int8']
COUNT = int(GIVEN[0]) if GIVEN else 500
SITE = Path(GIVEN[1]).resolve() if len(GIVEN) > 1 else None
PICTURES = Path(GIVEN[2]) if len(GIVEN) > 2 else None
BUILT_IN = listed(present())
MODELS = dict(zip((row['folder'] for row in BUILT_IN), present().values())) # folder beside the scripts -> its place
FIRST = chips(BUILT_IN[0]['name'], BUILT_IN[0]['pair'])[0] # the sentence that the page begins with
POCKET = '#model=pocket' # the model of the tests with a gold alignment
FLAGS = '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'.split()
PREPARE = '''async folder => {
    const [T, {SubwordTokenizer, clean_text}] = [await import("/live/transformer.js"), await import("/live/tokenizer.js")];
    const {split_text} = await import("/live/sentences.js"), {is_empty} = await import("/live/normalize.js");
    const {read_state, translate} = await import("/live/live.js"), {WordSet} = await import("/live/unknown.js");
    const {spelling_of} = await import("/live/spelling.js");
    const get = name => fetch(`/live/${folder}/${name}`);
    const weights = T.read_weights(await (await get("model.safetensors")).arrayBuffer());
    const tokenizer = new SubwordTokenizer(await (await get("tokenizer.json")).json());
    const {model: config, about} = await (await get("config.json")).json();
    const known_words = new WordSet(await (await get("known_words.safetensors")).arrayBuffer());
    const spelling = spelling_of({tokenizer, words: known_words, pair: about.pair ?? "de-en"}, about);
    Object.assign(window, {T, spelling, weights, tokenizer, clean_text, config, model: T.make_model(weights, config)});
    const run = s => [...translate({weights, tokenizer, config}, {...read_state(""), s})].at(-1)();
    window.columns = ({text, output}) => {
        const clean = clean_text(text), ids = tokenizer.encode(text);
        const row = {text, clean, empty: is_empty(text), sentences: split_text(clean, "de"), words: tokenizer.words(text), ids};
        Object.assign(row, {pieces: tokenizer.pieces(ids), back: tokenizer.decode(ids), unknown: known_words.unknown(text)});
        return output === undefined ? row : {...row, output: run(text).text};
    };
}'''
TRANSLATE = '''texts => texts.map(text => {
    const read = spelling?.restore(text)[0] ?? text;
    const {src, max_len} = T.sources(tokenizer.encode(read)), mask = T.padding_mask(src);
    const start = performance.now();
    const greedy = T.greedy_search(model, src, mask, max_len), ms = (performance.now() - start) / greedy.length;
    const beam = T.beam_search(model, src, mask, max_len, {beam_size: 4, length_penalty: 0.6});
    return {src, greedy, beam: beam.ids, score: beam.score, ms};
})'''
SPEED = '''async folder => {
    const T = await import("/live/transformer.js"), get = name => fetch(`/live/${folder}/${name}`), read = performance.now();
    const weights = T.read_weights(await (await get("model.safetensors")).arrayBuffer());
    const model = T.make_model(weights, (await (await get("config.json")).json()).model), loaded = performance.now() - read;
    const src = [...Array(12).keys()].map(i => 5 + 7 * i), mask = T.padding_mask(src), ms = [], first = [];
    for (let n = 0; n < 20; n++) {
        let before = performance.now();
        const decoder = new T.IncrementalDecoder(model, src, mask), prefix = decoder.start();
        first.push(performance.now() - before);
        for (let i = 0; i < 15; i++) {
            before = performance.now();
            const logits = decoder.logits(prefix);
            prefix.ids = [...prefix.ids, T.top(logits, 1)[0]];
            ms.push(performance.now() - before);
        }
    }
    const median = list => list.sort((a, b) => a - b)[list.length >> 1];
    return [loaded, median(first), median(ms), Math.min(...ms)];
}'''
MAPS = '''rows => rows.map(([src, tgt]) => {
    const [out, seen] = T.record(() => model.forward(src, tgt, T.padding_mask(src)));
    const maps = Object.entries(seen).filter(([, one]) => one.heads);
    return Object.fromEntries(maps.map(([name, {heads}]) => [name, heads.map(({weights: w}) =>
        Array.from({length: w.rows}, (_, i) => Array.from(w.row(i))))]));
})'''

EDITED = '''async ([texts, change]) => {
    const {read_state, translate} = await import("/live/live.js"), core = {weights, tokenizer, config};
    return texts.map(s => {
        const run = [...translate(core, {...read_state(""), s, ...change})].at(-1)();
        return {ids: run.ids, maps: run.maps, score: run.score ?? null};
    });
}'''

class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, '.js': 'text/javascript'}
    def log_message(self, *args): pass

    def translate_path(self, path):
        "The site has a copy of the package's model; nbs/live has none."
        place = Path(super().translate_path(path))
        model = place.parent.name if place.parent.parent == LIVE/'live' else None
        return str(MODELS[model]/place.name if model in MODELS else place)

def serve(folder):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Quiet, directory=folder))
    server.handle_error = lambda *args: None # a page that is left while it loads
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f'http://127.0.0.1:{server.server_address[1]}/'

def open_page(browser, base, faults, **context):
    "A page on which each request off this machine, error and missing file is noted"
    page = browser.new_context(**context).new_page()
    def gate(route):
        url = route.request.url
        if url.endswith('/blank'): return route.fulfill(body='<!doctype html><title>blank</title>', content_type='text/html')
        if url.startswith((base, 'data:', 'blob:')): return route.continue_()
        faults.append(f'asks for {url}')
        route.abort()
    page.route('**/*', gate)
    page.on('console', lambda m: faults.append(f'console: {m.text}') if m.type in ('error', 'warning') else None)
    page.on('pageerror', lambda e: faults.append(f'script: {e}'))
    page.on('response', lambda r: faults.append(f'{r.status} for {r.url}') if r.status >= 400 else None)
    return page

def reference(translator, ids):
    "Greedy and beam search of PyTorch for source ids, without start and end"
    src = torch.tensor([[*ids, EOS]])
    limit = 1 + len(ids) + 50
    with torch.no_grad():
        greedy = greedy_search(translator.model, src, None, limit, BOS, EOS)[0].tolist()
        beam = beam_search(translator.model, src, None, limit, BOS, EOS, SearchOptions(beam_size=4))[0][0]
    return src[0].tolist(), greedy, [BOS, *beam.ids], beam.score

def check_translations(page, translator, texts):
    found = page.evaluate(TRANSLATE, texts)
    wrong = []
    for text, one in zip(texts, found):
        src, greedy, beam, score = reference(translator, translator.src_tokenizer.encode(translator.read_source(text)))
        same = (one['src'], one['greedy'], one['beam']) == (src, greedy, beam)
        if not same or abs(one['score'] - score) > 1e-3: wrong.append(f'another translation of {text!r}')
    ms = sorted(one['ms'] for one in found)[len(found) // 2]
    if ms > 60: wrong.append(f'{ms:.0f} ms per token') # 15 on a free machine
    print(f'{ms:.1f} ms per token; {len(texts) - len(wrong)} of {len(texts)} sentences have the tokens of PyTorch, greedy and beam')
    return wrong

def check_int8(page, translator, texts):
    "The model stored as int8, opened by both, and the time of a larger one"
    with tempfile.TemporaryDirectory() as folder:
        MODELS['int8_model'] = translator.save_pretrained(Path(folder)/'pocket', int8=True)
        page.evaluate(PREPARE, 'int8_model')
        loaded = Translator.from_pretrained(MODELS['int8_model'], device='cpu')
        print('int8: ', end='')
        faults = [f'int8: {fault}' for fault in check_translations(page, loaded, texts) + check_maps(page, loaded, texts[:20])]
        faults += [fault for row in BUILT_IN if row['name'] != 'pocket' for fault in check_built_in(page, row)]
        page.evaluate(PREPARE, 'pocket_model')
        return faults + check_speed(page, Path(folder)/'small')

def check_built_in(page, row):
    "A model of everyday sentences beside PyTorch, on its test set"
    translator = Translator.from_pretrained(MODELS[row['folder']], device='cpu')
    texts = [source for source, _ in everyday_pairs('test', row['pair'])[:COUNT]]
    rng = random.Random(0)
    texts[::2] = [typed_text(text, rng, 'slip') for text in texts[::2]] # as visitors type
    page.evaluate(PREPARE, row['folder'])
    print(f"{row['name']}, {row['bytes'] / 1e6:.1f} MB: ", end='')
    faults = check_translations(page, translator, texts) + check_maps(page, translator, texts[:20])
    unknown = [word for text in chips(row['name'], row['pair']) for word in translator.known_words.unknown(text)]
    return [f"{row['name']}: {fault}" for fault in faults + [f'unknown words of examples: {unknown}'] * bool(unknown)]

def check_speed(page, folder, vocab=8000):
    "Milliseconds per token of a model of 3 + 3 layers and width 256 with random weights"
    torch.manual_seed(0)
    config = preset('small', tie='all')
    tokens = WordTokenizer(None, [*SPECIALS, *map(str, range(vocab - len(SPECIALS)))], 'wordlevel')
    model = build(config, vocab, vocab)
    faults = []
    for int8 in (False, True):
        MODELS['small_model'] = Translator(model, tokens, tokens, config, {}, 'cpu').save_pretrained(folder, int8=int8)
        loaded, encoded, ms, least = page.evaluate(SPEED, 'small_model')
        size = (folder/'model.safetensors').stat().st_size / 1e6
        print(f'preset small, {"int8" if int8 else "float32"}, {size:.1f} MB: read in {loaded:.0f} ms, 12 tokens encoded in {encoded:.0f} ms, '
              f'{ms:.1f} ms per token (least {least:.1f})')
        if ms > 60: faults.append(f'small: {ms:.0f} ms per token') # 15 on a free machine
    return faults

def random_settings(rng):
    "A size of the paper's architecture"
    h = rng.choice((1, 2, 4, 8))
    return dict(N=rng.randint(1, 3), N_decoder=rng.choice((None, 1, 2, 4)), h=h, d_model=h * rng.choice((4, 6, 8, 16)), d_ff=rng.choice((20, 48, 100)),
                tie='all', norm_first=True, dropout=rng.choice((0., .1)))

def check_folders(page, tokenizer, folder, count=20):
    "Folders of other sizes with random weights, as floats and as integers: the tokens of PyTorch, greedy and beam"
    rng, texts, faults = random.Random(0), ['Das Kind liest.', 'wo 12 Hunde?', 'Ää! '], []
    for n in range(count):
        torch.manual_seed(n)
        config = TransformerConfig(**random_settings(rng))
        model = build(config, len(tokenizer), len(tokenizer))
        with torch.no_grad(): model.generator.proj.weight.mul_(4) # probabilities far from equal
        translator = Translator(model, tokenizer, tokenizer, config, {}, 'cpu')
        translator.known_words = WordSet.of(texts)
        MODELS['own_model'] = translator.save_pretrained(folder, int8=bool(n % 2))
        page.evaluate(PREPARE, 'own_model')
        loaded = Translator.from_pretrained(folder, device='cpu')
        for text, one in zip(texts, page.evaluate(TRANSLATE, texts)):
            if (one['src'], one['greedy'], one['beam']) != reference(loaded, tokenizer.encode(text))[:3]: faults.append(f'folder {n}, {config}: {text!r}')
    print(f'{count} folders of other sizes, {len(faults)} of {count * len(texts)} translations differ from PyTorch')
    return faults

def check_maps(page, translator, texts):
    found = page.evaluate(TRANSLATE, texts)
    rows = [(one['src'], one['greedy'][:-1]) for one in found]
    largest = 0.
    for (src, tgt), maps in zip(rows, page.evaluate(MAPS, rows)):
        with torch.no_grad(), record_attention(translator.model) as recorded:
            translator.model(torch.tensor([src]), torch.tensor([tgt]), None, subsequent_mask(len(tgt)))
        assert maps.keys() == recorded.keys()
        for name, want in recorded.items(): largest = max(largest, (torch.tensor(maps[name]) - want[0]).abs().max().item())
    print(f'largest difference of an attention weight: {largest:.1e}')
    return [] if largest < 1e-3 else [f'attention differs by {largest}']

def fuzzed(n, seed=0):
    "Strings of every kind of character that this Python knows"
    rng, letters = random.Random(seed), 'aeinrstäöüßDEKM  .,!?\'’-0123456789'
    known = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ('Cn', 'Cs', 'Co')]
    odd = '\u00a0\u2003\u200b\u200d\u200c\ufeff\u00ad\u0301\u0308\t\n\r\x0b\x1c\x85\x00\x07\u2028\u202e\U0001f600\ud55c\ufb01\u0130'
    marks = [c for c in known if unicodedata.combining(c)] + list('\u200c\u200d\u180e\U000e0061\u0f73\u0645\u0915x')
    def one():
        kinds = rng.choices((letters, odd, known, marks), rng.choice(((6, 2, 1, 0), (1, 1, 1, 6))), k=rng.randint(0, 60))
        return ''.join(rng.choice(kind) for kind in kinds) + rng.choice(('', '\u0301' * rng.randint(0, 60)))
    return [one() for _ in range(n)]

def check_tokenizer(page, tokenizer):
    texts = [text for p in pocket_pairs(5000) for text in (p.src, p.tgt)] + fuzzed(1000)
    wrong = []
    for start in range(0, len(texts), 1000):
        part = texts[start:start + 1000]
        found = page.evaluate('texts => texts.map(t => [clean_text(t), tokenizer.encode(t)].concat([tokenizer.decode(tokenizer.encode(t))]))', part)
        for text, (clean, ids, back) in zip(part, found):
            want = tokenizer.encode(text)
            if (clean, ids, back) != (clean_text(text), want, tokenizer.decode(want)): wrong.append(f'tokenizer: {text!r}: {clean!r} {clean_text(text)!r}')
    print(f'{len(texts) - len(wrong):,} of {len(texts):,} texts have the tokens of Python')
    return wrong[:5]

def check_texts(page):
    "The table of texts, which the tests of page 62 compute in Python"
    rows = json.loads((LIVE.parent/'.ci'/'texts.json').read_text(encoding='utf-8'))
    found = page.evaluate('json => JSON.stringify(JSON.parse(json).map(columns))', json.dumps(rows)) # with lone surrogates
    wrong = [f'texts: {row["text"]!r}: {key}' for row, one in zip(rows, json.loads(found)) for key in row if row[key] != one[key]]
    print(f'{len(rows)} texts of the table, {len(wrong)} differences')
    return wrong

def museum():
    "Title -> edit of the package, from the notebook of the bug museum"
    cells = json.loads((LIVE/'91_bug_museum.ipynb').read_text(encoding='utf-8'))['cells']
    sources = [source for c in cells if '\nshow(' in (source := ''.join(c['source']))]
    calls = [node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'bug']
    rows = [[ast.literal_eval(arg) for arg in call.args] for call in calls if len(call.args) == 5 and not call.keywords]
    return {title: (module, right, wrong) for title, module, right, wrong, _ in rows}

def heads_removed(model, names):
    for name in names:
        module, head = name.rsplit('.', 1)
        attn = model.get_submodule(module)
        with torch.no_grad(): attn.W_o.weight.unflatten(1, (attn.h, -1))[:, int(head)] = 0

def plain_translations(sources, config, state, heads=(), layers=(), positions=True, extra=50):
    "Tokens and attention maps of the core's classes under a change; `sources` are ids and hidden positions"
    from annotated_transformer import transformer as core  # with the bug, if there is one
    model, names = core.make_model(**config), {}
    model.load_state_dict(state)
    heads_removed(model.eval(), heads)
    for stack in ('encoder', 'decoder'):
        part = getattr(model, stack)
        kept = [n for n in range(len(part.layers)) if f'{stack}.layers.{n}' not in layers]
        names |= {f'{stack}.layers.{new}.': f'{stack}.layers.{n}.' for new, n in enumerate(kept)}
        part.layers = torch.nn.ModuleList(part.layers[n] for n in kept)
    if not positions:
        for embed in (model.src_embed, model.tgt_embed): embed[1].pe.zero_()
    def original(name): return re.sub(r'^\w+\.layers\.\d+\.', lambda m: names[m[0]], name)
    def translate(ids, hidden):
        src, mask = torch.tensor([ids]), torch.tensor([[[i not in hidden for i in range(len(ids))]]])
        with torch.no_grad(), core.record_attention(model) as maps:
            tgt = core.greedy_decode(model, src, mask, len(ids) + extra, BOS, EOS)
            model(src, tgt[:, :-1], mask, core.subsequent_mask(tgt.size(1) - 1))
        return tgt[0].tolist(), {original(name): w[0].tolist() for name, w in maps.items()}
    return [translate(*row) for row in sources]

CHANGES = { # control -> its state on the page
    'nothing': {}, 'one head': dict(heads=['decoder.layers.1.src_attn.0']),
    'heads': dict(heads=[f'encoder.layers.0.self_attn.{i}' for i in (0, 3)] + ['decoder.layers.0.self_attn.2']),
    'encoder layer': dict(layers=['encoder.layers.0']), 'decoder layer': dict(layers=['decoder.layers.1']),
    'hidden word': dict(masked=[1]), 'hidden words': dict(masked=[0, 2]), 'positions': dict(positions=False),
    'all': dict(masked=[2], positions=False, heads=['decoder.layers.0.src_attn.1'], layers=['encoder.layers.1'])}

def check_changes(page, translator, pairs):
    "Each control of the page against the same change of the PyTorch model"
    tok, worst, faults, bugs = translator.src_tokenizer, 0., [], museum()
    titles = page.evaluate('async () => (await import("/live/edits.js")).BUGS.map(bug => bug.title)')
    config = dict(core_settings(translator.config), src_vocab=len(tok), tgt_vocab=len(tok))
    state = Translator.from_pretrained('pocket', device='cpu', engine='plain').model.state_dict()
    def source(pair, hidden): # ids, and the positions of the hidden words
        ids, ends, read = tok.encode(pair.src), list(accumulate(map(len, pair.src_words))), 0
        places = []
        for piece in tok.pieces(ids):
            read += len(piece.replace('▁', ''))
            places.append(next(n for n, end in enumerate(ends) if read <= end))
        return [*ids, EOS], {i for i, word in enumerate(places) if word in hidden}
    for name, change in [*CHANGES.items(), *((title, dict(bug=title)) for title in titles)]:
        how = {key: value for key, value in change.items() if key not in ('masked', 'bug')}
        sources = [source(p, change.get('masked', ())) for p in pairs]
        work = functools.partial(plain_translations, sources, config, state, extra=10 if 'bug' in change else 50, **how)
        want = with_fault(work, *bugs[name]) if 'bug' in change else work()
        for pair, run, (ids, maps) in zip(pairs, page.evaluate(EDITED, [[p.src for p in pairs], change]), want):
            if ids != run['ids']: faults.append(f'{name}: other tokens for {pair.src!r}: {tok.decode(run["ids"])!r}, PyTorch {tok.decode(ids)!r}')
            elif maps.keys() != run['maps'].keys(): faults.append(f'{name}: maps {sorted(run["maps"])}')
            else: worst = max([worst, *((torch.tensor(run['maps'][n]) - torch.tensor(w)).abs().max().item() for n, w in maps.items())])
    print(f'{len(CHANGES)} changes and {len(titles)} bugs: largest difference of an attention weight {worst:.1e}')
    return faults + [f'attention of a changed model differs by {worst}'] * (worst > 1e-3)

def check_search(page, translator, pairs):
    "Beam size, length penalty; temperature, top-k and top-p"
    faults, tok = [], translator.src_tokenizer
    for size, alpha in ((2, 0.), (3, 1.), (8, 2.)):
        for pair, run in zip(pairs, page.evaluate(EDITED, [[p.src for p in pairs], dict(beam=size, alpha=alpha)])):
            src = torch.tensor([[*tok.encode(pair.src), EOS]])
            with torch.no_grad(): best = beam_search(translator.model, src, None, src.size(1) + 50, BOS, EOS, SearchOptions(size, alpha))[0][0]
            if [BOS, *best.ids] != run['ids'] or abs(best.score - run['score']) > 1e-3: faults.append(f'beam {size}, α {alpha}: {pair.src!r}')
    torch.manual_seed(0)
    logits = 4 * torch.randn(20, 200)
    for temperature, k, p in ((1., 0, 1.), (.5, 5, 1.), (2., 0, .8), (.7, 10, .6), (1., 0, 0.)):
        want = top_k_top_p(logits.double() / temperature, k or None, p)
        rows = page.evaluate('([rows, o]) => rows.map(row => T.top_k_top_p(row, o))', [logits.tolist(), dict(temperature=temperature, top_k=k, top_p=p)])
        if (torch.tensor(rows, dtype=torch.double) - want).abs().max() > 1e-6: faults.append(f'probabilities with temperature {temperature}, top-k {k}, top-p {p}')
    return faults

SET, LIVE_PAGE = 'patch => document.querySelector("[data-live]").page.set(patch)', 'live.html'
READY, STATUS = '.live[data-ready]', '.live .status'
SETTLED = '.live .output[aria-busy=false]'
PLAIN = '''selector => [...document.querySelectorAll(selector)].map(node => {
    const copy = node.cloneNode(true);
    copy.querySelectorAll("rt").forEach(gloss => gloss.remove());
    return copy.textContent;
})'''
TABS = 'attention', 'maps', 'steps', 'vectors', 'probabilities', 'beam', 'change', 'bug'
SHOWN = 'Der Mann möchte das Buch nicht kaufen.'
HOSTILE = ('#s=&at=x', '#s=Hallo&heads=5&layers={}&at=1e99', '#s=%00%C3%BF&tab=toString&module=__proto__', '#s=a&beam=1000000&top_k=-4&temperature=0',
           '#s=Hallo&heads=[1,null,"x.9"]&masked=[null,"a"]&begin=[-1,1e9,"4"]', '#s=' + 'ab ' * 400, '#=&&&==', '#model=__proto__', '#model=own&s=Hallo', '#tests', '#x=%ff', '#s=%ff', '#%')

def settled(page, text):
    page.wait_for_function('text => document.querySelector(".live .output").textContent === text', arg=text, timeout=60_000)

def check_first_visit(browser, base, faults):
    "The stored example at once, then the model; everything that is loaded"
    shown, ready = [], []
    for _ in range(3): # the machine may be busy with something else
        page, sizes = open_page(browser, base, faults), []
        page.on('response', lambda r: sizes.append(len(r.body())) if '/live/' in r.url else None)
        page.goto(base + LIVE_PAGE, wait_until='domcontentloaded')
        if not page.locator('.live .lines li').count(): faults.append('no stored example in the page')
        page.wait_for_selector(READY, timeout=60_000)
        shown.append(page.evaluate('performance.getEntriesByName("first-contentful-paint")[0].startTime'))
        ready.append(int(page.get_attribute('.live', 'data-ready')))
        total = sum(sizes)
        page.context.close()
    print(f'example after {min(shown):.0f} ms, model after {min(ready)} ms, {total / 1e6:.2f} MB')
    if total > BUILT_IN[0]['bytes'] + 0.7e6: faults.append(f'the page loads {total:,} bytes') # scripts, styles, glosses, examples
    if min(shown) > 1500 or min(ready) > 4500: faults.append('the page is slow') # 500 and 1,500 on a free machine

def check_phone(browser, base, faults):
    "Nothing large before a tap"
    page, asked = open_page(browser, base, faults, viewport=dict(width=390, height=844), has_touch=True, is_mobile=True), []
    page.on('request', lambda r: asked.append(r.url))
    page.goto(base + LIVE_PAGE, wait_until='networkidle')
    if any('safetensors' in url for url in asked): faults.append('a phone loads the model before a tap')
    page.wait_for_selector('.live .lines button', timeout=60_000) # the stored example, from its scripts
    page.tap('.live .lines li:nth-child(2) button >> nth=0')
    token = page.text_content('.live .lines li:nth-child(2) button >> nth=0')
    page.wait_for_function('token => document.querySelector(".live .status").textContent.includes(`“${token}”`)', arg=token)
    if any('safetensors' in url for url in asked): faults.append('a token of the stored example loads the model')
    page.tap('.live form .go')
    page.wait_for_selector(READY, timeout=60_000)
    page.context.close()

def check_views(browser, base, faults):
    "Every view in light, dark and on a phone"
    for how, width, theme in (('light', 1280, 'light'), ('dark', 1280, 'dark'), ('phone', 390, 'dark')):
        page = open_page(browser, base, faults, viewport=dict(width=width, height=900), reduced_motion='reduce')
        page.goto(base + LIVE_PAGE)
        page.evaluate('theme => { document.documentElement.dataset.theme = theme; }', theme)
        page.wait_for_function('document.querySelector("[data-live]").page') # its scripts are loaded
        page.evaluate('document.querySelector("[data-live]").page.update()')
        page.wait_for_selector(READY, timeout=60_000)
        for tab in TABS:
            page.evaluate(SET, dict(tab=tab, beam=4 if tab == 'beam' else 1))
            if tab == 'beam': page.wait_for_selector('.live .panel svg text')
            if page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth'): faults.append(f'{tab} is too wide ({how})')
            if not page.locator('.live .panel > *').count(): faults.append(f'{tab} is empty ({how})')
            if PICTURES: page.locator('.live').screenshot(path=PICTURES/f'live-{tab}-{how}.png')
        page.context.close()

def check_use(browser, base, translator, faults):
    "Keyboard, examples, swap, choice of a token, gold alignment, share, tour, bugs"
    def expect(what, true):
        if not true: faults.append(what)
    page = open_page(browser, base, faults, reduced_motion='reduce')
    page.goto(base + LIVE_PAGE + POCKET)
    page.wait_for_selector(READY, timeout=60_000)
    text = 'Die Frau liest heute ein Buch.'
    page.focus('.live textarea')
    page.keyboard.press('Control+A')
    page.keyboard.type(text)
    page.keyboard.press('Enter')
    settled(page, translator.translate(text))
    page.focus('.live [role=tab][aria-selected=true]')
    for tab in TABS[1:] + TABS[:1]:
        page.keyboard.press('ArrowRight')
        expect(f'the arrow key does not reach {tab}', page.evaluate('document.activeElement.id') == f'live-tab-{tab}')
    expect('beam search begins with beam size 1', page.evaluate('document.querySelector("[data-live]").page.state.beam') == 4)
    page.evaluate(SET, dict(beam=1))
    settled(page, translator.translate(text))
    page.focus('[data-key="token 1"]')
    expect('focus does not choose a token', 'woman' in page.text_content(STATUS))
    page.keyboard.press('Enter')
    expect('a key does not choose a token', 'woman' in page.text_content(STATUS) and page.evaluate('document.activeElement.dataset.key') == 'token 1')
    page.fill('.live textarea', two := 'Der Hund schläft. Die Katze spielt.')
    page.click('.live form .go')
    settled(page, translator.translate(two))
    page.select_option('[data-key=part]', index=1)
    page.wait_for_function('document.querySelector(".live .lines").textContent.includes("spie")')
    expect('known words are marked', not page.locator('.live .source .unknown').count())
    page.fill('.live textarea', typed := 'der Hudn schläft. ZOLTAN spielt 3 Spiele, sagt die Katze.')
    page.click('.live form .go')
    settled(page, (translation := translator.translate(typed)))
    marks = page.locator('.live .source .unknown')
    expect('other words are marked', page.evaluate(PLAIN, '.live .source .unknown') == list(translation.unknown) and len(translation.unknown) >= 2)
    expect('a mark does not tell its reason', marks.first.get_attribute('title') == 'not in the training data')
    expect('another sentence is marked', page.evaluate(PLAIN, '.live .source') == [f'{typed} (dotted: not in the training data)'])
    expect('no glosses', page.locator('.live .source rt').count() >= 5)
    page.fill('.live textarea', chr(0x200b))
    page.click('.live form .go')
    settled(page, '')
    page.click(f'[data-key="chip {SHOWN}"]')
    settled(page, translator.translate(SHOWN))
    page.check('[data-key=gold]')
    links = [p.alignment for p in pocket_pairs(2000, split='compositional') if p.src == SHOWN][0]
    expect('other gold lines', page.locator('.live line.gold').count() == len(links)) # its words are single tokens
    page.evaluate(SET, dict(tab='change'))
    page.click('[data-key="swap 4"]')
    swapped = 'Der Mann möchte das nicht Buch kaufen.'
    settled(page, translator.translate(swapped))
    expect('the sentence does not show the swap', page.input_value('.live textarea') == swapped)
    page.evaluate(SET, dict(s=SHOWN, tab='probabilities', at=1))
    settled(page, translator.translate(SHOWN))
    word = page.text_content('.live tbody tr >> nth=2 >> th')
    page.click('.live tbody tr >> nth=2 >> button')
    page.wait_for_function('word => document.querySelector(".live .output").textContent.split(" ")[1].startsWith(word)', arg=word.replace('▁', ''))
    page.evaluate(SET, dict(begin=[], top_k=1, temperature=2))
    page.click('[data-key=sample]') # from one token per step: greedy search
    settled(page, translator.translate(SHOWN))
    page.evaluate(SET, dict(top_k=0, temperature=3))
    page.click('[data-key=sample]')
    page.wait_for_function('text => document.querySelector(".live .output").textContent !== text', arg=translator.translate(SHOWN))
    page.evaluate(SET, dict(begin=[], temperature=1, heads=['decoder.layers.1.src_attn.0'], masked=[5], tab='steps', module='encoder.layers.1.self_attn', head=2, at=3))
    page.click('text=Share')
    page.wait_for_function('location.hash.includes("masked")')
    first, other = page.text_content('.live'), open_page(browser, base, faults)
    other.goto(page.url)
    other.wait_for_selector(READY, timeout=60_000)
    def comparable(text): return re.sub(r'(The address|“)[^.]*\.(?= *Guided|Guided)', '', text)
    expect('a shared address shows another state', comparable(other.text_content('.live .panel')) == comparable(page.text_content('.live .panel')) and first)
    other.context.close()
    page.click('text=Reset')
    page.click('text=Guided tour')
    for n in range(1, 11):
        expect(f'no step {n} of the tour', f'{n} of 10' in page.text_content('.live .tour'))
        target, anchor = page.get_attribute('.live .tour a', 'href').split('#')
        expect(f'step {n} of the tour leads nowhere', f'id="{anchor}"' in (SITE/target).read_text(encoding='utf-8'))
        if n < 10: page.click('[data-key="tour Next"]')
    page.wait_for_selector(SETTLED)
    page.click('[data-key="Queries and keys exchanged"]')
    expect('the right cause is not accepted', 'Correct' in page.text_content(STATUS))
    page.click('[data-key="No ReLU"]')
    page.wait_for_function('document.querySelector(".live .status").textContent.includes("another symptom")')
    page.click('[data-key="tour End"]')
    page.wait_for_selector(SETTLED)
    expect('the bug stays after the tour', not page.locator('[data-key="no bug"]').count())
    layers = [f'{stack}.layers.{n}' for stack in ('encoder', 'decoder') for n in range(2)]
    for removed in (layers, layers[2:], layers[:3]):
        page.evaluate(SET, dict(layers=removed, tab='change'))
        for tab in TABS: page.evaluate(SET, dict(tab=tab))
    for address in HOSTILE: # nothing may raise
        page.goto(base + 'blank')
        page.goto(base + LIVE_PAGE + address)
        page.wait_for_function('document.querySelector(".live[data-ready]") || /Type a sentence/.test(document.querySelector(".live .status")?.textContent)', timeout=60_000)
        for tab in TABS: page.evaluate(SET, dict(tab=tab))
        if address in ('#x=%ff', '#s=%ff', '#tests'): # not an address of the page: the example stays
            page.evaluate('address => { location.hash = ""; location.hash = address; }', address)
            page.evaluate('new Promise(done => setTimeout(done, 50))')
            expect(f'{address} changes the sentence', page.input_value('.live textarea') == FIRST)
    page.context.close()

def check_models(browser, base, faults):
    "The menu, words to click, a folder of the visitor's own, and a change on ten sentences"
    page = open_page(browser, base, faults, reduced_motion='reduce')
    page.goto(base + LIVE_PAGE)
    page.wait_for_selector(READY, timeout=60_000)
    for row in BUILT_IN[1:] + BUILT_IN[:1]:
        first = chips(row['name'], row['pair'])[0]
        if len(BUILT_IN) > 1: page.select_option('.live .menu', row['name'])
        settled(page, Translator.from_pretrained(MODELS[row['folder']], device='cpu').translate(first))
        counts = page.locator('.live .chips button').count(), page.locator('.live .words button').count()
        if counts != (10, 30): faults.append(f"{row['name']}: {counts} examples and words")
        if page.get_attribute('.live textarea', 'lang') != row['pair'].split('-')[0]: faults.append(f"{row['name']}: another language")
    page.click('.live .words summary')
    for word in ('die', 'Katze', 'ist', '.') if BUILT_IN[0]['name'] != 'pocket' else ('die', 'Katze', 'schläft', '.'): page.click(f'[data-key="word {word}"]')
    page.wait_for_selector(SETTLED)
    if not page.input_value('.live textarea').startswith('Die Katze '): faults.append(f"words give {page.input_value('.live textarea')!r}")
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder)/'own'
        translator = Translator.from_pretrained('pocket', device='cpu')
        translator.save_pretrained(own, int8=True)
        page.set_input_files('.live .folder', own)
        page.wait_for_function('document.querySelector(".live .menu").value === "own"')
        page.fill('.live textarea', 'Der Hund schläft.')
        page.click('.live form .go')
        settled(page, translator.translate('Der Hund schläft.'))
        (own/'config.json').unlink()
        page.set_input_files('.live .folder', own)
        page.wait_for_function('document.querySelector(".live .status").textContent.includes("config.json: the folder has no such file.")')
    page.evaluate(SET, dict(tab='change', positions=False))
    page.wait_for_selector(SETTLED)
    page.click('[data-key=try]')
    page.wait_for_function('document.querySelector(".live .status").textContent.includes("of 10 example sentences")', timeout=60_000)
    if page.locator('.live .trial li').count() != 10: faults.append('the table of a change is not complete')
    page.context.close()

def check_without_model(browser, base, faults):
    "As a file, without scripts, and when the model cannot be loaded"
    for how, address, context in (('file', (SITE/LIVE_PAGE).as_uri(), {}), ('no scripts', base + LIVE_PAGE, dict(java_script_enabled=False))):
        page = browser.new_context(**context).new_page()
        page.goto(address)
        if page.locator('.live .lines li').count() < 10 or page.locator('.live .lines line').count() < 10: faults.append(f'{how}: no stored example')
        if how == 'file' and 'needs a web server' not in page.text_content('.live .status'): faults.append('a page opened as a file does not say why it translates nothing')
        page.context.close()
    check_damaged(browser, base, faults)
    page = browser.new_context().new_page()
    page.route('**/model.safetensors', lambda route: route.abort())
    page.goto(base + LIVE_PAGE)
    page.wait_for_function('/could not be loaded/.test(document.querySelector(".live .status")?.textContent)')
    if not page.locator('.live .lines button').count(): faults.append('no stored example when the model cannot be loaded')
    page.context.close()

def check_damaged(browser, base, faults):
    "Files of the model that cannot be used: one sentence with the file's name, and the stored example"
    def changed(name, change):
        return change((PACKAGE/'pocket_model'/name).read_bytes())
    cases = [('model.safetensors', lambda b: b[:-1000]), ('model.safetensors', lambda b: b''), ('model.safetensors', lambda b: b[:-1] + bytes([b[-1] ^ 1])),
             ('model.safetensors', lambda b: b.replace(b'F16', b'F32')), ('tokenizer.json', lambda b: b[:-10]), ('tokenizer.json', lambda b: b.replace(b'"e", "r"', b'"r", "e"')),
             ('tokenizer.json', lambda b: b'null'), ('config.json', lambda b: b.replace(b'"norm_first": true', b'"norm_first": false')),
             ('config.json', lambda b: b.replace(b'"h": 4', b'"h": 3')), ('config.json', lambda b: b.replace(b'sinusoidal', b'learned')), ('config.json', lambda b: b'<html>'),
             ('known_words.safetensors', lambda b: b[:-1]), ('known_words.safetensors', lambda b: b[:-1] + bytes([b[-1] ^ 1]))]
    for name, change in cases:
        page = browser.new_context().new_page()
        page.route(f'**/{name}', lambda route: route.fulfill(body=changed(name, change)))
        page.goto(base + LIVE_PAGE + POCKET)
        page.wait_for_function('/could not be loaded/.test(document.querySelector(".live .status")?.textContent)')
        if name not in page.text_content(STATUS) or not page.locator('.live .lines button').count(): faults.append(f'damaged {name}: {page.text_content(STATUS)}')
        page.context.close()

def check_small(browser, base, faults):
    "The form of the index page: the model is loaded by the first translation"
    translator = Translator.from_pretrained(BUILT_IN[0]['name'], device='cpu')
    page, asked = open_page(browser, base, faults), []
    page.on('request', lambda r: asked.append(r.url))
    page.goto(base + 'blank')
    page.set_content('<link rel="stylesheet" href="live/live.css"><div class="live" data-live="small"></div><script src="live/start.js"></script>')
    page.wait_for_selector('.live .lines button')
    if any('safetensors' in url for url in asked): faults.append('the small form loads the model before it is used')
    page.fill('.live textarea', 'Das Kind schläft.')
    page.click('.live form .go')
    settled(page, translator.translate('Das Kind schläft.'))
    if 's=Das+Kind' not in page.get_attribute('.live p a', 'href'): faults.append('the small form leads to another sentence')
    page.context.close()
    check_lesson_views(browser, base, translator, faults)

def check_lesson_views(browser, base, translator, faults):
    "Forms inside a lesson: one view each, and one copy of the model for all"
    states = dict(attention=dict(module='encoder.layers.0.self_attn', head=0, at=2), positions=dict(s='Maria liebt Tom.'), probabilities={})
    page, asked = open_page(browser, base, faults), []
    page.on('request', lambda r: asked.append(r.url))
    page.goto(base + 'blank')
    forms = ''.join(f"<div class='live' data-live='small' data-view='{view}' data-state='{json.dumps(state)}'></div>" for view, state in states.items())
    page.set_content(f'<link rel="stylesheet" href="live/live.css">{forms}<script src="live/start.js"></script>')
    attention, positions, probabilities = (page.locator('.live').nth(n) for n in range(3))
    attention.locator('.lines button').first.wait_for()
    if attention.locator('select').nth(2).input_value() != 'head 0': faults.append('the view of a lesson shows another head')
    for form in (positions, probabilities): form.locator('form .go').click()
    probabilities.locator('td').first.wait_for()
    right = translator.translate(states['positions']['s'])
    positions.get_by_text(right, exact=True).first.wait_for()
    positions.locator('input[type=checkbox]').uncheck()
    positions.get_by_text(f'Without the change: {right}').wait_for()
    if sum('model.safetensors' in url for url in asked) != 1: faults.append('the forms of a lesson load the model more than once')
    page.context.close()

def check_page(browser, translator, faults):
    base = serve(SITE)
    check_first_visit(browser, base, faults)
    check_phone(browser, base, faults)
    check_views(browser, base, faults)
    check_use(browser, base, translator, faults)
    check_models(browser, base, faults)
    check_small(browser, base, faults)
    check_without_model(browser, base, faults)

def main():
    torch.set_num_threads(1)
    translator, faults = Translator.from_pretrained('pocket', device='cpu'), []
    pairs = pocket_pairs(COUNT, split='test')
    texts = [p.src for p in pairs]
    assert isinstance(translator.src_tokenizer, SubwordTokenizer)
    chromium = os.environ.get('CHROMIUM') or shutil.which('chromium') # else Playwright's own
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=FLAGS)
        page = open_page(browser, base := serve(LIVE), faults)
        page.goto(base + 'blank')
        page.evaluate(PREPARE, 'pocket_model')
        if INT8: return finish(check_int8(page, translator, texts) + faults)
        faults += check_int8(page, translator, texts[:100])
        faults += check_tokenizer(page, translator.src_tokenizer)
        faults += check_texts(page)
        with tempfile.TemporaryDirectory() as folder: faults += check_folders(page, translator.src_tokenizer, Path(folder)/'own')
        page.evaluate(PREPARE, 'pocket_model')
        faults += check_maps(page, translator, texts[:100])
        faults += check_translations(page, translator, texts)
        faults += check_search(page, translator, pairs[:10])
        faults += check_changes(page, translator, pairs[:6])
        if SITE: check_page(browser, translator, faults)
        browser.close()
    finish(faults)

def finish(faults):
    for fault in dict.fromkeys(faults): print(' ', fault)
    sys.exit(bool(faults))

if __name__ == '__main__': main()
