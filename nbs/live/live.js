// The translator in the page. State is one flat object, kept in the address by "Share".
import * as T from "./transformer.js";
import {SubwordTokenizer} from "./tokenizer.js";
import {BUGS, edited_model, greedy_decode} from "./edits.js";
import * as draw from "./draw.js";
import {TOUR} from "./tour.js";

const {el, word} = draw;
const here = name => new URL(name, import.meta.url);
const phone = matchMedia("(max-width: 760px), (pointer: coarse)").matches || navigator.connection?.saveData;
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const MOST = 60; // source tokens

const DEFAULT = {
  s: "",
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
const INPUT = ["s", "beam", "alpha", "heads", "layers", "masked", "positions", "begin", "bug"]; // what a run depends on
const TABS = {
  attention: "Attention",
  maps: "All heads",
  steps: "One head in numbers",
  vectors: "Embeddings",
  probabilities: "Probabilities",
  beam: "Beam search",
  change: "Change the model",
  bug: "Find the bug",
};

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const LAYERS = ["encoder.layers.0", "encoder.layers.1", "decoder.layers.0", "decoder.layers.1"];
const MODULES = LAYERS.flatMap(name =>
  draw.is_encoder(name) ? [`${name}.self_attn`] : [`${name}.self_attn`, `${name}.src_attn`],
);

export function read_state(hash) {
  // unknown names and values of another type are ignored
  const state = {...DEFAULT};
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!Object.hasOwn(DEFAULT, key)) continue;
    try {
      const value = typeof DEFAULT[key] === "string" ? text : JSON.parse(text);
      if (typeof value === typeof DEFAULT[key] && Array.isArray(value) === Array.isArray(DEFAULT[key]))
        state[key] = value;
    } catch {
      /* not one of our addresses */
    }
  }
  const inside = (key, low, high) => {
    state[key] = Math.min(high, Math.max(low, Number(state[key]) || 0));
  };
  for (const [key, low, high] of [
    ["beam", 1, 10],
    ["alpha", 0, 2],
    ["temperature", 0.1, 3],
    ["top_k", 0, 1500],
    ["top_p", 0, 1],
    ["head", -1, 3],
    ["at", 0, 200],
  ])
    inside(key, low, high);
  state.beam = Math.round(state.beam);
  state.s = state.s.slice(0, 1000);
  state.begin = state.begin.filter(id => Number.isInteger(id) && id >= 0 && id < 1500);
  if (!Object.hasOwn(TABS, state.tab)) state.tab = DEFAULT.tab;
  for (const key of ["heads", "layers"]) state[key] = state[key].filter(one => typeof one === "string");
  if (!MODULES.includes(state.module)) state.module = DEFAULT.module;
  state.bug = BUGS[Number(state.bug) - 1]?.title ?? "";
  return state;
}

export function write_state(state) {
  // only what differs from the default; a bug by its number, which does not reveal the cause
  state = {...state, bug: state.bug && String(1 + BUGS.findIndex(one => one.title === state.bug))};
  const text = value => (typeof value === "string" ? value : JSON.stringify(value));
  const changed = Object.keys(DEFAULT).filter(key => !same(state[key], DEFAULT[key]));
  return "#" + new URLSearchParams(changed.map(key => [key, text(state[key])]));
}

let loading; // one model for all forms of a page
export function load() {
  return (loading ??= (async () => {
    const get = async name => {
      const response = await fetch(here(`pocket_model/${name}`));
      if (!response.ok) throw new Error(`${name}: ${response.status}`);
      return response;
    };
    const [buffer, merges, {model: config}] = await Promise.all([
      get("model.safetensors").then(r => r.arrayBuffer()),
      get("tokenizer.json").then(r => r.json()),
      get("config.json").then(r => r.json()),
    ]);
    return {weights: T.read_weights(buffer), tokenizer: new SubwordTokenizer(merges), config};
  })().catch(error => {
    loading = undefined;
    throw error;
  }));
}

export function words_of(pieces) {
  // number of the word of each piece; a sign is a word
  let n = -1;
  return pieces.map(piece =>
    piece.startsWith("▁") || /^[^\p{L}\p{N}]/u.test(piece) || piece === "</s>" ? ++n : Math.max(n, 0),
  );
}

