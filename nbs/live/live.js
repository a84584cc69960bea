// The translator in the page. State is one flat object, kept in the address by "Share".
import * as T from "./transformer.js";
import {SubwordTokenizer} from "./tokenizer.js";
import {clean_text, is_empty} from "./normalize.js";
import {split_text} from "./sentences.js";
import {
  check_about, check_hashes, check_saved, check_sizes, check_views, read_body} from "./files.js";
import {WORDS, WordSet} from "./unknown.js";
import {BUGS, edited_model, greedy_decode} from "./edits.js";
import * as draw from "./draw.js";
import {TOUR} from "./tour.js";

const {button, controls, el, word} = draw;
const here = name => new URL(name, import.meta.url);
const media = query => matchMedia(query).matches;
const phone = media("(max-width: 760px), (pointer: coarse)") || navigator.connection?.saveData;
const calm = media("(prefers-reduced-motion: reduce)");
const MOST = 60; // source tokens that the views show
const LONGEST = 512, MAX_CHARS = 20_000; // source tokens and characters that are translated

const DEFAULT = {
  s: "",
  part: 0,
  tab: "attention",
  module: "decoder.layers.1.src_attn",
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
const INPUT = ["s", "part", "beam", "alpha", "begin", "bug", ...CHANGES]; // what a run depends on
const LIMITS = {
  part: [0, 999, 1], // least, most, step
  head: [-1, 3, 1],
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
const LAYERS = ["encoder.layers.0", "encoder.layers.1", "decoder.layers.0", "decoder.layers.1"];
const MODULES = LAYERS.flatMap(name => {
  const parts = draw.is_encoder(name) ? ["self_attn"] : ["self_attn", "src_attn"];
  return parts.map(part => `${name}.${part}`);
});

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
  state.begin = state.begin.filter(id => Number.isInteger(id) && id >= 0 && id < 1500);
  for (const key of ["heads", "layers"])
    state[key] = state[key].filter(one => typeof one === "string");
  if (!Object.hasOwn(TABS, state.tab)) state.tab = DEFAULT.tab;
  if (!MODULES.includes(state.module)) state.module = DEFAULT.module;
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

const MODELS = {pocket: "pocket_model"}; // name of a model -> folder beside this file
const FILES = ["model.safetensors", "tokenizer.json", "config.json"];
const loading = new Map(); // name -> [promise, watchers]: one copy for all forms of a page

const get = async (place, name) => {
  const response = await fetch(here(`${place}/${name}`));
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response;
};

async function load_files(place, watchers) {
  let read = 0, total = 0;
  const report = n => {
    read += n;
    for (const watch of watchers) watch(read, total);
  };
  const bytes = async name => read_body(await get(place, name), report);
  const json = async name => {
    const text = new TextDecoder().decode(await bytes(name));
    try { return JSON.parse(text); }
    catch { throw new Error(`${name}: it is not JSON.`); }
  };
  const manifest = json("MANIFEST.json").then(manifest => {
    for (const name of [...FILES, WORDS]) total += manifest?.files?.[name]?.bytes || 0;
    return manifest;
  });
  const words = manifest.then(({files}) => files?.[WORDS] && bytes(WORDS)); // older folders: none
  return open_model(...await Promise.all(
    [bytes(FILES[0]), json(FILES[1]), json(FILES[2]), manifest, words]));
}

function loading_text(read, total) {
  const mb = n => (n / 1e6).toFixed(1);
  return `Loading the model: ${mb(read)}${read < total ? ` of ${mb(total)}` : ""} MB …`;
}

export async function load(watch = () => {}, name = "pocket") { // watch: of (bytes read, of all)
  const watchers = loading.get(name)?.[1] ?? new Set();
  watchers.add(watch);
  if (!loading.has(name)) loading.set(name, [load_files(MODELS[name], watchers), watchers]);
  try { return await loading.get(name)[0]; }
  catch (error) {
    loading.delete(name);
    throw error;
  } finally { watchers.delete(watch); }
}

// raises what does not fit
export async function open_model(buffer, merges, about, manifest, known_words) {
  check_about(about);
  const tokenizer = new SubwordTokenizer(merges), weights = T.read_weights(buffer);
  const words = known_words && new WordSet(known_words);
  const core = {weights, tokenizer, config: about.model, words};
  check_views(core.config);
  T.make_model(weights, core.config);
  check_sizes(core);
  await check_hashes(buffer, merges, manifest);
  if (words) await check_saved(WORDS, known_words, manifest);
  return core;
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
  const all = core.tokenizer.encode(text), {src, max_len} = T.sources(all.slice(0, LONGEST));
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
    const search = state.bug
      ? greedy_decode(model, src, mask, Math.min(max_len, src.length + 10))
      : T.greedy_steps(model, src, mask, max_len, state.begin);
    for (const {ids} of search) yield run(ids);
  }
}

export function sentences_of(text) { // none, if nothing of the text can be seen
  if (is_empty(text)) return [];
  const start = Array.from(clean_text(text)).slice(0, MAX_CHARS).join("");
  const texts = split_text(start);
  return texts.length === 1 ? [text] : texts;
}

export function* translate(core, state) { // sentence by sentence; the run is that of one of them
  const model = edited_model(core.weights, core.config, state), texts = sentences_of(state.s);
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
    if (texts.length === 1) return;
    const run = is_empty(text) ? unread(core, [], [T.BOS]) : last();
    if (n === part) shown = run;
    done = [...before, run.text];
  }
  yield () => ({...shown, text: done.join(" "), texts, part});
}

