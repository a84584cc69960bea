// The translator in the page. State is one flat object, kept in the address by "Share".
import * as T from "./transformer.js";
import {clean_text, is_empty} from "./normalize.js";
import {quotation, requote} from "./quotations.js";
import {split_text} from "./sentences.js";
import {
  direction, here, list_models, load, loading_text, megabytes, open_folder} from "./models.js";
import {load_gloss} from "./gloss.js";
import {BUGS, edited_model, greedy_decode} from "./edits.js";
import * as draw from "./draw.js";
import {TOUR} from "./tour.js";

const {button, controls, el, word} = draw;
const media = query => matchMedia(query).matches;
const phone = media("(max-width: 760px), (pointer: coarse)") || navigator.connection?.saveData;
const narrow = media("(max-width: 760px)");
const calm = media("(prefers-reduced-motion: reduce)");
const MOST = 60; // source tokens that the views show
const LONGEST = 512, MAX_CHARS = 20_000; // source tokens and characters that are translated

const DEFAULT = {
  s: "",
  model: "", // the first of the list
  part: 0,
  tab: "attention",
  module: "", // cross-attention of the last layer
  head: -1,
  at: 6,
  beam: 1,
  alpha: 0.6,
  temperature: 1,
  top_k: 0,
  top_p: 1,
  heads: [],
  layers: [],
  masked: [],
  positions: true,
  begin: [],
  bug: "",
  gold: false,
  tour: -1,
};
const CHANGES = ["heads", "layers", "masked", "positions"]; // of the model
// what a run depends on
const INPUT = ["s", "model", "part", "beam", "alpha", "begin", "bug", ...CHANGES];
const LIMITS = {
  part: [0, 999, 1], // least, most, step
  head: [-1, 63, 1],
  at: [0, 200, 1],
  beam: [1, 10, 1],
  alpha: [0, 2, 0.1],
  temperature: [0.1, 3, 0.1],
  top_k: [0, 20, 1],
  top_p: [0, 1, 0.01],
};
const TABS = { // each view is a method of the page
  attention: "Attention",
  maps: "All heads",
  steps: "One head in numbers",
  vectors: "Embeddings",
  probabilities: "Probabilities",
  beam: "Beam search",
  change: "Change the model",
  bug: "Find the bug",
};
const MODULE = /^(encoder|decoder)\.layers\.\d+\.(self|src)_attn$/;

function layers_of({N, N_decoder}) { // their names
  const stack = (name, size) => Array.from({length: size}, (_, n) => `${name}.layers.${n}`);
  return [...stack("encoder", N), ...stack("decoder", N_decoder ?? N)];
}
const modules_of = config => layers_of(config).flatMap(name => {
  const parts = draw.is_encoder(name) ? ["self_attn"] : ["self_attn", "src_attn"];
  return parts.map(part => `${name}.${part}`);
});
function shape_of(run) { // the same of a stored run, by its maps
  const names = Object.keys(run?.maps ?? {}), [heads = []] = Object.values(run?.maps ?? {});
  const own = names.filter(name => !draw.is_cross(name)), N = own.filter(draw.is_encoder).length;
  return {N, N_decoder: own.length - N, h: heads.length};
}
const count_to = n => Array.from({length: n}, (_, i) => i);

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const differs = (state, keys) => keys.some(key => !same(state[key], DEFAULT[key]));

export function is_shared(hash) { // whether it is an address of "Share"
  try { decodeURIComponent(hash); }
  catch { return false; } // a percent sign that encodes nothing
  return [...new URLSearchParams(hash.slice(1)).keys()].some(key => Object.hasOwn(DEFAULT, key));
}

export function read_state(hash) { // unknown names and values of another type are ignored
  const state = {...DEFAULT}, kind = value => (Array.isArray(value) ? "array" : typeof value);
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!Object.hasOwn(DEFAULT, key)) continue;
    try {
      const value = typeof DEFAULT[key] === "string" ? text : JSON.parse(text);
      if (kind(value) === kind(DEFAULT[key])) state[key] = value;
    } catch { /* not one of our addresses */ }
  }
  for (const [key, [least, most, step]] of Object.entries(LIMITS)) {
    const value = Math.min(most, Math.max(least, state[key]));
    state[key] = step === 1 ? Math.round(value) : value;
  }
  state.s = state.s.slice(0, 1000);
  state.begin = state.begin.filter(id => Number.isInteger(id) && id >= 0);
  for (const key of ["heads", "layers"])
    state[key] = state[key].filter(one => typeof one === "string");
  if (!Object.hasOwn(TABS, state.tab)) state.tab = DEFAULT.tab;
  if (!MODULE.test(state.module)) state.module = DEFAULT.module;
  state.bug = BUGS[Number(state.bug) - 1]?.title ?? "";
  return state;
}

export function write_state(state) {
  // only what differs from the default; a bug by its number, which does not reveal the cause
  const bug = state.bug && String(1 + BUGS.findIndex(one => one.title === state.bug));
  const text = value => (typeof value === "string" ? value : JSON.stringify(value));
  const changed = Object.entries({...state, bug}).filter(([key]) => differs(state, [key]));
  return "#" + new URLSearchParams(changed.map(([key, value]) => [key, text(value)]));
}