export function swapped(text, n) {
  // exchange word n and the next one
  const parts = text.match(/\s+|[\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}]+/gu) ?? [];
  const [a, b] = [...parts.keys()].filter(i => parts[i].trim()).slice(n, n + 2);
  if (b !== undefined) [parts[a], parts[b]] = [parts[b], parts[a]];
  return parts.join("");
}

export function sample({model, source: {src, max_len, mask}}, options, random = Math.random) {
  const decoder = new T.IncrementalDecoder(model, src, mask),
    prefix = decoder.start();
  while (prefix.ids.length < max_len && prefix.ids.at(-1) !== T.EOS) {
    const p = T.top_k_top_p(Array.from(decoder.logits(prefix)), options);
    let left = random();
    const id = p.findIndex(x => (left -= x) < 0);
    prefix.ids = [...prefix.ids, id < 0 ? T.top(p, 1)[0] : id];
  }
  return prefix.ids;
}

function gold_links(example, src, tgt) {
  // the corpus's word alignment, between pieces
  const places = (pieces, words) => {
    let at = 0,
      rest = words[0];
    return pieces.map(piece => {
      if (piece === "</s>" || rest === undefined) return -1;
      const place = at;
      rest = rest.slice(word(piece).length);
      if (!rest) rest = words[++at];
      return place;
    });
  };
  const [a, b] = [places(src, example.src_words), places(tgt.slice(1), example.tgt_words)];
  return example.alignment.flatMap(([i, j]) =>
    a.flatMap((p, s) => (p === i ? b.flatMap((q, t) => (q === j ? [[s, t]] : [])) : [])),
  );
}

// A whole run: pieces, every attention map, logits, beam. `ids` may be the beginning of a translation.
export function analyze(core, model, src, tgt, mask) {
  const {tokenizer} = core,
    input = tgt.length > 1 ? tgt.slice(0, -1) : tgt;
  const [hidden, seen] = T.record(() => model.forward(src, input, mask));
  const maps = {};
  for (const [name, {heads}] of Object.entries(seen))
    if (heads) maps[name] = heads.map(({weights: w}) => Array.from({length: w.rows}, (_, i) => Array.from(w.row(i))));
  return {
    src: tokenizer.pieces(src),
    tgt: tokenizer.pieces(tgt),
    ids: tgt,
    text: tokenizer.decode(tgt),
    maps,
    seen,
    logits: model.generator.logits(hidden),
    piece: id => tokenizer.pieces([id])[0],
  };
}

export function* translate(core, state) {
  // yields a run after every token
  const all = core.tokenizer.encode(state.s),
    {src, max_len} = T.sources(all.slice(0, MOST));
  const words = words_of(core.tokenizer.pieces(src)),
    hidden = new Set([...src.keys()].filter(i => state.masked.includes(words[i])));
  const mask = T.padding_mask(src, hidden),
    model = edited_model(core.weights, core.config, {...state, keep: state.positions});
  const steps = [],
    facts = {steps, hidden, cut: all.length > MOST, model, source: {src, max_len, mask}};
  const search = state.bug
    ? greedy_decode(model, src, mask, Math.min(max_len, src.length + 10))
    : state.beam > 1
      ? T.beam_steps(model, src, mask, max_len, {beam_size: state.beam, length_penalty: state.alpha})
      : T.greedy_steps(model, src, mask, max_len, state.begin);
  for (const step of search) {
    if (step.found) steps.push(step);
    const live = step.found?.find(one => one.kept) ?? step,
      tgt = live.ids;
    yield () => ({...analyze(core, model, src, tgt, mask), ...facts});
  }
  const {best} = steps.at(-1) ?? {};
  if (best) yield () => ({...analyze(core, model, src, best.ids, mask), ...facts, score: best.score});
}

