// Views of one run, as page elements. A run has src, tgt and maps; with the model also seen and logits.
import {log_softmax, softmax_row, top, top_k_top_p} from "./transformer.js";

function make(node, props, kids) {
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...kids.flat(9).filter(kid => kid != null && kid !== false));
  return node;
}
export const el = (tag, props = {}, ...kids) => make(document.createElement(tag), props, kids);
export const svg = (tag, props = {}, ...kids) =>
  make(document.createElementNS("http://www.w3.org/2000/svg", tag), props, kids);

export const word = piece => piece.replace("▁", ""); // a piece without the mark of its space
const percent = x => `${Math.round(100 * x)} %`;
const number = x => (x === -Infinity ? "−∞" : x.toFixed(2).replace("-", "−"));

export const is_cross = name => name.endsWith("src_attn");
export const is_encoder = name => name.startsWith("encoder");

export function module_title(name) {
  const layer = +name.split(".")[2] + 1;
  const what = is_cross(name) ? "cross-attention" : is_encoder(name) ? "self-attention" : "masked self-attention";
  return `${is_encoder(name) ? "Encoder" : "Decoder"} layer ${layer}, ${what}`;
}

// Tokens that are attended to, and tokens that attend. Row t of cross-attention generates token t + 1.
export function sides(run, name) {
  if (is_encoder(name)) return [run.src, run.src];
  return is_cross(name) ? [run.src, run.tgt.slice(1)] : [run.tgt.slice(0, -1), run.tgt.slice(0, -1)];
}

export function weights_of(run, name, head) {
  // rows of one head, or of the mean (-1)
  const heads = run.maps[name];
  if (head >= 0) return heads[head];
  return heads[0].map((row, t) => row.map((_, s) => heads.reduce((sum, one) => sum + one[t][s], 0) / heads.length));
}

export function describe(run, {module, head, at}) {
  // one sentence for readers and screen readers
  const [keys, queries] = sides(run, module),
    row = weights_of(run, module, head)[at];
  if (!row) return "";
  const shares = top(row, 3)
    .filter(s => row[s] >= 0.05)
    .map(s => `${percent(row[s])} to “${word(keys[s])}”`);
  const begin = is_cross(module) ? `To generate “${word(queries[at])}”, the decoder` : `“${word(queries[at])}”`;
  return `${begin} attends ${shares.join(", ") || "to nothing"}.`;
}

export function lines_view(run, {module, head, at, gold}, {pick, hidden = new Set()}) {
  const [keys, queries] = sides(run, module),
    weights = weights_of(run, module, head),
    H = 30;
  const rows = Math.max(keys.length, queries.length),
    y = i => H * i + H / 2;
  const drawn = weights.flatMap((row, t) =>
    row.map((w, s) =>
      w < 0.03
        ? null
        : svg("line", {
            x1: 0,
            y1: y(s),
            x2: 100,
            y2: y(t),
            "stroke-width": 0.6 + 3.4 * w,
            "stroke-opacity": (t === at ? 1 : 0.22) * Math.min(1, 0.15 + w),
          }),
    ),
  );
  const links =
    gold && run.gold && is_cross(module)
      ? run.gold.map(([s, t]) => svg("line", {class: "gold", x1: 0, y1: y(s), x2: 100, y2: y(t)}))
      : [];
  const left = keys.map((piece, s) => {
    const share = weights[at]?.[s] ?? 0;
    const token = el("span", {class: "token"}, hidden.has(s) ? el("s", {}, word(piece)) : word(piece));
    return el("li", {}, share >= 0.01 && el("b", {class: "share"}, percent(share)), token);
  });
  const right = queries.map((piece, t) =>
    el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          "data-key": `token ${t}`,
          "aria-pressed": String(t === at),
          onclick: () => pick(t),
          onmouseenter: () => pick(t, true),
        },
        word(piece),
      ),
    ),
  );
  return el(
    "div",
    {class: "scroll"},
    el(
      "div",
      {class: "lines"},
      el("ol", {"aria-label": "attended tokens"}, left),
      svg(
        "svg",
        {viewBox: `0 0 100 ${H * rows}`, height: H * rows, preserveAspectRatio: "none", "aria-hidden": "true"},
        drawn,
        links,
      ),
      el("ol", {"aria-label": is_cross(module) ? "generated tokens" : "attending tokens"}, right),
    ),
  );
}