function words_of(pieces) { // number of the word of each piece; a sign and </s> are words
  const begins = piece => /^[^\p{L}\p{N}]/u.test(piece); // with ▁ as well
  let n = -1;
  return pieces.map(piece => (begins(piece) ? ++n : Math.max(n, 0)));
}

function swapped(text, n) { // exchange word n and the next one
  const parts = text.match(/\s+|[\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}]+/gu) ?? [];
  const [a, b] = [...parts.keys()].filter(i => parts[i].trim()).slice(n, n + 2);
  if (b !== undefined) [parts[a], parts[b]] = [parts[b], parts[a]];
  return parts.join("");
}

function sample({model, source: {src, max_len, mask}}, options) {
  const decoder = new T.IncrementalDecoder(model, src, mask), prefix = decoder.start();
  while (prefix.ids.length < max_len && prefix.ids.at(-1) !== T.EOS) {
    const p = T.top_k_top_p(Array.from(decoder.logits(prefix)), options);
    let left = Math.random();
    const id = p.findIndex(x => (left -= x) < 0);
    prefix.ids = [...prefix.ids, id < 0 ? T.top(p, 1)[0] : id];
  }
  return prefix.ids;
}

function gold_links(example, src, tgt) { // the corpus's word alignment, between pieces
  const places = (pieces, words) => { // number of the word of each piece
    let at = 0, rest = words[0];
    return pieces.map(piece => {
      if (piece === "</s>" || rest === undefined) return -1;
      const place = at;
      rest = rest.slice(word(piece).length);
      if (!rest) rest = words[++at];
      return place;
    });
  };
  const of = (list, n) => [...list.keys()].filter(i => list[i] === n);
  const a = places(src, example.src_words), b = places(tgt.slice(1), example.tgt_words);
  return example.alignment.flatMap(([i, j]) => of(a, i).flatMap(s => of(b, j).map(t => [s, t])));
}

const unread = ({tokenizer}, src, tgt) => ({ // a run without maps
  src: tokenizer.pieces(src),
  tgt: tokenizer.pieces(tgt),
  ids: tgt,
  text: tokenizer.decode(tgt),
  maps: {},
  steps: [],
  hidden: new Set(),
  piece: id => tokenizer.pieces([id])[0],
});

// A whole run: pieces, every attention map, logits. `tgt` may be the beginning of a translation.
function analyze({tokenizer}, model, src, tgt, mask) {
  const input = tgt.length > 1 ? tgt.slice(0, -1) : tgt;
  const [hidden, seen] = T.record(() => model.forward(src, input, mask));
  const rows = w => Array.from({length: w.rows}, (_, i) => Array.from(w.row(i)));
  const attending = Object.entries(seen).filter(([, {heads}]) => heads);
  return {
    ...unread({tokenizer}, src, tgt),
    maps: Object.fromEntries(
      attending.map(([name, {heads}]) => [name, heads.map(({weights}) => rows(weights))])),
    seen,
    logits: model.generator.logits(hidden),
  };
}

// Each of these yields a function that returns a run, after every token.
function* translate_sentence(core, model, text, state) {
  const read = core.spelling?.restore(text)[0] ?? text; // misspelled words as known ones
  const all = core.tokenizer.encode(read), {src, max_len} = T.sources(all.slice(0, LONGEST));
  const words = words_of(core.tokenizer.pieces(src));
  const hidden = new Set([...src.keys()].filter(i => state.masked.includes(words[i])));
  const mask = T.padding_mask(src, hidden), steps = [], long = src.length > MOST + 1;
  const source = {src, max_len, mask}, cut = all.length > LONGEST;
  const facts = {steps, hidden, long, cut, model, source};
  const run = (ids, score) => () =>
    ({...(long ? unread(core, src, ids) : analyze(core, model, src, ids, mask)), ...facts, score});
  if (state.beam > 1 && !state.bug) {
    const options = {beam_size: state.beam, length_penalty: state.alpha};
    for (const step of T.beam_steps(model, src, mask, max_len, options)) {
      steps.push(step);
      yield run((step.found.find(one => one.kept) ?? step.best).ids);
    }
    const {best} = steps.at(-1);
    yield run(best.ids, best.score);
  } else {
    const begin = state.begin.map(id => (id < core.tokenizer.ids.size ? id : T.UNK));
    const search = state.bug
      ? greedy_decode(model, src, mask, Math.min(max_len, src.length + 10))
      : T.greedy_steps(model, src, mask, max_len, begin);
    for (const {ids} of search) yield run(ids);
  }
}

export function sentences_of(text, lang) { // none, if nothing of the text can be seen
  if (is_empty(text)) return [];
  const start = Array.from(clean_text(text)).slice(0, MAX_CHARS).join("");
  const texts = split_text(start, lang);
  return texts.length === 1 ? [text] : texts;
}