class Page {
  constructor(root, stored) {
    Object.assign(this, {root, stored, small: root.dataset.live === "small", number: 0, core: null});
    const shared = !this.small && location.hash.includes("=") ? read_state(location.hash) : {...DEFAULT};
    this.state = {...shared, s: shared.s || stored.examples[0].src};
    const unchanged = INPUT.every(key => key === "s" || same(this.state[key], DEFAULT[key]));
    if (unchanged && this.state.s === stored.examples[0].src) this.run = this.with_gold(stored.run);
    this.build();
    this.render();
    if (!phone && !this.small)
      this.update(); // on a phone a tap loads the model
    else if (!this.run) this.say("Press Translate to load the model (1.7 MB).");
  }
  build() {
    const {examples} = this.stored;
    this.input = el("input", {
      type: "text",
      value: this.state.s,
      maxlength: 1000,
      lang: "de",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": "German sentence",
    });
    const choose = event => {
      this.input.value = event.target.value;
      this.submit();
    };
    const choice = el(
      "select",
      {"aria-label": "Examples", onchange: choose},
      el("option", {value: "", disabled: true, selected: true}, "Examples"),
      examples.map(one => el("option", {value: one.src}, one.src)),
    );
    const form = el(
      "form",
      {
        onsubmit: event => {
          event.preventDefault();
          this.submit();
        },
      },
      this.input,
      el("button", {class: "go"}, "Translate"),
      choice,
    );
    this.output = el("div", {class: "output", lang: "en", "aria-live": "polite"});
    this.status = el("p", {class: "status", role: "status"});
    this.tabs = el(
      "div",
      {role: "tablist", "aria-label": "Views"},
      Object.entries(TABS).map(([key, title]) =>
        el(
          "button",
          {
            type: "button",
            role: "tab",
            id: `live-tab-${key}`,
            "aria-controls": "live-panel",
            onclick: () => this.set({tab: key}),
            onkeydown: event => this.arrow(event, key),
          },
          title,
        ),
      ),
    );
    this.panel = el("div", this.small ? {class: "panel"} : {class: "panel", role: "tabpanel", id: "live-panel"});
    this.guide = el("div");
    const foot = this.small
      ? el("p", {}, (this.link = el("a", {}, "Every layer, head and number of this translation")))
      : el(
          "div",
          {class: "controls"},
          el("button", {type: "button", onclick: () => this.set({...DEFAULT, ...TOUR[0].state, tour: 0})}, "Guided tour"),
          el("button", {type: "button", onclick: () => this.share()}, "Share"),
          el("button", {type: "button", onclick: () => this.reset()}, "Reset"),
        );
    this.root.replaceChildren(
      form,
      this.output,
      this.guide,
      ...(this.small ? [] : [this.tabs]),
      this.panel,
      this.status,
      foot,
    );
    if (!this.small)
      addEventListener("hashchange", () => {
        if (location.hash.includes("=")) this.set(read_state(location.hash));
      });
  }

  arrow(event, key) {
    // arrow keys move between the tabs
    const keys = Object.keys(TABS),
      step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    this.set({tab: keys[(keys.indexOf(key) + step + keys.length) % keys.length]});
    this.tabs.querySelector('[aria-selected="true"]').focus();
  }

  submit() {
    this.set({s: this.input.value.trim(), begin: [], masked: [], at: 6}, true);
  }
  reset() {
    this.input.value = this.stored.examples[0].src;
    this.set({...DEFAULT, s: this.input.value, tab: this.state.tab});
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
    if (always || changed.some(key => INPUT.includes(key)))
      this.update(always || changed.includes("s") || (changed.includes("beam") && this.state.tab === "beam"));
    else this.render();
  }

  async update(animate = false) {
    const mine = ++this.number,
      stale = () => mine !== this.number;
    if (!this.core) {
      this.say("Loading the model (1.7 MB) …");
      try {
        this.core = await load();
      } catch (error) {
        return this.say(`The model could not be loaded (${error.message}). The stored example is shown.`);
      }
      if (stale()) return;
    }
    if (!this.state.s) {
      this.run = null;
      return this.render("Type a German sentence.");
    }
    if (this.changed() || this.state.bug) this.original = this.translated({...DEFAULT, s: this.state.s});
    let make;
    for (make of translate(this.core, this.state)) {
      if (!animate || calm) continue;
      this.finish(make());
      await new Promise(done => setTimeout(done, 60));
      if (stale()) return;
    }
    this.finish(make());
    this.root.dataset.ready = Math.round(performance.now()); // milliseconds, for the tests
  }
  translated(state) {
    return [...translate(this.core, state)].at(-1)().text;
  }
  finish(run) {
    this.run = this.with_gold(run);
    this.render();
  }
  with_gold(run) {
    // beside the sentences of the pocket corpus, while the translation is its own
    const example = this.stored.examples.find(one => one.src === this.state.s && one.tgt === run.text);
    return example ? {...run, gold: gold_links(example, run.src, run.tgt)} : run;
  }