const TOP = `<form>
    <input type="text" maxlength="1000" lang="de" autocomplete="off" spellcheck="false"
      aria-label="German sentence">
    <button class="go">Translate</button>
    <select aria-label="Examples"><option value="" disabled selected>Examples</option></select>
  </form>
  <div class="source" lang="de"></div>
  <div class="output" lang="en" aria-live="polite"></div>`;
const SMALL = `${TOP}
  <div class="panel"></div>
  <p class="status" role="status"></p>
  <p><a>Every layer, head and number of this translation</a></p>`;
const FULL = `${TOP}
  <div class="guide"></div>
  <div role="tablist" aria-label="Views"></div>
  <div class="panel" role="tabpanel" id="live-panel"></div>
  <p class="status" role="status"></p>
  <div class="controls foot"></div>`;

class Page {
  constructor(root, stored) {
    const small = root.dataset.live === "small", first = stored.examples[0].src;
    const shared = !small && is_shared(location.hash) ? read_state(location.hash) : DEFAULT;
    Object.assign(this, {root, stored, small, number: 0, core: null});
    this.state = {...shared, s: shared.s || first};
    this.build();
    const plain = this.state.s === first && !differs(this.state, INPUT.filter(key => key !== "s"));
    this.show(plain ? stored.run : null);
    if (!phone && !small) this.update(); // on a phone a tap loads the model
    else if (!plain) this.say("Press Translate to load the model (1.7 MB).");
  }

