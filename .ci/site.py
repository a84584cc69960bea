"""Opens every page of the built site in Chromium, with everything off this machine blocked: `python .ci/site.py _site [folder for pictures]`."""
import asyncio
import functools
import http.server
import os
import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag

from playwright.async_api import async_playwright

SITE = Path(sys.argv[1])
PICTURES = Path(sys.argv[2]) if len(sys.argv) > 2 else None
PAGES = sorted(p.name for p in SITE.glob('*.html') if p.name not in ('genindex.html', 'search.html'))
SEARCHES = { # the page that teaches it comes first
    'multi-head attention': ('transformer', 'attention'), 'causal mask': ('transformer', 'attention'),
    'weight tying': ('transformer', 'architecture'), 'warmup': ('transformer', 'learning', 'optimizers'),
    'label smoothing': ('transformer', 'learning', 'losses'), 'beam search': ('beam', 'beam_search'),
    'positional encoding': ('transformer', 'position_encodings'), 'layer normalization': ('transformer', 'normalization'),
    'BLEU': ('evaluation', 'metrics'), 'checkpoint averaging': ('checkpoints',), 'teacher forcing': ('transformer',),
    'KV cache': ('cache',), 'RoPE': ('positions', 'position_schemes'), 'FlashAttention': ('fast', 'modern'), 'fine-tune': ('faq', 'cli_train', 'training'),
    'checkpoint': ('checkpoints',), 'Colab': ('faq',), 'mask wrong': ('faq', 'bug_museum'), 'loss nan': ('faq', 'bug_museum')}
FAULTS = dict(empty='charts without marks', tables='tables shown as text', drawings='empty drawings', raw='formulas not rendered', wide='pixels too wide',
              small='texts below 10 px', cut='code blocks cut', silent='boxes that scroll without a hint', split='names broken or cut in the contents')
ACCESSIBLE = ('index', 'transformer', 'one_token', 'live', 'attention', 'beam_search', 'attention_maps', 'exercises', 'bug_museum', 'paper')
AXE = Path('docs/node_modules/axe-core/axe.min.js')
HEAVIEST = 3_000_000 # bytes of a first visit
FLAGS = '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'.split()
SETTLED = '''async theme => {
    document.documentElement.dataset.theme = theme;
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); // charts notice a change
    await window.formulas;
    await window.showCharts?.();
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); // what scrolls is marked
}'''
STATE = '''() => ({
    charts: document.querySelectorAll("figure.chart").length,
    empty: [...document.querySelectorAll("figure.chart")].filter(f => {
        const marks = [...f.querySelectorAll(".plot svg .role-mark :is(path, line, text)")];
        return !marks.some(m => m.tagName !== "path" || m.getAttribute("d")) || marks.some(m => /NaN/.test(m.outerHTML));
    }).length,
    tables: [...document.querySelectorAll("article p")].filter(p => p.textContent.startsWith("|")).length,
    drawings: [...document.querySelectorAll(".drawing")].filter(d => !d.querySelector("svg *")).length,
    formulas: document.querySelectorAll(".math").length,
    raw: [...document.querySelectorAll(".math")].filter(m => !m.querySelector(".katex") || m.querySelector(".katex-error")).length,
    small: [...document.querySelectorAll("figure.chart svg text, .drawing svg text")].filter(t => {
        const svg = t.ownerSVGElement, scale = svg.clientWidth / (svg.viewBox.baseVal.width || svg.width.baseVal.value);
        return t.textContent.trim() && svg.clientWidth && parseFloat(getComputedStyle(t).fontSize) * scale < 9.95;
    }).length,
    cut: innerWidth < 1000 ? 0 : [...document.querySelectorAll("div.cell_input pre")].filter(p => p.scrollWidth > p.clientWidth + 1).length,
    silent: [...document.querySelectorAll("article *")].filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 4 && !e.hasAttribute("data-more")
        && /auto|scroll/.test(getComputedStyle(e).overflowX)).length,
    split: innerWidth < 1000 ? 0 : [...document.querySelectorAll(".bd-sidebar-secondary .nav-link")].filter(link => {
        const walker = document.createTreeWalker(link, NodeFilter.SHOW_TEXT);
        for (let node; (node = walker.nextNode());) for (const word of node.data.matchAll(/\\w+/g)) {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            const boxes = range.getClientRects();
            if (boxes.length > 1 || boxes[0]?.right > innerWidth) return true;
        }
    }).length,
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    links: [...document.querySelectorAll("a[href]")].map(a => new URL(a.getAttribute("href"), document.baseURI).href),
    sections: [...document.querySelectorAll("a[href]")].filter(a => /^§/.test(a.textContent)).map(a => a.href),
    ids: [...document.querySelectorAll("[id], a[name]")].map(e => e.id || e.name),
})'''