  render(message = "") {
    const {run, state} = this,
      focus = document.activeElement?.closest?.(".live") === this.root && document.activeElement.dataset.key;
    for (const tab of this.tabs.children) {
      const on = tab.id === `live-tab-${state.tab}`;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    this.panel.setAttribute("aria-labelledby", `live-tab-${state.tab}`);
    this.output.textContent = run ? run.text : "";
    this.guide.replaceChildren(...this.tour());
    if (this.link) this.link.href = `live.html${write_state(state)}`;
    this.panel.replaceChildren(...[this.view()].flat(9).filter(Boolean));
    const maps = run && Object.keys(run.maps).length && ["attention", "steps"].includes(state.tab);
    const cut = run?.cut ? ` Only the first ${MOST} tokens were read.` : "";
    this.say(message || (maps ? draw.describe(run, this.picked()) : "") + cut);
    if (focus) this.root.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
  }
  picked() {
    // the state, limited to what the run has
    const {run, state} = this,
      module = run.maps[state.module] ? state.module : Object.keys(run.maps)[0];
    return {...state, module, at: Math.min(state.at, draw.sides(run, module)[1].length - 1)};
  }

  view() {
    const {run, state} = this,
      {tab} = state;
    if (this.small) return run && this.attention();
    if (tab === "change") return this.change();
    if (tab === "bug") return this.bug();
    if (!run || !Object.keys(run.maps).length)
      return run ? el("p", {}, "All layers with attention are removed.") : null;
    if (tab === "attention") return this.attention();
    if (tab === "maps")
      return [
        el("p", {}, "A row is a query, a column is a key. Choose a head to see its lines."),
        draw.maps_view(run, state, (module, head) => this.set({module, head, tab: "attention"})),
      ];
    if (!run.seen)
      return el(
        "button",
        {type: "button", class: "go", onclick: () => this.update()},
        "Load the model (1.7 MB) to see these numbers",
      );
    if (tab === "steps") return [this.pickers(false), draw.steps_view(run, this.picked())];
    if (tab === "vectors")
      return [
        this.token_picker("Source token", run.src),
        el("p", {}, "Each strip is one vector of 128 numbers; blue is positive, orange is negative."),
        draw.vectors_view(run, Math.min(state.at, run.src.length - 1)),
      ];
    if (tab === "probabilities") return this.probabilities();
    return [
      this.beam_options(),
      run.steps?.length
        ? [
            el(
              "p",
              {},
              `Each column is one step: the ${2 * state.beam} best continuations with their scores. The ${state.beam} best continue; thick lines lead to the result.`,
            ),
            draw.beam_view(run.steps, run.piece),
          ]
        : el("p", {}, "With beam size 1 the search is greedy. Choose a larger beam."),
    ];
  }

  option(label, key, values) {
    const select = el(
      "select",
      {"data-key": key, onchange: () => this.set({[key]: values[select.selectedIndex][0]})},
      values.map(([value, title]) => el("option", {selected: value === this.state[key]}, title)),
    );
    return el("label", {}, label, select);
  }
  slider(label, key, [min, max, step]) {
    const value = this.state[key];
    return el(
      "label",
      {},
      label,
      el("input", {
        type: "range",
        "data-key": key,
        min,
        max,
        step,
        value,
        oninput: event => this.set({[key]: +event.target.value}),
      }),
      el("output", {}, String(value)),
    );
  }
  token_picker(label, pieces) {
    return this.option(
      label,
      "at",
      pieces.map((piece, i) => [i, `${i + 1}. ${word(piece)}`]),
    );
  }

  pickers(mean = true) {
    const names = Object.keys(this.run.maps).map(name => [name, draw.module_title(name)]),
      heads = [1, 2, 3, 4].map((n, i) => [i, `head ${n}`]);
    const queries = draw.sides(this.run, this.picked().module)[1];
    return el(
      "div",
      {class: "controls"},
      this.option("Where", "module", names),
      this.option("Head", "head", mean ? [[-1, "mean of the heads"], ...heads] : heads),
      !mean && this.token_picker("Query", queries),
      mean &&
        this.run.gold &&
        draw.is_cross(this.state.module) &&
        this.box("gold alignment", this.state.gold, on => this.set({gold: on}), "gold"),
    );
  }
  attention() {
    const picked = this.picked(),
      {hidden} = this.run;
    return [
      !this.small && this.pickers(),
      draw.lines_view(this.run, picked, {
        pick: at => this.set({at}),
        hidden: draw.sides(this.run, picked.module)[0] === this.run.src ? hidden : undefined,
      }),
    ];
  }

  probabilities() {
    const {run, state} = this,
      at = Math.min(state.at, run.tgt.length - 2),
      before = run.tgt
        .slice(1, at + 1)
        .map(word)
        .join(" ");
    const button = (title, key, onclick) => el("button", {type: "button", "data-key": key, onclick}, title);
    const force = id => this.set({begin: [...run.ids.slice(1, at + 1), id], beam: 1});
    return [
      el(
        "div",
        {class: "controls"},
        this.token_picker("Step", run.tgt.slice(1)),
        this.slider("Temperature", "temperature", [0.1, 3, 0.1]),
        this.slider("Top-k (0: all)", "top_k", [0, 20, 1]),
        this.slider("Top-p", "top_p", [0, 1, 0.01]),
      ),
      el(
        "p",
        {},
        before ? `The next token after “${before}”: ` : "The first token: ",
        "logits, softmax, and what temperature, top-k and top-p leave. ",
        el("i", {}, "Use"),
        " continues the translation with another token.",
      ),
      draw.probabilities_view(run, {...state, at}, force),
      el(
        "div",
        {class: "controls"},
        button("Sample a translation", "sample", () => this.set({begin: sample(run, state).slice(1), beam: 1})),
        state.begin.length > 0 && button("Remove the chosen tokens", "free", () => this.set({begin: []})),
      ),
    ];
  }

  beam_options() {
    return el(
      "div",
      {class: "controls"},
      this.option(
        "Beam size",
        "beam",
        [1, 2, 3, 4, 6, 8].map(n => [n, String(n)]),
      ),
      this.slider("Length penalty α", "alpha", [0, 2, 0.1]),
      this.run?.score != null && el("span", {}, `score ${this.run.score.toFixed(3)}`),
    );
  }
  box(title, checked, change, key, off = false) {
    return el(
      "label",
      {},
      el("input", {
        type: "checkbox",
        checked,
        disabled: off,
        "data-key": key,
        onchange: event => change(event.target.checked),
      }),
      title,
    );
  }
  toggle(key, value, on) {
    // a member of a list of the state
    const rest = this.state[key].filter(one => one !== value);
    this.set({[key]: on ? [...rest, value] : rest});
  }

  change() {
    const {state, run} = this,
      list = (key, items) =>
        items.map(([value, title]) =>
          this.box(title, state[key].includes(value), on => this.toggle(key, value, on), `${key} ${value}`),
        );
    const pieces = run?.src.slice(0, -1) ?? [],
      of = words_of(pieces),
      words = [];
    pieces.forEach((piece, i) => {
      words[of[i]] = (words[of[i]] ?? "") + word(piece);
    });
    const stacks = LAYERS.map(name => [name, `${name.slice(0, 7)} layer ${+name.at(-1) + 1}`]);
    const heads = MODULES.map(name => [name, [0, 1, 2, 3].map(i => [`${name}.${i}`, `${i + 1}`])]);
    const set = (title, ...kids) => el("fieldset", {}, el("legend", {}, title), el("div", {class: "options"}, kids));
    const swap = i => this.set({s: swapped(state.s, i), masked: [], begin: []});
    return [
      el("p", {}, "Each change applies to the running model. The maps and the other views show the changed model."),
      this.original && this.changed() && el("p", {}, "Unchanged model: ", el("b", {}, this.original)),
      set(
        "Hide a source word",
        list(
          "masked",
          words.map((title, i) => [i, title]),
        ),
      ),
      set(
        "Swap a word with the next",
        words
          .slice(0, -1)
          .map((title, i) =>
            el(
              "button",
              {type: "button", "data-key": `swap ${i}`, onclick: () => swap(i)},
              `${title} ↔ ${words[i + 1]}`,
            ),
          ),
      ),
      set("Remove a layer", list("layers", stacks)),
      set(
        "Positions",
        this.box("add the positional encoding", state.positions, positions => this.set({positions}), "positions"),
      ),
      set("Search", this.beam_options()),
      set(
        "Remove heads",
        heads.map(([name, items]) =>
          el(
            "div",
            {class: "controls heads", role: "group", "aria-label": draw.module_title(name)},
            el("span", {}, draw.module_title(name)),
            list("heads", items),
          ),
        ),
      ),
    ];
  }
  changed() {
    const {heads, layers, masked, positions} = this.state;
    return heads.length || layers.length || masked.length || !positions;
  }

  bug() {
    const {state} = this,
      index = BUGS.findIndex(one => one.title === state.bug);
    const next = () =>
      this.set({
        bug: BUGS[(index + 1 + Math.floor(Math.random() * (BUGS.length - 1))) % BUGS.length].title,
        heads: [],
        layers: [],
        begin: [],
        masked: [],
        positions: true,
        beam: 1,
      });
    const begin = el(
      "div",
      {class: "controls"},
      el(
        "button",
        {type: "button", class: "go", "data-key": "next bug", onclick: next},
        index < 0 ? "Put a bug into the model" : "Another bug",
      ),
      index >= 0 &&
        el("button", {type: "button", "data-key": "no bug", onclick: () => this.set({bug: ""})}, "Remove the bug"),
    );
    if (index < 0)
      return [
        el(
          "p",
          {},
          "One of ten bugs of the bug museum is put into the model. Look at the translation and at the maps, then choose the cause.",
        ),
        begin,
      ];
    const answer = (title, button) => {
      const right = title === state.bug;
      button.classList.toggle("wrong", !right);
      this.say(right ? `Correct: ${title}.` : `${title}: this bug has another symptom.`);
      if (right) link.hidden = false;
    };
    const link = el("p", {hidden: true}, el("a", {href: "bug_museum.html"}, `“${state.bug}” in the bug museum`));
    return [
      el("p", {}, "Without the bug: ", el("b", {}, this.original ?? "")),
      begin,
      el(
        "div",
        {class: "options"},
        BUGS.map(({title}) =>
          el("button", {type: "button", "data-key": title, onclick: event => answer(title, event.target)}, title),
        ),
      ),
      link,
      this.run && Object.keys(this.run.maps).length > 0 && this.attention(),
    ];
  }

  tour() {
    const step = TOUR[this.state.tour];
    if (!step || this.small) return [];
    const n = this.state.tour,
      go = to => this.set({...(TOUR[to] && {...DEFAULT, ...TOUR[to].state}), tour: to});
    const button = (title, to, props) =>
      el("button", {type: "button", "data-key": `tour ${title}`, onclick: () => go(to), ...props}, title);
    return [
      el(
        "div",
        {class: "tour", role: "region", "aria-label": "Guided tour"},
        el("b", {}, `${n + 1} of ${TOUR.length}: ${step.title}`),
        el("p", {}, step.text, " ", el("a", {href: step.link}, "Definition")),
        el(
          "div",
          {class: "controls"},
          button("Back", n - 1, {disabled: n === 0}),
          n + 1 < TOUR.length && button("Next", n + 1, {class: "go"}),
          button("End", -1),
        ),
      ),
    ];
  }
}

const roots = document.querySelectorAll("[data-live]"); // each keeps its stored picture until here
if (roots.length) {
  const stored = await (await fetch(here("example.json"))).json();
  for (const root of roots) root.page = new Page(root, stored);
}