  build() {
    const find = selector => this.root.querySelector(selector);
    this.root.innerHTML = this.small ? SMALL : FULL;
    for (const name of ["input", "select"]) this[name] = find(name);
    for (const name of ["source", "output", "guide", "panel", "status"])
      this[name] = find(`.${name}`);
    this.input.value = this.state.s;
    this.select.append(...this.stored.examples.map(({src}) => el("option", {value: src}, src)));
    this.select.addEventListener("change", () => {
      this.input.value = this.select.value;
      this.submit();
    });
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
  submit() {
    this.set({s: this.input.value.trim(), part: 0, begin: [], masked: [], at: 6}, true);
  }
  reset() {
    this.set({...DEFAULT, s: this.stored.examples[0].src, tab: this.state.tab});
    this.input.value = this.state.s;
  }
  visit(n) { // a step of the tour; -1 ends it
    this.set({...(TOUR[n] && {...DEFAULT, ...TOUR[n].state}), tour: n});
    const key = document.activeElement.dataset?.key;
    this.guide.replaceChildren(...this.tour()); // before the translation
    if (key) this.root.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
    this.guide.firstChild?.scrollIntoView({block: "nearest"}); // the buttons may be far below
  }
  async share() {
    history.replaceState(null, "", write_state(this.state));
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("The address of this state is in the clipboard.");
    } catch {
      this.say("The address bar holds the address of this state.");
    }
  }
  say(text) {
    this.status.textContent = text;
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
  async update(animate = false) {
    const mine = ++this.number, stale = () => mine !== this.number;
    if (!this.core) {
      this.say("Loading the model …");
      try {
        this.core = await load((read, all) => stale() || this.say(loading_text(read, all)));
      } catch ({message}) {
        const reason = message.replace(/\.$/, "");
        return this.say(`The model could not be loaded (${reason}). The stored example is shown.`);
      }
      if (stale()) return;
    }
    const {core, state} = this;
    if (is_empty(state.s)) {
      this.run = null;
      return this.render("Type a German sentence.");
    }
    if (this.changed() || state.bug)
      this.original = [...translate(core, {...DEFAULT, s: state.s})].at(-1)().text;
    let run, drawn = performance.now();
    this.output.setAttribute("aria-busy", "true"); // only the whole translation is spoken
    for (run of translate(core, state)) {
      const shows = animate && !calm;
      if (!shows && performance.now() - drawn < 200) continue; // a long text blocks nothing
      if (shows) this.show(run());
      else this.say("Translating …");
      await new Promise(done => setTimeout(done, shows ? 60 : 0));
      if (stale()) return;
      drawn = performance.now();
    }
    this.output.setAttribute("aria-busy", "false");
    this.show(run());
    this.root.dataset.ready = Math.round(performance.now()); // milliseconds, for the tests
  }
  changed() {
    return differs(this.state, CHANGES);
  }
  show(run) { // with the alignment of the corpus, while the translation is its own
    const {s} = this.state;
    const example = this.stored.examples.find(one => one.src === s && one.tgt === run?.text);
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
    this.source.replaceChildren(...draw.marked(this.core?.words?.parts(state.s) ?? []));
    this.output.textContent = run ? run.text : "";
    if (this.small) root.querySelector("p a").href = `live.html${write_state(state)}`;
    else this.guide.replaceChildren(...this.tour());
    this.panel.replaceChildren(...[this.view()].flat(9).filter(Boolean));
    const told = ["attention", "steps"].includes(state.tab) && this.has_maps();
    const cut = run?.cut ? ` Only the first ${LONGEST} tokens were read.` : "";
    this.say(message || (told ? draw.describe(run, this.picked()) : "") + cut);
    if (focus) root.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
  }
  has_maps() {
    return this.run && Object.keys(this.run.maps).length > 0;
  }
  picked() { // the state, limited to what the run has
    const {run, state} = this;
    const module = run.maps[state.module] ? state.module : Object.keys(run.maps)[0];
    const head = state.tab === "steps" ? Math.max(state.head, 0) : state.head;
    return {...state, module, head, at: Math.min(state.at, draw.sides(run, module)[1].length - 1)};
  }
  view() {
    const parts = this.run?.texts?.length > 1 && this.part_picker();
    return [parts, this.tab_view()];
  }
  tab_view() {
    const {run, small, state: {tab}} = this;
    const long = run?.long && el("p", {}, `The views show at most ${MOST} source tokens.`);
    if (small) return run && (long || this.attention());
    if (["change", "bug"].includes(tab)) return this[tab]();
    if (!run || long) return long;
    if (!this.has_maps()) return el("p", {}, "All layers with attention are removed.");
    if (run.seen || ["attention", "maps"].includes(tab)) return this[tab]();
    const title = "Load the model (1.7 MB) to see these numbers"; // the stored run has none
    return button(title, null, () => this.update(), {class: "go"});
  }

  option(label, key, values) { // a choice of one value; `values` are pairs of value and title
    const select = el("select",
      {"data-key": key, onchange: () => this.set({[key]: values[select.selectedIndex][0]})},
      values.map(([value, title]) => el("option", {selected: value === this.state[key]}, title)));
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
  token_picker(label, pieces) {
    return this.option(label, "at", pieces.map((piece, i) => [i, `${i + 1}. ${word(piece)}`]));
  }
  part_picker() {
    const titles = this.run.texts.map((text, i) => [i, `${i + 1}. ${text}`]);
    return controls(this.option("Sentence", "part", titles));
  }
  module_picker() {
    return this.option("Where", "module",
      Object.keys(this.run.maps).map(name => [name, draw.module_title(name)]));
  }
  head_picker(...first) {
    const heads = [0, 1, 2, 3].map(i => [i, `head ${i + 1}`]);
    return this.option("Head", "head", [...first, ...heads]);
  }
  beam_options() {
    const score = this.run?.score;
    return controls(
      this.option("Beam size", "beam", [1, 2, 3, 4, 6, 8].map(n => [n, String(n)])),
      this.slider("Length penalty α", "alpha"),
      score != null && el("span", {}, `score ${score.toFixed(3)}`));
  }

  attention() {
    const {run, state, small} = this, aligned = run.gold && draw.is_cross(state.module);
    const gold = () =>
      this.box("gold alignment", "gold", state.gold, gold => this.set({gold}));
    return [
      !small && controls(
        this.module_picker(), this.head_picker([-1, "mean of the heads"]), aligned && gold()),
      draw.lines_view(run, this.picked(), at => this.set({at})),
    ];
  }
  maps() {
    const choose = (module, head) => this.set({module, head, tab: "attention"});
    return [
      el("p", {}, "A row is a query, a column is a key. Choose a head to see its lines."),
      draw.maps_view(this.run, this.state, choose),
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
    const {src} = this.run;
    return [
      this.token_picker("Source token", src),
      el("p", {},
        "Each strip is one vector of 128 numbers; blue is positive, orange is negative."),
      draw.vectors_view(this.run, Math.min(this.state.at, src.length - 1)),
    ];
  }
  probabilities() {
    const {run, state} = this, at = Math.min(state.at, run.tgt.length - 2);
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
    const layer = name => `${name.slice(0, 7)} layer ${+name.at(-1) + 1}`;
    const heads = name => {
      const title = draw.module_title(name);
      return el("div", {class: "controls heads", role: "group", "aria-label": title},
        el("span", {}, title),
        [0, 1, 2, 3].map(i => this.member(String(i + 1), "heads", `${name}.${i}`)));
    };
    return [
      el("p", {}, "Each change applies to the running model. ",
        "The maps and the other views show the changed model."),
      this.original && this.changed() &&
        el("p", {}, "Unchanged model: ", el("b", {}, this.original)),
      part("Hide a source word", words.map((title, i) => this.member(title, "masked", i))),
      part("Swap a word with the next", words.slice(1).map((_, i) => swap(i))),
      part("Remove a layer", LAYERS.map(name => this.member(layer(name), "layers", name))),
      part("Positions", this.box("add the positional encoding", "positions", state.positions,
        positions => this.set({positions}))),
      part("Search", this.beam_options()),
      part("Remove heads", MODULES.map(heads)),
    ];
  }

  bug() {
    const {bug} = this.state, index = BUGS.findIndex(one => one.title === bug);
    const next = () => { // another one, in the unchanged model
      const n = (index + 1 + Math.floor(Math.random() * (BUGS.length - 1))) % BUGS.length;
      const {heads, layers, begin, masked, positions, beam} = DEFAULT;
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
    const answer = (title, {target}) => {
      const right = title === bug;
      target.classList.toggle("wrong", !right);
      this.say(right ? `Correct: ${title}.` : `${title}: this bug has another symptom.`);
      told.textContent = this.status.textContent;
      if (right) link.hidden = false;
    };
    const causes = BUGS.map(({title}) => button(title, title, event => answer(title, event)));
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

const roots = document.querySelectorAll("[data-live]"); // each keeps its stored picture until here
if (roots.length) {
  const stored = await (await fetch(here("example.json"))).json();
  for (const root of roots) root.page = new Page(root, stored);
}