class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args): pass

def serve():
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Quiet, directory=SITE))
    server.handle_error = lambda *args: None # a page that is left while it loads
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f'http://127.0.0.1:{server.server_address[1]}/'

async def watched(context, base, faults):
    "A page on which each request off this machine, error and missing file is noted"
    page = await context.new_page()
    note = lambda what: faults.append(f'{page.url.removeprefix(base)}: {what}')
    async def gate(route):
        if route.request.url.startswith((base, 'data:', 'blob:')): return await route.continue_()
        note(f'asks for {route.request.url}')
        await route.abort()
    await page.route('**/*', gate)
    page.on('console', lambda m: note(f'console: {m.text}') if m.type in ('error', 'warning') else None)
    page.on('pageerror', lambda e: note(f'script: {e}'))
    page.on('response', lambda r: note(f'{r.status} for {r.url}') if r.status >= 400 else None)
    return page

async def look(browser, base, name, facts, faults):
    "One page: on a desk in light and dark, and on a phone"
    page = await watched(context := await browser.new_context(color_scheme='light'), base, faults)
    await page.goto(base + name)
    for how, width, theme in (('light', 1280, 'light'), ('dark', 1280, 'dark'), ('phone', 390, 'dark')):
        await page.set_viewport_size(dict(width=width, height=900))
        await page.evaluate(SETTLED, theme)
        state = facts[name] = await page.evaluate(STATE)
        for fault in FAULTS:
            if state[fault] > 0: faults.append(f'{name} ({how}): {FAULTS[fault]}: {state[fault]}')
        if PICTURES: await page.screenshot(path=PICTURES/f'{Path(name).stem}-{how}.png', full_page=True)
    await context.close()

async def accessible(browser, base, faults):
    "No serious finding of axe on ten pages, each in light and dark"
    if not AXE.is_file(): return faults.append(f'{AXE} is missing: run npm ci in docs')
    for name in ACCESSIBLE:
        page = await watched(context := await browser.new_context(viewport=dict(width=1280, height=900)), base, faults)
        await page.goto(f'{base}{name}.html')
        for theme in ('light', 'dark'):
            await page.evaluate(SETTLED, theme)
            await page.wait_for_timeout(500) # a button of the theme fades for .15 s
            await page.evaluate(AXE.read_text(encoding='utf-8'))
            found = await page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(result => result.violations)")
            for v in found:
                if v['impact'] not in ('serious', 'critical'): continue
                faults.append(f"{name} ({theme}): {v['help']}: {len(v['nodes'])}, {v['nodes'][0]['html'][:160]}")
        await context.close()

async def path(browser, base, faults):
    "From the start page, Next leads through the first part to its end; the menu shows the page that is open"
    page = await watched(context := await browser.new_context(viewport=dict(width=1280, height=900)), base, faults)
    await page.goto(base, wait_until='domcontentloaded')
    learn = await page.locator('.menu details').first.locator('a').evaluate_all('links => links.map(a => a.href)')
    walk = []
    while (following := page.locator('.prev-next-area a.right-next')) and await following.count():
        await page.goto(await following.evaluate('a => a.href'), wait_until='domcontentloaded')
        walk.append(page.url)
        current = page.locator('.menu details[open] [aria-current=page]')
        if await current.count() != 1 or await page.locator('.menu details[open]').count() != 1: faults.append(f'{page.url.removeprefix(base)}: the menu does not show it')
        if f'Learn: {len(walk)} of {len(learn)}' not in await page.locator('p.place').inner_text(): faults.append(f'{page.url.removeprefix(base)}: not at its place')
    if walk != learn: faults.append(f'Next leads through {len(walk)} pages, the menu lists {len(learn)}')
    await page.set_viewport_size(dict(width=390, height=844))
    await page.goto(learn[-1])
    await page.click('.primary-toggle')
    await page.wait_for_timeout(500)
    box = await page.locator('.menu [aria-current=page]').bounding_box()
    if not box or not 0 <= box['y'] <= 844: faults.append('phone: the menu opens far from the current page')
    await context.close()

