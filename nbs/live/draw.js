// Views of one run, as page elements.
// A run has src, tgt and maps; with the model also seen and logits.
import {EOS, log_softmax, softmax_row, top, top_k_top_p} from "./transformer.js";
import {split_words} from "./gloss.js";

function make(node, props, kids) {
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...kids.flat(9).filter(kid => kid != null && kid !== false));
  return node;
}
export const el = (tag, props = {}, ...kids) => make(document.createElement(tag), props, kids);
const svg = (tag, props = {}, ...kids) =>
  make(document.createElementNS("http://www.w3.org/2000/svg", tag), props, kids);

// The key finds a control again after its view is drawn anew.
export const button = (title, key, onclick, props = {}) =>
  el("button", {type: "button", "data-key": key, onclick, ...props}, title);
export const controls = (...kids) => el("div", {class: "controls"}, kids);
const scroll = (...kids) => el("div", {class: "scroll"}, kids);

const picture = (width, height, props, ...kids) => // hidden from screen readers without a label
  svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: "none",
    ...(props["aria-label"] ? {role: "img"} : {"aria-hidden": "true"}),
    ...props,
  }, kids);
const square = (x, y, strength, props = {}, ...kids) =>
  svg("rect", {x, y, width: 1, height: 1, "fill-opacity": strength.toFixed(2), ...props}, kids);

const header = (scope, title) => el("th", {scope}, title);
const cell = (value, props = {}) => el("td", props, value);
const bar = (x, kind) => cell(x.toFixed(3), {class: kind, style: `--w:${(100 * x).toFixed(1)}%`});
const row = (title, cells, props = {}) => el("tr", props, header("row", title), cells);
const table = (titles, rows) => {
  const head = el("tr", {}, titles.map(title => header("col", title)));
  return scroll(el("table", {}, el("thead", {}, head), el("tbody", {}, rows)));
};

export const word = piece => piece.replace("▁", ""); // a piece without the mark of its space
const ROW = globalThis.matchMedia?.("(max-width: 760px), (pointer: coarse)").matches ? 40 : 30;
const percent = x => `${Math.round(100 * x)} %`;
const number = x => (x === -Infinity ? "−∞" : x.toFixed(2).replace("-", "−"));

export const is_cross = name => name.endsWith("src_attn");
export const is_encoder = name => name.startsWith("encoder");

// A text with its unknown words marked and glosses under its words; nothing if it has neither.
// A word of `restored` is shown with the word that it was read as.
export function words_of_text(parts, gloss, restored = new Map()) {
  const unknown_title = "not in the training data";
  const unknown = parts.some(([text, one]) => one && !restored.has(text));
  const ruby = (text, english, props) => // hidden from screen readers, which read the text
    el("ruby", props, text, el("rt", {lang: "en", "aria-hidden": "true"}, english));
  const word_of = (text, marked) => {
    const meant = restored.get(text), english = gloss?.get((meant ?? text).toLowerCase());
    const mark = meant ? {class: "restored", title: `read as ${meant}`}
      : {class: "unknown", title: unknown_title};
    if (english) return ruby(text, english, marked ? mark : {});
    return marked ? el("span", mark, text) : text;
  };
  const nodes = parts.flatMap(([text, marked]) => [...split_words(text)].map(([part, is_word]) =>
    (is_word ? word_of(part, marked || restored.has(part)) : part)));
  if (!nodes.some(node => typeof node !== "string")) return [];
  const read_as = [...restored].map(pair => pair.join(" → ")).join(", ");
  return [...nodes, unknown && el("small", {lang: "en"}, ` (dotted: ${unknown_title})`),
    read_as && el("small", {lang: "en"}, ` (read as: ${read_as})`)]
    .filter(Boolean);
}

export function module_title(name) {
  const stack = is_encoder(name) ? "Encoder" : "Decoder", layer = name.split(".")[2];
  const self = is_encoder(name) ? "self-attention" : "masked self-attention";
  return `${stack} layer ${layer}, ${is_cross(name) ? "cross-attention" : self}`;
}

// Tokens that are attended to, and tokens that attend.
// Row t of cross-attention generates token t + 1.
export function sides(run, name) {
  if (is_encoder(name)) return [run.src, run.src];
  return is_cross(name)
    ? [run.src, run.tgt.slice(1)]
    : [run.tgt.slice(0, -1), run.tgt.slice(0, -1)];
}