export function* translate(core, state) { // sentence by sentence; the run is that of one of them
  const model = edited_model(core.weights, core.config, state);
  const texts = sentences_of(state.s, direction({pair: "de-en", ...core}).from);
  const part = Math.min(state.part, texts.length - 1), free = {masked: [], begin: []};
  let done = [], shown = unread(core, [], [T.BOS]);
  for (const [n, text] of texts.entries()) {
    const before = done, own = n === part ? state : {...state, ...free};
    const joined = run => ({...run, text: [...before, run.text].join(" "), texts, part: n});
    let last;
    for (last of is_empty(text) ? [] : translate_sentence(core, model, text, own)) {
      const run = last;
      yield () => joined(run());
    }
    const words = own.begin.length ? "" : quotation(text), quoted = !is_empty(words);
    if (texts.length === 1 && !quoted) return;
    const run = is_empty(text) ? unread(core, [], [T.BOS]) : last();
    if (n === part) shown = run;
    let said = () => ({text: ""}); // the quotation is translated alone as well
    for (said of quoted ? translate_sentence(core, model, words, {...state, ...free}) : [])
      yield () => joined(run);
    done = [...before, requote(run.text, said().text)];
  }
  yield () => ({...shown, text: done.join(" "), texts, part});
}

const pause = ms => new Promise(done => setTimeout(done, ms));
const pick = (state, keys) => Object.fromEntries(keys.map(key => [key, state[key]]));
const read_json = async name => (await fetch(here(name))).json();
const read_stored = entry => read_json(entry.example).catch(() => ({}));

function model_title(entry) {
  const {source, target} = direction(entry);
  return `${source} → ${target} (${entry.name}, ${megabytes(entry.bytes)} MB)`;
}

async function files_of({items, files}) { // of a drop: those of the first folder, or the files
  const folder = [...items].map(item => item.webkitGetAsEntry?.()).find(one => one?.isDirectory);
  if (!folder) return files;
  const reader = folder.createReader(), found = [];
  for (;;) { // a part at a time
    const part = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!part.length) break;
    found.push(...part.filter(one => one.isFile));
  }
  return Promise.all(found.map(one => new Promise((done, fail) => one.file(done, fail))));
}

const TOP = `<form>
    <textarea rows="1" maxlength="1000" autocomplete="off" spellcheck="false"></textarea>
    <button class="go">Translate</button>
    <select class="menu" aria-label="Model"></select>
  </form>
  <details class="examples"><summary>Example sentences</summary>
    <div class="chips" role="group" aria-label="Example sentences"></div></details>
  <div class="source"></div>
  <div class="output"></div>
  <div class="target"></div>
  <p class="spoken" role="status"></p>`;
const SMALL = `${TOP}
  <p class="status"></p>
  <div class="panel"></div>
  <p><a>Every layer, head and number of this translation</a></p>`;
const FULL = `<input class="folder" type="file" webkitdirectory multiple hidden>
  ${TOP}
  <details class="words"><summary>Build a sentence from words</summary><div></div></details>
  <div class="guide"></div>
  <div role="tablist" aria-label="Views"></div>
  <p class="status"></p>
  <div class="panel" role="tabpanel" id="live-panel"></div>
  <div class="controls foot"></div>`;
// A form inside a lesson shows one view, `data-view`; `data-state` is what differs from the default
const VIEWS = {attention: "attention", positions: "change", probabilities: "probabilities"};
const OWN = "own"; // name of a folder that was opened here

class Page {
  constructor(root, {models, phrases, stored}) {
    const {live, view, state: own = "{}"} = root.dataset, small = live === "small";
    const state = !small && is_shared(location.hash) ? read_state(location.hash)
      : {...DEFAULT, tab: VIEWS[view] ?? DEFAULT.tab, ...JSON.parse(own)};
    Object.assign(this, {root, models: [...models], phrases, small, state, number: 0});
    this.view_name = view;
    this.build();
    this.dress(this.entry(), this.entry() === models[0] ? stored : {});
    const [first] = this.chips(), others = INPUT.filter(key => key !== "s");
    this.state = {...state, s: state.s || first};
    this.input.value = this.state.s;
    const plain = this.stored.run && this.state.s === first && !differs(this.state, others);
    this.show(plain ? this.stored.run : null);
    if (!phone && !small) this.update(); // on a phone a tap loads the model
    else if (!plain || (view && this.state.tab !== "attention")) // a stored run has only maps
      this.say(`Press Translate to load the model (${this.size()}).`);
  }
  entry() { // of the list of models
    return this.models.find(({name}) => name === this.state.model) ?? this.models[0];
  }
  size() {
    return `${megabytes(this.entry().bytes)} MB`;
  }
  phrases_of(entry) {
    const none = {chips: [], words: ""};
    return this.phrases[entry.name] ?? this.phrases[direction(entry).from] ?? none;
  }
  chips(entry = this.entry()) {
    const {chips} = this.phrases_of(entry);
    return chips.length ? chips : [this.state.s];
  }
  sentences() { // to look for one that a change breaks
    return [...this.phrases_of(this.entry()).more ?? [], ...this.chips()];
  }

