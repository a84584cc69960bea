// Changes of the running model: removed heads and layers, no positions, and bugs of the museum.
import * as T from "./transformer.js";

function of_type(model, test) { // all parts of a model that pass a test
  const found = [], seen = new Set();
  (function visit(part) {
    if (!part || typeof part !== "object" || seen.has(part) || part instanceof T.Matrix) return;
    seen.add(part);
    if (test(part)) found.push(part);
    if (!ArrayBuffer.isView(part)) Object.values(part).forEach(visit);
  })(model);
  return found;
}

const attentions = model => of_type(model, part => part instanceof T.MultiHeadedAttention);
const positions = model => of_type(model, part => part.pe);

function remove_head(module, head) { // zero the head's columns of W_o
  const {weight} = module.W_o, width = weight.cols / module.h;
  const inside = i => Math.floor((i % weight.cols) / width) === head;
  module.W_o.weight = weight.map((x, i) => (inside(i) ? 0 : x));
}

function over_queries(q, k, v, mask) { // attention with the softmax over the wrong axis
  const steps = T.attention(q, k, v, mask), finite = steps.masked.map(x => Math.max(x, -3.4e38));
  const turned = T.transpose(T.each_row(T.transpose(finite), T.softmax_row));
  const weights = turned.map((w, i) => (steps.masked.data[i] === -Infinity ? 0 : w));
  return {...steps, weights, output: T.matmul_t(weights, T.transpose(v))};
}

function slices(x) { // the heads of a module as consecutive parts of the memory
  const size = x.data.length / this.h, part = i => x.data.subarray(i * size, (i + 1) * size);
  return Array.from({length: this.h}, (_, i) => new T.Matrix(x.rows, x.cols / this.h, part(i)));
}

function joined(heads) { // the heads after one another in the memory
  const {rows, cols} = heads[0];
  return new T.Matrix(rows, cols * heads.length, heads.reduce(T.stack).data);
}

function normalized(x, sublayer) { // norm(x) + sublayer(norm(x))
  const y = this.norm.forward(x), out = sublayer(y);
  return out.map((v, i) => v + y.data[i]);
}

const bug = (title, symptom, parts, change) =>
  ({title, symptom, apply: model => parts(model).forEach(change)});

export const BUGS = [ // titles of the bug museum
  bug("Scores not scaled",
    "The scores are √d_k times too large, so nearly all weight of a query is on one key.",
    attentions, a => {
      a.attention = (q, ...rest) => T.attention(q.map(x => x * Math.sqrt(q.cols)), ...rest);
    }),
  bug("Softmax over the wrong axis",
    "The weights of a query do not sum to 1; those of a key do.",
    attentions, a => { a.attention = over_queries; }),
  bug("Queries and keys exchanged",
    "A token attends to the tokens that should attend to it.",
    attentions, a => { [a.W_q, a.W_k] = [a.W_k, a.W_q]; }),
  bug("Heads split with a view",
    "A head gets numbers of neighboring tokens, so no map relates words to words.",
    attentions, a => { a.heads = slices; }),
  bug("Heads joined with a view",
    "The first maps are right, but each output holds numbers of other tokens.",
    attentions, a => { a.join = joined; }),
  bug("Causal mask transposed",
    "The newest token sees only itself, so the translation repeats words.",
    model => [model], m => {
      const decode = m.decode, mask_of = tgt => T.transpose(T.subsequent_mask(tgt.length));
      m.decode = (memory, mask, tgt) => decode.call(m, memory, mask, tgt, mask_of(tgt));
    }),
  bug("Embeddings not scaled",
    "Beside the positions the words are √D times too small: order remains, meaning is lost.",
    model => of_type(model, part => part.lut), e => {
      e.lut = e.lut.map(x => x / Math.sqrt(e.lut.cols));
    }),
  bug("Positions along the batch axis",
    "All tokens have one position: the encoder sees a set of words.",
    positions, p => {
      p.pe = p.pe.map((_, n) => p.pe.data[n % p.pe.cols]);
    }),
  bug("No ReLU",
    "The maps of the first layer are right; the feed-forward network is linear.",
    model => of_type(model, part => part.relu), f => { f.relu = x => x; }),
  bug("Residual path normalized",
    "The maps of the first layer are right; each sub-layer loses the size of its input.",
    model => of_type(model, part => part.norm && part.forward && !part.layers),
    s => { s.forward = normalized; }),
];

// heads: names such as "encoder.layers.0.self_attn.3"; layers: such as "decoder.layers.1"
export function edited_model(weights, config, {heads, layers, positions: keep, bug}) {
  const model = T.make_model(weights, config);
  for (const part of attentions(model))
    for (let head = 0; head < part.h; head++)
      if (heads.includes(`${part.name}.${head}`)) remove_head(part, head);
  for (const stack of [model.encoder, model.decoder])
    stack.layers = stack.layers.filter(layer => !layers.includes(layer.name));
  if (!keep) for (const p of positions(model)) p.pe = p.pe.map(() => 0);
  BUGS.find(one => one.title === bug)?.apply(model);
  return model;
}

export function* greedy_decode(model, src, src_mask, max_len) { // without a cache, as in the core
  const memory = model.encode(src, src_mask);
  let ids = [T.BOS];
  while (ids.length < max_len && ids.at(-1) !== T.EOS) {
    const hidden = model.decode(memory, src_mask, ids);
    const logits = model.generator.logits(hidden).row(ids.length - 1);
    ids = [...ids, logits.indexOf(Math.max(...logits))];
    yield {ids, logits};
  }
}