function weights_of(run, name, head) { // rows of one head, or of the mean (-1)
  const heads = run.maps[name];
  if (head >= 0) return heads[head];
  const mean = (t, s) => heads.reduce((sum, one) => sum + one[t][s], 0) / heads.length;
  return heads[0].map((weights, t) => weights.map((_, s) => mean(t, s)));
}

export function describe(run, {module, head, at}) { // one sentence for readers and screen readers
  const [keys, queries] = sides(run, module), weights = weights_of(run, module, head)[at];
  if (!weights) return "";
  const shares = top(weights, 3)
    .filter(s => weights[s] >= 0.05)
    .map(s => `${percent(weights[s])} to “${word(keys[s])}”`);
  const query = `“${word(queries[at])}”`;
  const begin = is_cross(module) ? `To generate ${query}, the decoder` : query;
  return `${begin} attends ${shares.join(", ") || "to nothing"}.`;
}

export function describe_heads(run) { // the head whose queries agree most on one key
  const sharp = rows => rows.reduce((sum, row) => sum + Math.max(...row), 0) / rows.length;
  const rows = Object.entries(run.maps)
    .flatMap(([name, heads]) => heads.map((head, i) => [sharp(head), name, i]));
  const [most, name, i] = rows.reduce((a, b) => (b[0] > a[0] ? b : a));
  return `Sharpest: ${module_title(name)}, head ${i}; on average a query gives `
    + `${percent(most)} of its weight to one key.`;
}

export function describe_vectors(run, at) { // how far positions and layers move a vector
  const {tokens, out} = run.seen.src_embed, row = matrix => Array.from(matrix.row(at));
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  const last = Object.keys(run.seen).findLast(name => /^encoder\.layers\.\d+$/.test(name));
  const near = (text, a, b) => `${number(cosine(row(a), row(b)))} ${text}`;
  const after = last ? `, and ${near("after the encoder", tokens, run.seen[last].out)}` : "";
  return `The cosine between the embedding of “${word(run.src[at])}” and its vector is `
    + `${near("with the position", tokens, out)}${after}.`;
}

export function describe_next(run, at) { // the next token's most probable candidates
  const p = softmax_row(Array.from(run.logits.row(at)));
  const [first, second] = top(p, 2).map(id => `${percent(p[id])} to “${word(run.piece(id))}”`);
  return `The model gives ${first} and ${second}.`;
}

export function describe_beam({steps}) { // how many continuations were compared
  if (!steps.length) return "";
  const count = steps.reduce((sum, {found}) => sum + found.length, 0), {best} = steps.at(-1);
  return `${count} continuations were compared in ${steps.length} steps; the best hypothesis has `
    + `${best.ids.length - 1} tokens and the score ${number(best.score)}.`;
}

export function trial_view(rows, choose) { // translations without and with a change
  return el("ol", {class: "trial"}, rows.map(([s, before, after], n) => el("li", {},
    button(s, `trial ${n}`, () => choose(s)), el("div", {}, before, " → ",
      before === after ? "the same" : el("b", {class: "wrong"}, after)))));
}

export function lines_view(run, {module, head, at, gold}, pick) {
  const [keys, queries] = sides(run, module), weights = weights_of(run, module, head);
  const height = ROW * Math.max(keys.length, queries.length), y = i => ROW * i + ROW / 2;
  const line = (s, t, props) => svg("line", {x1: 0, y1: y(s), x2: 100, y2: y(t), ...props});
  const drawn = weights.flatMap((shares, t) => shares.map((w, s) => w >= 0.03 && line(s, t, {
    "stroke-width": 0.6 + 3.4 * w,
    "stroke-opacity": (t === at ? 1 : 0.22) * Math.min(1, 0.15 + w),
  })));
  const links = gold && run.gold && is_cross(module)
    ? run.gold.map(([s, t]) => line(s, t, {class: "gold"}))
    : [];
  const hidden = keys === run.src ? run.hidden : null; // positions nobody attends to
  const left = keys.map((piece, s) => {
    const share = weights[at]?.[s] ?? 0, text = word(piece);
    const token = el("span", {class: "token"}, hidden?.has(s) ? el("s", {}, text) : text);
    return el("li", {}, share >= 0.01 && el("b", {class: "share"}, percent(share)), token);
  });
  const right = queries.map((piece, t) => {
    const choose = () => pick(t);
    const props = {"aria-pressed": String(t === at), onmouseenter: choose, onfocus: choose};
    return el("li", {}, button(word(piece), `token ${t}`, () => pick(t), props));
  });
  return scroll(el("div", {class: ROW > 30 ? "lines tall" : "lines"},
    el("ol", {"aria-label": "attended tokens"}, left),
    picture(100, height, {height}, drawn, links),
    el("ol", {"aria-label": is_cross(module) ? "generated tokens" : "attending tokens"}, right)));
}