async def without_scripts(browser, base, faults):
    "Charts are pictures where scripts are off"
    page = await (context := await browser.new_context(java_script_enabled=False)).new_page()
    await page.goto(base + 'position_encodings.html')
    if not await page.locator('figure.chart img').count(): faults.append('no picture stands for a chart where scripts are off')
    await context.close()

async def search(browser, base, faults):
    for word, teachers in SEARCHES.items():
        page = await watched(context := await browser.new_context(), base, faults)
        await page.goto(f'{base}search.html?q={word}', wait_until='domcontentloaded') # the excerpts below the hits load on
        try: await page.wait_for_selector('ul.search li a', timeout=30_000)
        except Exception: faults.append(f'search finds no {word!r}')
        else:
            await page.wait_for_function("document.querySelector('#search-progress') === null || !/Searching/.test(document.body.innerText)", timeout=30_000)
            first = await page.locator('ul.search li a').first.get_attribute('href')
            if Path(first.split('#')[0].split('?')[0]).stem not in teachers: faults.append(f'search for {word!r} finds {first} first')
            await page.set_viewport_size(dict(width=390, height=900))
            await page.wait_for_load_state('networkidle') # every excerpt
            wide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
            if wide > 0: faults.append(f'search for {word!r} (phone): {FAULTS["wide"]}: {wide}')
        await context.close()

async def first_visit(browser, base, faults):
    "Bytes of index and core page, and the time to the first text, the best of three, since the machine may be busy with something else"
    for name in ('index.html', 'transformer.html'):
        paints, sizes = [], []
        for _ in range(3):
            page = await (context := await browser.new_context(viewport=dict(width=1280, height=900))).new_page()
            await page.goto(base + name)
            await page.wait_for_timeout(500)
            paints.append(await page.evaluate('performance.getEntriesByName("first-contentful-paint")[0].startTime'))
            sizes.append(await page.evaluate('performance.getEntries().reduce((sum, e) => sum + (e.transferSize ?? 0), 0)'))
            await context.close()
        print(f'{name}: {max(sizes) / 1e6:.2f} MB, first text after {min(paints):.0f} ms')
        if max(sizes) > HEAVIEST: faults.append(f'{name} loads {max(sizes) / 1e6:.2f} MB')
        if name == 'index.html' and min(paints) > 1000: faults.append(f'{name} shows its first text after {min(paints):.0f} ms')

def broken(base, facts):
    "Links within the site that lead nowhere, and sections of the paper that lead to its first page"
    for name, state in facts.items():
        for link in set(state['links']):
            address, anchor = urldefrag(link)
            if address == 'https://arxiv.org/abs/1706.03762' and link in state['sections']: yield f'{name}: a section of the paper leads to {link}'
            target = address.removeprefix(base).split('?')[0] or 'index.html'
            if not address.startswith(base): continue
            if not (SITE/unquote(target)).is_file(): yield f'{name}: no page {target}'
            elif anchor and '=' not in anchor and target in facts and unquote(anchor) not in facts[target]['ids']: yield f'{name}: no {anchor} in {target}'

async def main():
    base, facts, faults = serve(), {}, []
    chromium = os.environ.get('CHROMIUM') or shutil.which('chromium') # else Playwright's own
    async with async_playwright() as p:
        browser = await p.chromium.launch(executable_path=chromium, args=FLAGS)
        await first_visit(browser, base, faults)
        work = list(PAGES)
        async def worker():
            while work: await look(browser, base, work.pop(), facts, faults)
        await asyncio.gather(worker(), worker())
        await path(browser, base, faults)
        await search(browser, base, faults)
        await accessible(browser, base, faults)
        await without_scripts(browser, base, faults)
        await browser.close()
    faults += broken(base, facts)
    faults += [f'{name} has {size / 1e6:.1f} MB' for name in PAGES if (size := (SITE/name).stat().st_size) > 3e6 and name != 'attention_maps.html']
    total = {key: sum(state[key] for state in facts.values()) for key in ('charts', 'formulas')}
    print(f'{len(PAGES)} pages, {total["charts"]} charts, {total["formulas"]} formulas, {sum(len(s["links"]) for s in facts.values()):,} links: {len(faults)} faults')
    for fault in dict.fromkeys(faults): print(' ', fault)
    sys.exit(bool(faults))

asyncio.run(main())