  build() {
    const find = selector => this.root.querySelector(selector);
    this.root.innerHTML = this.small ? SMALL : FULL;
    for (const name of ["source", "output", "target", "spoken", "guide", "panel", "status", "menu",
      "chips", "words", "folder", "examples"])
      this[name === "chips" ? "list" : name] = find(`.${name}`);
    this.input = find("textarea");
    this.input.addEventListener("keydown", event => { // a sentence has no lines
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
    this.examples.open = !narrow; // on a phone the result comes first
    this.menu.addEventListener("change", () => this.choose(this.menu.value));
    find("form").addEventListener("submit", event => {
      event.preventDefault();
      this.submit();
    });
    this.tabs = this.small ? [] : Object.entries(TABS).map(([tab, title], n) =>
      button(title, null, () => this.open(tab), {
        role: "tab",
        id: `live-tab-${tab}`,
        "aria-controls": "live-panel",
        onkeydown: event => this.arrow(event, n),
      }));
    if (this.small) return;
    find("[role=tablist]").append(...this.tabs);
    find(".foot").append(
      button("Guided tour", null, () => this.visit(0)),
      button("Share", null, () => this.share()),
      button("Reset", null, () => this.reset()));
    addEventListener("hashchange", () => {
      if (is_shared(location.hash)) this.set(read_state(location.hash));
    });
    this.folder.addEventListener("change", () => this.open_files(this.folder.files));
    const has_files = ({dataTransfer}) => dataTransfer.types.includes("Files");
    this.root.addEventListener("dragover", event => has_files(event) && event.preventDefault());
    this.root.addEventListener("drop", event => {
      if (!has_files(event)) return; // a text for the input
      event.preventDefault();
      files_of(event.dataTransfer).then(files => this.open_files(files));
    });
  }
  dress(entry, stored = {}) { // what follows the model: languages, chips, words
    const {from, to, source} = direction(entry), {words} = this.phrases_of(entry);
    Object.assign(this, {shown: entry, stored, core: null, run: null, texts: new Map()});
    this.input.lang = this.source.lang = from;
    this.output.lang = this.target.lang = to;
    this.input.setAttribute("aria-label", `${source} sentence`);
    const titles = [...this.models.map(one => [one.name, model_title(one)]),
      ...(this.small ? [] : [["", "Open a folder of your own …"]])];
    this.menu.replaceChildren(...titles.map(([value, title]) =>
      el("option", {value, selected: value === entry.name}, title)));
    this.menu.hidden = titles.length < 2;
    this.list.replaceChildren(...this.phrases_of(entry).chips.map(s =>
      button(s, `chip ${s}`, () => this.submit(s), {lang: from})));
    this.words?.querySelector("div").replaceChildren(...words.split(" ").filter(Boolean).map(one =>
      button(one, `word ${one}`, () => this.append(one), {lang: from})));
    if (this.words) this.words.hidden = !words;
  }
  choose(name) {
    if (!name) {
      this.menu.value = this.shown.name;
      return this.folder.click();
    }
    const model = name === this.models[0].name ? "" : name, old = this.shown;
    const entry = this.models.find(one => one.name === name), {s, tab} = this.state;
    const stays = direction(old).from === direction(entry).from && !this.chips(old).includes(s);
    this.set({...DEFAULT, tab, model, s: stays ? s : this.chips(entry)[0]}, true);
  }
  async open_files(files) { // a saved model of the visitor; nothing leaves the page
    try {
      const core = await open_folder(files), {pair} = core;
      const bytes = Array.from(files).reduce((sum, {size}) => sum + size, 0);
      const others = this.models.filter(({name}) => name !== OWN);
      this.models = [...others, {name: OWN, pair, bytes, core}];
      this.choose(OWN);
    } catch ({message}) {
      this.say(`This folder cannot be used: ${message}`, true);
    }
  }
  append(one) { // a clicked word; a finished sentence is replaced
    const text = this.input.value.trim(), begins = !text || /[.?!]$/.test(text);
    const capital = one[0].toUpperCase() + one.slice(1), sign = /^[.?!]$/.test(one);
    this.input.value = begins ? capital : sign ? text + one : `${text} ${one}`;
    if (sign && !begins) this.submit();
  }
  open(tab) { // beam search has something to show from beam size 2 on
    this.set(tab === "beam" && this.state.beam === 1 ? {tab, beam: 4} : {tab});
  }
  arrow({key}, n) { // arrow keys move between the tabs
    const step = {ArrowRight: 1, ArrowLeft: -1}[key];
    if (!step) return;
    const tab = this.tabs.at((n + step) % this.tabs.length);
    tab.click();
    tab.focus();
  }
  submit(s = this.input.value.replace(/\s*\n\s*/g, " ").trim()) {
    if (narrow) this.examples.open = false;
    const at = s === this.state.s ? this.state.at : DEFAULT.at; // the same sentence keeps its token
    this.set({s, part: 0, begin: [], masked: [], at}, true);
  }
  reset() {
    const {model, tab} = this.state;
    this.set({...DEFAULT, s: this.chips()[0], model, tab});
    this.input.value = this.state.s;
  }
  visit(n) { // a step of the tour; -1 ends it, and removes what it changed
    const {model, tab, s} = this.state, step = TOUR[n];
    const [begin] = step?.seeks ? this.sentences() : this.chips();
    this.seeks = step?.seeks;
    this.set({...DEFAULT, model, ...(step ? {s: begin, ...step.state} : {tab, s}), tour: n});
    const key = document.activeElement.dataset?.key;
    this.guide.replaceChildren(...this.tour()); // before the translation
    if (key) this.root.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
    this.guide.firstChild?.scrollIntoView({block: "nearest"}); // the buttons may be far below
  }
  async share() {
    history.replaceState(null, "", write_state(this.state));
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("The address of this state is in the clipboard.", true);
    } catch {
      this.say("The address bar holds the address of this state.", true);
    }
  }
  say(text, aloud = false) { // aloud: also by screen readers
    this.status.textContent = text;
    if (aloud) this.spoken.textContent = text;
  }

  set(patch, always = false) {
    const changed = Object.keys(patch).filter(key => !same(patch[key], this.state[key]));
    if (!changed.length && !always) return;
    this.state = {...this.state, ...patch};
    if ("s" in patch && patch.s !== this.input.value) this.input.value = patch.s;
    const grows = changed.includes("beam") && this.state.tab === "beam";
    if (always || changed.some(key => INPUT.includes(key)))
      this.update(always || changed.includes("s") || grows);
    else this.render();
  }
  async load_model(stale) { // whether it is there; meanwhile a stored example is shown
    const entry = this.entry(), watch = (...sizes) => stale() || this.say(loading_text(...sizes));
    this.say("Loading the model …");
    const loaded = entry.core ?? load(entry, watch);
    Promise.resolve(loaded).catch(() => {}); // told below
    if (entry.example && !this.stored.run) {
      const stored = await read_stored(entry), {s} = this.state;
      if (stale()) return false;
      this.stored = stored;
      const plain = !this.run && !differs(this.state, ["beam", "begin", "bug", ...CHANGES]);
      if (plain && stored.run && s === this.chips()[0]) this.show(stored.run);
      this.say("Loading the model …");
    }
    try {
      const core = await loaded;
      if (stale()) return false;
      this.core = core;
    } catch ({message}) {
      const reason = message.replace(/\.$/, "");
      const stored = this.run ? " The stored example is shown." : "";
      if (!stale()) this.say(`The model could not be loaded (${reason}).${stored}`, true);
      return false;
    }
    load_gloss().then(gloss => {
      this.gloss = gloss;
      this.render_words();
    });
    return true;
  }
  async update(animate = false) {
    const mine = ++this.number, stale = () => mine !== this.number, entry = this.entry();
    this.trial = null;
    if (entry !== this.shown) {
      this.dress(entry);
      this.render();
    }
    if (!this.core && !await this.load_model(stale)) return;
    const {core, state} = this;
    this.output.setAttribute("aria-busy", "true");
    if (is_empty(state.s)) {
      this.output.setAttribute("aria-busy", "false");
      this.run = null;
      return this.render(`Type a sentence in ${direction(entry).source}.`);
    }
    if (this.changed() || state.bug) {
      this.original = await this.text_of({...DEFAULT, s: state.s}, stale);
      if (stale()) return;
    }
    let run, drawn = performance.now();
    for (run of translate(core, state)) {
      const shows = animate && !calm;
      if (!shows && performance.now() - drawn < 200) continue; // a long text blocks nothing
      if (shows) this.show(run());
      else this.say("Translating …");
      await pause(shows ? 60 : 0);
      if (stale()) return;
      drawn = performance.now();
    }
    this.show(run());
    this.spoken.textContent = this.run.text; // once for a translation
    this.root.dataset.ready = Math.round(performance.now()); // milliseconds, for the tests
    if (this.seeks && await this.seek(stale)) return; // another sentence is translated
    if (!stale()) this.output.setAttribute("aria-busy", "false");
  }
  async text_of(state, stale = () => false) { // a translation without views; null: left
    const key = JSON.stringify(INPUT.map(name => state[name]));
    if (this.texts.has(key)) return this.texts.get(key);
    let run, drawn = performance.now();
    for (run of translate(this.core, state)) {
      if (performance.now() - drawn < 100) continue;
      await pause(0);
      if (stale()) return null;
      drawn = performance.now();
    }
    const {text} = run();
    this.texts.set(key, text);
    return text;
  }
  async pair_of(s, change, stale) { // the translations without and with a change
    return [await this.text_of({...DEFAULT, s}, stale), await this.text_of({...change, s}, stale)];
  }
  async seek(stale) { // whether another sentence is shown, whose translation is changed
    this.seeks = false;
    const change = {...DEFAULT, ...pick(this.state, ["bug", ...CHANGES]), masked: []};
    for (const s of [this.state.s, ...this.sentences()]) {
      const [before, after] = await this.pair_of(s, change, stale);
      if (stale()) return true;
      if (before !== after && s === this.state.s) return false;
      if (before !== after) {
        this.set({s, part: 0, begin: [], masked: []}, true);
        return true;
      }
      this.say("Looking for a sentence that this changes …");
    }
    this.say("None of the example sentences is changed by this.", true);
    return false;
  }
  async try_all() { // the change on every example sentence
    const {number} = this, stale = () => number !== this.number;
    const change = {...DEFAULT, ...pick(this.state, CHANGES), masked: []}, rows = [];
    this.trial = rows;
    for (const s of this.chips()) {
      const [before, after] = await this.pair_of(s, change, stale);
      if (stale()) return;
      rows.push([s, before, after]);
      this.render();
    }
    const kept = rows.filter(([, before, after]) => before === after).length;
    rows.told = `${kept} of ${rows.length} example sentences keep their translation.`;
    this.render(rows.told);
    this.spoken.textContent = rows.told;
  }
  changed() {
    return differs(this.state, CHANGES);
  }
  show(run) { // with the alignment of the corpus, while the translation is its own
    const {s} = this.state, {examples = []} = this.stored;
    const example = examples.find(one => one.src === s && one.tgt === run?.text);
    this.run = example ? {...run, gold: gold_links(example, run.src, run.tgt)} : run;
    this.render();
  }

  render(message = "") {
    const {run, state, root} = this, active = document.activeElement;
    const focus = root.contains(active) && active.dataset.key;
    for (const tab of this.tabs) {
      const on = tab.id === `live-tab-${state.tab}`;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      if (on) this.panel.setAttribute("aria-labelledby", tab.id);
    }
    const look = at => this.set({tab: "probabilities", at});
    const shown = !run || this.small ? [run?.text ?? ""]
      : draw.output_words(run, this.core?.confidence, look);
    this.output.replaceChildren(...shown);
    this.render_words();
    if (this.small) root.querySelector("p a").href = `live.html${write_state(state)}`;
    else this.guide.replaceChildren(...this.tour());
    this.panel.replaceChildren(...[this.view()].flat(9).filter(Boolean));
    const cut = run?.cut ? ` Only the first ${LONGEST} tokens were read.` : "";
    this.say(message || this.told() + cut);
    if (focus) root.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
  }
  render_words() { // the German side with its glosses, and marks for unknown words
    const {state, core, gloss, run} = this, {from, to} = direction(this.shown);
    const parts = core?.words?.parts(state.s) ?? [[clean_text(state.s), false]];
    const restored = core?.spelling?.restore(state.s)[1];
    const shown = draw.words_of_text(parts, from === "de" ? gloss : null, restored);
    this.source.replaceChildren(...shown);
    const made = to === "de" && run ? draw.words_of_text([[run.text, false]], gloss) : [];
    this.target.replaceChildren(...made);
  }
  told() { // one sentence about the view, computed from the run
    const {run, state: {tab}} = this;
    if (tab === "change" && this.original != null && this.changed()) {
      if (this.original === run?.text) return "This change leaves the translation as it is.";
      return `Without the change: ${this.original}`;
    }
    if (!this.has_maps() || run.long) return "";
    if (["attention", "steps"].includes(tab)) return draw.describe(run, this.picked());
    if (tab === "maps") return draw.describe_heads(run);
    if (!run.seen) return "";
    if (tab === "vectors") return draw.describe_vectors(run, this.source_at());
    if (tab === "probabilities") return draw.describe_next(run, this.step_at());
    return tab === "beam" ? draw.describe_beam(run) : "";
  }
  source_at() {
    return Math.min(this.state.at, this.run.src.length - 1);
  }
  step_at() {
    return Math.min(this.state.at, this.run.tgt.length - 2);
  }
  has_maps() {
    return this.run && Object.keys(this.run.maps).length > 0;
  }
  picked() { // the state, limited to what the run has
    const {run, state} = this;
    const names = Object.keys(run.maps), last = names.findLast(draw.is_cross) ?? names[0];
    const module = run.maps[state.module] ? state.module : last;
    const most = run.maps[module].length - 1, one = Math.min(state.head, most);
    const head = state.tab === "steps" ? Math.max(one, 0) : one;
    return {...state, module, head, at: Math.min(state.at, draw.sides(run, module)[1].length - 1)};
  }
  view() {
    const parts = this.run?.texts?.length > 1 && this.part_picker();
    return [parts, this.tab_view()];
  }
  tab_view() {
    const {run, small, state: {tab}} = this;
    const long = run?.long && el("p", {}, `The views show at most ${MOST} source tokens.`);
    if (this.view_name === "positions") return controls(this.positions_box());
    if (small && !this.view_name) return run && (long || this.attention());
    if (["change", "bug"].includes(tab)) return this[tab]();
    if (!run || long) return long;
    if (!this.has_maps()) return el("p", {}, "All layers with attention are removed.");
    if (run.seen || ["attention", "maps"].includes(tab)) return this[tab]();
    if (small) return null; // the button is Translate
    const title = `Load the model (${this.size()}) to see these numbers`; // a stored run has none
    return button(title, null, () => this.update(), {class: "go"});
  }

  option(label, key, values, chosen = {}) { // of one value; `values` are pairs of value and title
    const value = key in chosen ? chosen[key] : this.state[key];
    const select = el("select",
      {"data-key": key, onchange: () => this.set({[key]: values[select.selectedIndex][0]})},
      values.map(([one, title]) => el("option", {selected: one === value}, title)));
    return el("label", {}, label, select);
  }
  slider(label, key) {
    const value = this.state[key], [min, max, step] = LIMITS[key];
    const shown = el("output", {}, String(value));
    const oninput = event => { shown.textContent = event.target.value; }; // while it is dragged
    const onchange = event => this.set({[key]: +event.target.value});
    const props = {type: "range", "data-key": key, min, max, step, value, oninput, onchange};
    return el("label", {}, label, el("input", props), shown);
  }
  box(title, key, checked, change) {
    const onchange = event => change(event.target.checked);
    const props = {type: "checkbox", "data-key": key, checked, onchange};
    return el("label", {}, el("input", props), title);
  }
  member(title, key, value) { // a box for one member of a list of the state
    const list = this.state[key], rest = list.filter(one => one !== value);
    return this.box(title, `${key} ${value}`, list.includes(value),
      on => this.set({[key]: on ? [...rest, value] : rest}));
  }
  positions_box() {
    return this.box("add the positional encoding", "positions", this.state.positions,
      positions => this.set({positions}));
  }
  token_picker(label, pieces) {
    return this.option(label, "at", pieces.map((piece, i) => [i, `${i + 1}. ${word(piece)}`]));
  }
  part_picker() {
    const titles = this.run.texts.map((text, i) => [i, `${i + 1}. ${text}`]);
    return controls(this.option("Sentence", "part", titles));
  }
  module_picker() {
    return this.option("Where", "module",
      Object.keys(this.run.maps).map(name => [name, draw.module_title(name)]), this.picked());
  }
  head_picker(...first) {
    const picked = this.picked(), count = this.run.maps[picked.module].length;
    const heads = count_to(count).map(i => [i, `head ${i}`]);
    return this.option("Head", "head", [...first, ...heads], picked);
  }
  beam_options() {
    const score = this.run?.score;
    return controls(
      this.option("Beam size", "beam", [1, 2, 3, 4, 6, 8].map(n => [n, String(n)])),
      this.slider("Length penalty α", "alpha"),
      score != null && el("span", {}, `score ${score.toFixed(3)}`));
  }

  attention() {
    const {run, state, small} = this, picked = this.picked();
    const aligned = run.gold && draw.is_cross(picked.module);
    const gold = () =>
      this.box("gold alignment", "gold", state.gold, gold => this.set({gold}));
    return [
      (!small || this.view_name) && controls(
        this.module_picker(), this.head_picker([-1, "mean of the heads"]), aligned && gold()),
      el("p", {class: "hint"}, "Tap or point at a word on the right to see where it looks."),
      draw.lines_view(run, picked, at => this.set({at})),
    ];
  }
  maps() {
    const choose = (module, head) => this.set({module, head, tab: "attention"});
    return [
      el("p", {}, "A row is a query, a column is a key. Choose a head to see its lines."),
      draw.maps_view(this.run, this.picked(), choose),
    ];
  }
  steps() {
    const picked = this.picked(), [, queries] = draw.sides(this.run, picked.module);
    return [
      controls(this.module_picker(), this.head_picker(), this.token_picker("Query", queries)),
      draw.steps_view(this.run, picked),
    ];
  }
  vectors() {
    const {src, seen} = this.run, {cols} = seen.src_embed.out;
    return [
      this.token_picker("Source token", src),
      el("p", {},
        `Each strip is one vector of ${cols} numbers; orange is positive, blue is negative.`),
      draw.vectors_view(this.run, this.source_at()),
    ];
  }
  probabilities() {
    const {run, state} = this, at = this.step_at();
    const chosen = run.ids.slice(1, at + 1), before = run.tgt.slice(1, at + 1).map(word).join(" ");
    const begin = ids => this.set({begin: ids, beam: 1});
    return [
      controls(
        this.token_picker("Step", run.tgt.slice(1)),
        this.slider("Temperature", "temperature"),
        this.slider("Top-k (0: all)", "top_k"),
        this.slider("Top-p", "top_p")),
      el("p", {}, before ? `The next token after “${before}”: ` : "The first token: ",
        "logits, softmax, and what temperature, top-k and top-p leave. ",
        el("i", {}, "Use"), " continues the translation with another token."),
      draw.probabilities_view(run, {...state, at}, id => begin([...chosen, id])),
      controls(
        button("Sample a translation", "sample", () => begin(sample(run, state).slice(1))),
        state.begin.length > 0 &&
          button("Remove the chosen tokens", "free", () => this.set({begin: []}))),
    ];
  }
  beam() {
    const {run, state: {beam}} = this;
    if (!run.steps.length)
      return [
        this.beam_options(),
        el("p", {}, "With beam size 1 the search is greedy. Choose a larger beam."),
      ];
    return [
      this.beam_options(),
      el("p", {}, `Each column is one step: the ${2 * beam} best continuations with their ` +
        `scores. The ${beam} best continue; thick lines lead to the result.`),
      draw.beam_view(run.steps, run.piece),
    ];
  }

  with_sentence(edit) { // the whole text with the shown sentence changed
    const {texts = [this.state.s], part = 0} = this.run ?? {};
    return texts.map((text, n) => (n === part ? edit(text) : text)).join(" ");
  }
  change() {
    const {state} = this, pieces = this.run?.src.slice(0, -1) ?? [], words = [];
    words_of(pieces).forEach((n, i) => { words[n] = (words[n] ?? "") + word(pieces[i]); });
    const part = (title, ...kids) =>
      el("fieldset", {}, el("legend", {}, title), el("div", {class: "options"}, kids));
    const swap = i => button(`${words[i]} ↔ ${words[i + 1]}`, `swap ${i}`,
      () => this.set({s: this.with_sentence(text => swapped(text, i)), masked: [], begin: []}));
    const layer = name => `${name.slice(0, 7)} layer ${name.split(".")[2]}`;
    const config = this.core?.config ?? shape_of(this.run);
    const heads = name => {
      const title = draw.module_title(name);
      return el("div", {class: "controls heads", role: "group", "aria-label": title},
        el("span", {}, title),
        count_to(config.h).map(i => this.member(String(i), "heads", `${name}.${i}`)));
    };
    return [
      el("p", {}, "Each change applies to the running model. ",
        "The maps and the other views show the changed model."),
      this.changed() && this.chips().length > 1 && controls(
        button("Show a sentence that this changes", "seek", () => {
          this.seeks = true;
          this.update();
        }),
        button(`Try it on ${this.chips().length} sentences`, "try", () => this.try_all())),
      this.trial && draw.trial_view(this.trial, s => this.submit(s)),
      part("Hide a source word", words.map((title, i) => this.member(title, "masked", i))),
      part("Swap a word with the next", words.slice(1).map((_, i) => swap(i))),
      part("Remove a layer",
        layers_of(config).map(name => this.member(layer(name), "layers", name))),
      part("Positions", this.positions_box()),
      part("Search", this.beam_options()),
      part("Remove heads", modules_of(config).map(heads)),
    ];
  }

  bug() {
    const {bug} = this.state, index = BUGS.findIndex(one => one.title === bug);
    const next = () => { // another one, in the unchanged model, on a sentence that it breaks
      const n = (index + 1 + Math.floor(Math.random() * (BUGS.length - 1))) % BUGS.length;
      const {heads, layers, begin, masked, positions, beam} = DEFAULT;
      this.seeks = true;
      this.set({bug: BUGS[n].title, heads, layers, begin, masked, positions, beam});
    };
    const begin = controls(
      button(bug ? "Another bug" : "Put a bug into the model", "next bug", next, {class: "go"}),
      bug && button("Remove the bug", "no bug", () => this.set({bug: ""})));
    if (!bug)
      return [
        el("p", {}, "One of ten bugs of the bug museum is put into the model. ",
          "Look at the translation and at the maps, then choose the cause."),
        begin,
      ];
    const link = el("p", {hidden: true},
      el("a", {href: "bug_museum.html"}, `“${bug}” in the bug museum`));
    const told = el("p", {class: "answer", "aria-hidden": "true"}); // beside the buttons
    const answer = async ({title, symptom}, {target}) => {
      const right = title === bug, {number, state: {s}} = this;
      target.classList.toggle("wrong", !right);
      link.hidden &&= !right;
      const other = right ? "" : await this.text_of({...DEFAULT, s, bug: title});
      if (number !== this.number) return;
      const effect = other === this.run.text
        ? "It gives the same translation here: compare the maps."
        : `With it the translation is “${other}”`;
      const said = right ? `Correct: ${title}. ${symptom}`
        : `${title}: this bug has another symptom. ${symptom} ${effect}`;
      this.say(said, true);
      told.textContent = said;
      told.scrollIntoView({block: "nearest"});
    };
    const causes = BUGS.map(one =>
      button(one.title, one.title, event => answer(one, event)));
    return [
      el("p", {}, "Without the bug: ", el("b", {}, this.original ?? "")),
      begin,
      el("div", {class: "options"}, causes),
      told,
      link,
      this.has_maps() && !this.run.long && this.attention(),
    ];
  }

  tour() { // the step that the page is at
    const n = this.state.tour, step = TOUR[n];
    if (!step) return [];
    const move = (title, to, props) => button(title, `tour ${title}`, () => this.visit(to), props);
    return [
      el("div", {class: "tour", role: "region", "aria-label": "Guided tour"},
        el("b", {}, `${n + 1} of ${TOUR.length}: ${step.title}`),
        el("p", {}, step.text, " ", el("a", {href: step.link}, "Definition")),
        controls(
          move("Back", n - 1, {disabled: n === 0}),
          n + 1 < TOUR.length && move("Next", n + 1, {class: "go"}),
          move("End", -1))),
    ];
  }
}

const roots = () => [...document.querySelectorAll("[data-live]")].filter(root => !root.page);
if (roots().length) { // each keeps its stored picture until here
  const [models, phrases] = await Promise.all([list_models(), read_json("phrases.json")]);
  const stored = models[0].example ? await read_stored(models[0]) : {};
  const begin = () => roots().map(root => (root.page = new Page(root, {models, phrases, stored})));
  begin();
  document.addEventListener("DOMContentLoaded", begin); // those that a long page had not yet
}