const map_picture = rows =>
  picture(rows[0].length, rows.length, {},
    rows.map((weights, t) => weights.map((w, s) => w >= 0.02 && square(s, t, w))));

export function maps_view(run, {module, head}, pick) {
  const map = (name, rows, i) => {
    const label = `${module_title(name)}, head ${i}`, pressed = name === module && i === head;
    return button([map_picture(rows), `head ${i}`], `map ${name} ${i}`, () => pick(name, i),
      {"aria-pressed": String(pressed), "aria-label": label});
  };
  const axis = (title, pieces) => `${title}: ${pieces.map(word).join(" ")}`;
  return Object.entries(run.maps).map(([name, heads]) => [
    el("h4", {}, module_title(name)),
    el("p", {class: "axes"}, axis("rows", sides(run, name)[1]), el("br"),
      axis("columns", sides(run, name)[0])),
    el("div", {class: "maps"}, heads.map((rows, i) => map(name, rows, i))),
  ]);
}

export function steps_view(run, {module, head, at}) { // one query: scores, scale, mask, softmax
  const [keys, queries] = sides(run, module), one = run.seen[module].heads[Math.max(head, 0)];
  const of = matrix => Array.from(matrix.row(at));
  const numbers = (title, matrix) => row(title, of(matrix).map(x => cell(number(x))));
  const cross = is_cross(module), query = word(cross ? run.tgt[at] : queries[at]);
  return [
    el("p", {}, "The query is ", el("b", {}, `“${query}”`),
      cross && ` (the token before “${word(queries[at])}”)`,
      "; a column is a key. Each line of the table follows from the line above it."),
    table(["key", ...keys.map(word)], [
      numbers("q · k", one.products),
      numbers(`÷ √${one.query.cols}`, one.scores),
      numbers("mask", one.masked),
      row("softmax", of(one.weights).map(x => bar(x, "weight"))),
    ]),
    el("p", {}, "The output of the head is the mean of the value vectors with these weights:"),
    strip(of(one.output)),
  ];
}

function strip(values, title) { // one vector: orange is positive, blue negative
  const most = Math.max(...values.map(Math.abs)) || 1, largest = most.toFixed(2);
  const squares = values.map((x, i) =>
    square(i, 0, Math.abs(x) / most, {style: x > 0 ? "fill:var(--gold)" : null},
      svg("title", {}, x.toFixed(3))));
  const label = `${title ?? "vector"}, ${values.length} numbers up to ${largest}`;
  return el("div", {},
    title && el("div", {}, `${title}: largest ${largest}`),
    scroll(picture(values.length, 1, {class: "strip", "aria-label": label}, squares)));
}

export function vectors_view(run, at) { // embedding, position, sum, and each encoder layer
  const {tokens, out} = run.seen.src_embed, of = matrix => Array.from(matrix.row(at));
  const position = of(out).map((x, i) => x - of(tokens)[i]);
  const layers = Object.keys(run.seen).filter(name => /^encoder\.layers\.\d+$/.test(name));
  const after = name => `After encoder layer ${name.split(".")[2]}`;
  return [
    strip(of(tokens), "Embedding · √D"),
    strip(position, `Positional encoding of position ${at}`),
    strip(of(out), "Sum"),
    layers.map(name => strip(of(run.seen[name].out), after(name))),
  ];
}