function map_picture(rows) {
  const cells = rows.flatMap((row, t) =>
    row.map((w, s) => (w < 0.02 ? null : svg("rect", {x: s, y: t, width: 1, height: 1, "fill-opacity": w.toFixed(2)}))),
  );
  return svg(
    "svg",
    {viewBox: `0 0 ${rows[0].length} ${rows.length}`, preserveAspectRatio: "none", "aria-hidden": "true"},
    cells,
  );
}

export function maps_view(run, {module, head}, pick) {
  return Object.entries(run.maps).map(([name, heads]) => [
    el("h4", {}, module_title(name)),
    el(
      "div",
      {class: "maps"},
      heads.map((rows, i) =>
        el(
          "button",
          {
            type: "button",
            "data-key": `map ${name} ${i}`,
            "aria-pressed": String(name === module && i === head),
            onclick: () => pick(name, i),
            "aria-label": `${module_title(name)}, head ${i + 1}`,
          },
          map_picture(rows),
          `head ${i + 1}`,
        ),
      ),
    ),
  ]);
}

const cell = (value, props = {}) => el("td", props, value);
const bar = (x, kind) => cell(x.toFixed(3), {class: kind, style: `--w:${(100 * x).toFixed(1)}%`});

export function steps_view(run, {module, head, at}) {
  // one query: scores, scale, mask, softmax
  const one = run.seen[module].heads[Math.max(head, 0)],
    [keys, queries] = sides(run, module);
  if (at >= queries.length) at = 0;
  const row = (title, values, show) => el("tr", {}, el("th", {scope: "row"}, title), values.map(show));
  const show = v => cell(number(v)),
    of = matrix => Array.from(matrix.row(at));
  return [
    el(
      "p",
      {},
      `The query is `,
      el("b", {}, `“${word(is_cross(module) ? run.tgt[at] : queries[at])}”`),
      is_cross(module) && ` (the token before “${word(queries[at])}”)`,
      `; a column is a key. Each line of the table follows from the line above it.`,
    ),
    el(
      "div",
      {class: "scroll"},
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", {scope: "col"}, "key"),
            keys.map(piece => el("th", {scope: "col"}, word(piece))),
          ),
        ),
        el(
          "tbody",
          {},
          row("q · k", of(one.products), show),
          row(`÷ √${one.query.cols}`, of(one.scores), show),
          row("mask", of(one.masked), show),
          row("softmax", of(one.weights), x => bar(x, "weight")),
        ),
      ),
    ),
    el("p", {}, "The output of the head is the mean of the value vectors with these weights:"),
    strip(of(one.output)),
  ];
}

export function strip(values, title) {
  // one vector: blue is positive, orange negative
  const most = Math.max(...values.map(Math.abs)) || 1;
  const cells = values.map((v, i) =>
    svg(
      "rect",
      {
        x: i,
        y: 0,
        width: 1,
        height: 1,
        "fill-opacity": (Math.abs(v) / most).toFixed(2),
        style: v < 0 ? "fill:var(--gold)" : null,
      },
      svg("title", {}, v.toFixed(3)),
    ),
  );
  return el(
    "div",
    {},
    title && el("div", {}, `${title}: largest ${most.toFixed(2)}`),
    el(
      "div",
      {class: "scroll"},
      svg(
        "svg",
        {
          class: "strip",
          viewBox: `0 0 ${values.length} 1`,
          preserveAspectRatio: "none",
          role: "img",
          "aria-label": `${title ?? "vector"}, ${values.length} numbers up to ${most.toFixed(2)}`,
        },
        cells,
      ),
    ),
  );
}