export function probabilities_view(run, {at, ...options}, force) {
  const logits = Array.from(run.logits.row(at)), plain = softmax_row(logits);
  const p = top_k_top_p(logits, options), kept = p.filter(x => x > 0).length;
  const entropy = -log_softmax(logits).reduce((sum, l) => sum + Math.exp(l) * l, 0);
  const use = id => {
    const label = `continue with ${run.piece(id)}`;
    return cell(button("use", `force ${id}`, () => force(id), {"aria-label": label}));
  };
  const rows = top(logits, 12).map(id => {
    const numbers = [cell(number(logits[id])), cell(plain[id].toFixed(4)), bar(p[id], "bar")];
    return row(run.piece(id), [numbers, use(id)], {class: p[id] ? "in" : "out"});
  });
  const count = n => n.toLocaleString("en");
  return [
    table(["token", "logit", "probability", "after the options", ""], rows),
    el("p", {}, `${count(kept)} of ${count(p.length)} tokens can be sampled. `,
      `Entropy before the options: ${entropy.toFixed(2)} nats.`),
  ];
}

// The words of a translation, colored where the model is not sure; `pick` gets the step of a word.
export function output_words(run, calibration, pick) {
  if (!run.logits) return [run.text]; // a stored run has maps alone
  const {temperature = 1, bias = 0} = calibration ?? {}, words = [];
  run.tgt.slice(1).forEach((piece, at) => {
    const id = run.ids[at + 1];
    if (id === EOS) return;
    const begins = piece.startsWith("▁"), space = begins && words.length > 0 ? " " : "";
    const starts = !words.length || begins || /^[.,;:!?…]/.test(piece);
    if (starts) words.push({space, text: "", logp: 0, at});
    words.at(-1).text += word(piece);
    words.at(-1).logp += log_softmax(Array.from(run.logits.row(at)))[id];
  });
  const text = words.map(({space, text}) => space + text).join(""), at = run.text.indexOf(text);
  if (!text || at < 0) return [run.text];
  const nodes = words.flatMap(({space, text, logp, at}) => {
    const p = Math.min(Math.max(Math.exp(logp), 1e-6), 1 - 1e-6);
    const sure = 1 / (1 + Math.exp(-Math.log(p / (1 - p)) / temperature - bias));
    const title = `${percent(sure)} sure; click for other words`;
    const level = ["low", "middle", "high"][(sure > 0.5) + (sure > 0.8)];
    return [space, button(text, `word ${at}`, () => pick(at), {class: level, title})];
  });
  return [run.text.slice(0, at), ...nodes, run.text.slice(at + text.length)];
}

export function beam_view(steps, piece) { // a column is a step; the kept hypotheses continue
  const W = 144, H = 24, edges = [], nodes = [];
  const {best} = steps.at(-1), rows = Math.max(...steps.map(step => step.found.length));
  let parents = [[6, 1.5 * H]]; // places where edges begin
  steps.forEach(({found}, n) => {
    const x = W * (n + 0.55), y = i => H * (i + 1.5);
    found.forEach(({ids, place, kept, score}, i) => {
      const on = ids.every((id, j) => id === best.ids[j]), [left, up] = parents[place];
      edges.push(svg("path", {
        d: `M${left},${up - 4} C${left + 24},${up - 4} ${x - 34},${y(i) - 4} ${x - 6},${y(i) - 4}`,
        "stroke-width": on ? 2.5 : 1,
        "stroke-opacity": on ? 1 : kept ? 0.5 : 0.15,
      }));
      const alive = kept || ids.at(-1) === EOS; // finished hypotheses are not dropped
      nodes.push(svg("text", {x, y: y(i), class: on ? "strong" : alive ? "" : "dim"},
        `${word(piece(ids.at(-1)))} ${number(score)}`,
        svg("title", {}, ids.map(piece).join(" "))));
    });
    parents = found.flatMap(({kept}, i) => (kept ? [[x + 86, y(i)]] : []));
  });
  const width = W * (steps.length + 0.6), height = H * (rows + 1.5);
  const sentence = best.ids.map(piece).join(" ");
  const label = `Beam search in ${steps.length} steps; best hypothesis ${sentence}`;
  return el("div",
    {class: "scroll", tabindex: 0, role: "group", "aria-label": "tree of hypotheses"},
    picture(width, height, {width, height, "aria-label": label}, edges, nodes));
}