export function vectors_view(run, at) {
  // embedding, position, sum, and each encoder layer
  const {tokens, out} = run.seen.src_embed,
    row = matrix => Array.from(matrix.row(at));
  const position = row(out).map((x, i) => x - row(tokens)[i]);
  const layers = Object.keys(run.seen).filter(name => /^encoder\.layers\.\d+$/.test(name));
  return [
    strip(row(tokens), "Embedding · √D"),
    strip(position, `Positional encoding of position ${at}`),
    strip(row(out), "Sum"),
    layers.map(name => strip(row(run.seen[name].out), `After encoder layer ${+name.split(".")[2] + 1}`)),
  ];
}

export function probabilities_view(run, {at, temperature, top_k, top_p}, force) {
  const logits = Array.from(run.logits.row(at)),
    p = top_k_top_p(logits, {temperature, top_k, top_p});
  const plain = softmax_row(logits),
    order = top(logits, 12);
  const head = ["token", "logit", "probability", "after the options", ""].map(title => el("th", {scope: "col"}, title));
  const rows = order.map(id =>
    el(
      "tr",
      {class: p[id] ? "in" : "out"},
      el("th", {scope: "row"}, run.piece(id)),
      cell(number(logits[id])),
      cell(plain[id].toFixed(4)),
      bar(p[id], "bar"),
      cell(
        el(
          "button",
          {
            type: "button",
            "data-key": `force ${id}`,
            onclick: () => force(id),
            "aria-label": `continue with ${run.piece(id)}`,
          },
          "use",
        ),
      ),
    ),
  );
  const kept = p.filter(x => x > 0).length,
    entropy = -log_softmax(logits).reduce((sum, l) => sum + Math.exp(l) * l, 0);
  return [
    el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows))),
    el(
      "p",
      {},
      `${kept.toLocaleString("en")} of ${p.length.toLocaleString("en")} tokens can be sampled. Entropy before the options: ${entropy.toFixed(2)} nats.`,
    ),
  ];
}

export function beam_view(steps, piece) {
  // a column is a step; the kept hypotheses continue
  const W = 144,
    H = 24,
    best = steps.at(-1).best,
    rows = Math.max(...steps.map(step => step.found.length));
  const nodes = [],
    edges = [];
  let parents = [{x: 6, y: H * 1.5}];
  steps.forEach(({found}, n) => {
    const places = found.map((one, i) => ({x: W * (n + 0.55), y: H * (i + 1.5)}));
    found.forEach((one, i) => {
      const {x, y} = places[i],
        from = parents[one.place],
        on = one.ids.every((id, j) => id === best.ids[j]);
      edges.push(
        svg("path", {
          d: `M${from.x},${from.y - 4} C${from.x + 24},${from.y - 4} ${x - 34},${y - 4} ${x - 6},${y - 4}`,
          "stroke-width": on ? 2.5 : 1,
          "stroke-opacity": on ? 1 : one.kept ? 0.5 : 0.15,
        }),
      );
      nodes.push(
        svg(
          "text",
          {x, y, class: on ? "strong" : one.kept ? "" : "dim"},
          `${word(piece(one.ids.at(-1)))} ${number(one.score)}`,
          svg("title", {}, one.ids.map(piece).join(" ")),
        ),
      );
    });
    parents = found.map((one, i) => ({...places[i], x: places[i].x + 86, kept: one.kept})).filter(one => one.kept);
  });
  const width = W * (steps.length + 0.6),
    height = H * (rows + 1.5);
  return el(
    "div",
    {class: "scroll", tabindex: 0, role: "group", "aria-label": "tree of hypotheses"},
    svg(
      "svg",
      {
        width,
        height,
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        "aria-label": `Beam search in ${steps.length} steps; best hypothesis ${best.ids.map(piece).join(" ")}`,
      },
      edges,
      nodes,
    ),
  );
}
