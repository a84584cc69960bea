// The Transformer of "Attention Is All You Need" for one sentence at a time, without a library.
// Names and order follow nbs/01_transformer. A matrix has rows and columns; there is no batch axis.
import {check_model} from "./files.js";
import {Matrix, each_row, matmul_t} from "./matrix.js";
export {read_weights} from "./files.js";
export {Int8Matrix, Matrix, each_row, matmul_t} from "./matrix.js";

export const BOS = 0, EOS = 1, PAD = 2, UNK = 3;

const add = (a, b) => a.map((x, i) => x + b.data[i]);

export function transpose(a) {
  const {rows, cols, data} = a;
  return new Matrix(cols, rows).map((_, n) => data[n % rows * cols + Math.floor(n / rows)]);
}
const matmul = (a, b) => matmul_t(a, transpose(b));

export function stack(a, b) { // the rows of a, then those of b
  const out = new Matrix(a.rows + b.rows, b.cols);
  out.data.set(a.data);
  out.data.set(b.data, a.data.length);
  return out;
}
export function columns(a, start, end) {
  const out = new Matrix(a.rows, end - start);
  for (let i = 0; i < a.rows; i++) out.row(i).set(a.row(i).subarray(start, end));
  return out;
}
const concat = parts => transpose(parts.map(transpose).reduce(stack));

const largest = x => x.reduce((a, b) => Math.max(a, b), -Infinity);
export function softmax_row(x) { // zeros if every score is -Infinity
  const top = largest(x);
  const powers = Array.from(x, v => (v === -Infinity ? 0 : Math.exp(v - top)));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map(v => v / (sum || 1));
}

export function log_softmax(x) {
  const top = largest(x), sum = x.reduce((total, v) => total + Math.exp(v - top), 0);
  return Float64Array.from(x).map(v => v - top - Math.log(sum));
}
const masked_fill = (scores, mask, value) => // a mask has T rows, or one row for all
  scores.map((x, i) => (mask.data[i % mask.data.length] ? x : value));

let recorder = null; // function of (module name, its values)

export function record(run) { // what the modules computed while `run` ran, by name
  const seen = {}, outer = recorder;
  recorder = (name, values) => { seen[name] = {...seen[name], ...values}; };
  try { return [run(), seen]; }
  finally { recorder = outer; }
}

export function attention(query, key, value, mask = null) { // softmax(QKᵀ/√d_k)V (§3.2.1)
  const products = matmul_t(query, key);                         // (T, S)
  const scores = products.map(x => x / Math.sqrt(query.cols));
  const masked = mask ? masked_fill(scores, mask, -Infinity) : scores;
  const weights = each_row(masked, softmax_row);
  const output = matmul(weights, value);                         // (T, d_v)
  return {query, key, value, products, scores, masked, weights, output};
}

class Linear {
  constructor(weights, name) {
    this.weight = weights[`${name}.weight`]; // (out, in)
    this.bias = weights[`${name}.bias`].data;
  }
  forward(x) {
    const out = matmul_t(x, this.weight), {cols} = out, {bias} = this;
    for (let n = 0; n < out.data.length; n++) out.data[n] += bias[n % cols];
    return out;
  }
}

export class MultiHeadedAttention { // §3.2.2
  constructor(weights, name, h) {
    Object.assign(this, {name, h, attention, join: concat});
    for (const part of ["W_q", "W_k", "W_v", "W_o"])
      this[part] = new Linear(weights, `${name}.${part}`);
  }
  forward(query, key, value, mask = null) {
    return this.attend(query, this.W_k.forward(key), this.W_v.forward(value), mask);
  }
  heads(x) {
    const width = x.cols / this.h;
    return Array.from({length: this.h}, (_, i) => columns(x, i * width, (i + 1) * width));
  }
  attend(query, k, v, mask) { // k and v are projected already
    const [q, keys, values] = [this.W_q.forward(query), k, v].map(x => this.heads(x));
    const heads = q.map((head, i) => this.attention(head, keys[i], values[i], mask));
    recorder?.(this.name, {heads});
    return this.W_o.forward(this.join(heads.map(head => head.output)));
  }
}

export const padding_mask = (ids, hidden = new Set()) => // hidden: positions nobody attends to
  new Matrix(1, ids.length).map((_, i) => (ids[i] === PAD || hidden.has(i) ? 0 : 1));

export const subsequent_mask = size => // 1 on and below the diagonal (§3.2.3)
  new Matrix(size, size).map((_, i) => (i % size <= Math.floor(i / size) ? 1 : 0));

class PositionwiseFeedForward { // max(0, xW₁ + b₁)W₂ + b₂ (§3.3)
  constructor(weights, name) {
    this.w_1 = new Linear(weights, `${name}.w_1`);
    this.w_2 = new Linear(weights, `${name}.w_2`);
  }
  forward(x) { return this.w_2.forward(this.relu(this.w_1.forward(x))); }
  relu(x) { return x.map(v => Math.max(0, v)); }
}

const average = x => x.reduce((a, b) => a + b, 0) / x.length;
class LayerNorm { // mean 0 and variance 1, then scale and shift (§3.1)
  constructor(weights, name, eps = 1e-6) {
    this.weight = weights[`${name}.weight`].data;
    this.bias = weights[`${name}.bias`].data;
    this.eps = eps;
  }
  forward(x) {
    return each_row(x, row => {
      const mean = average(row), variance = average(row.map(v => (v - mean) ** 2));
      return row.map((v, i) =>
        this.weight[i] * (v - mean) / Math.sqrt(variance + this.eps) + this.bias[i]);
    });
  }
}

class SublayerConnection { // x + sublayer(norm(x)) (§3.1, pre-norm)
  constructor(weights, name) { this.norm = new LayerNorm(weights, `${name}.norm`); }
  forward(x, sublayer) { return add(x, sublayer(this.norm.forward(x))); }
}

class Embeddings { // one row per token, times √D (§3.4)
  constructor(table) { this.lut = table; }
  forward(ids) {
    const out = new Matrix(ids.length, this.lut.cols);
    ids.forEach((id, i) => out.row(i).set(this.lut.row(id)));
    return out.map(x => x * Math.sqrt(this.lut.cols));
  }
}

const tables = new Map(); // a table of positions by its width
export function sinusoids(length, d_model) { // sines in even columns, cosines in odd ones (§3.5)
  return new Matrix(length, d_model).map((_, n) => {
    const position = Math.floor(n / d_model), i = n % d_model;
    const angle = position / 10000 ** ((i - i % 2) / d_model);
    return i % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

class PositionalEncoding {
  constructor(d_model, max_len = 640) {
    if (!tables.has(d_model)) tables.set(d_model, sinusoids(max_len, d_model));
    this.pe = tables.get(d_model);
  }
  forward(x, start = 0) { // start: position of the first row
    return x.map((v, i) => v + this.pe.data[start * x.cols + i]);
  }
}

class Embed { // embeddings, then positions
  constructor(name, embeddings, positions) { Object.assign(this, {name, embeddings, positions}); }
  forward(ids, start = 0) {
    const tokens = this.embeddings.forward(ids), out = this.positions.forward(tokens, start);
    recorder?.(this.name, {tokens, out});
    return out;
  }
}

class Generator extends Linear { // logits of the next token (§3.4)
  logits(x) { return this.forward(x); }
}

class EncoderLayer { // self-attention and feed-forward network (§3.1)
  constructor(weights, name, h) {
    this.name = name;
    this.self_attn = new MultiHeadedAttention(weights, `${name}.self_attn`, h);
    this.feed_forward = new PositionwiseFeedForward(weights, `${name}.feed_forward`);
    this.sublayer = [0, 1].map(i => new SublayerConnection(weights, `${name}.sublayer.${i}`));
  }
  forward(x, mask) {
    x = this.sublayer[0].forward(x, y => this.self_attn.forward(y, y, y, mask));
    x = this.sublayer[1].forward(x, y => this.feed_forward.forward(y));
    recorder?.(this.name, {out: x});
    return x;
  }
}

class DecoderLayer { // masked self-attention, cross-attention and feed-forward network (§3.1)
  constructor(weights, name, h) {
    this.name = name;
    this.self_attn = new MultiHeadedAttention(weights, `${name}.self_attn`, h);
    this.src_attn = new MultiHeadedAttention(weights, `${name}.src_attn`, h);
    this.feed_forward = new PositionwiseFeedForward(weights, `${name}.feed_forward`);
    this.sublayer = [0, 1, 2].map(i => new SublayerConnection(weights, `${name}.sublayer.${i}`));
  }
  forward(x, memory, ...masks) { return this.step(x, this.cache(memory), ...masks)[0]; }
  cache(memory) { // keys and values of the source; those of the target follow with its positions
    return {src_k: this.src_attn.W_k.forward(memory), src_v: this.src_attn.W_v.forward(memory)};
  }
  step(x, {src_k, src_v, k, v}, src_mask, tgt_mask) { // returns the output and the longer cache
    x = this.sublayer[0].forward(x, y => {
      const [new_k, new_v] = [this.self_attn.W_k.forward(y), this.self_attn.W_v.forward(y)];
      [k, v] = k ? [stack(k, new_k), stack(v, new_v)] : [new_k, new_v];
      return this.self_attn.attend(y, k, v, tgt_mask);
    });
    x = this.sublayer[1].forward(x, y => this.src_attn.attend(y, src_k, src_v, src_mask));
    x = this.sublayer[2].forward(x, y => this.feed_forward.forward(y));
    recorder?.(this.name, {out: x});
    return [x, {src_k, src_v, k, v}];
  }
}

class Stack { // N layers and a final norm
  constructor(weights, name, Layer, N, h) {
    this.layers = Array.from({length: N}, (_, i) => new Layer(weights, `${name}.layers.${i}`, h));
    this.norm = new LayerNorm(weights, `${name}.norm`);
  }
  forward(x, ...rest) {
    for (const layer of this.layers) x = layer.forward(x, ...rest);
    return this.norm.forward(x);
  }
}

export class EncoderDecoder { // §3
  constructor(parts) { Object.assign(this, parts); }
  encode(src, src_mask) { return this.encoder.forward(this.src_embed.forward(src), src_mask); }
  decode(memory, src_mask, tgt, tgt_mask = subsequent_mask(tgt.length)) {
    return this.decoder.forward(this.tgt_embed.forward(tgt), memory, src_mask, tgt_mask);
  }
  forward(src, tgt, src_mask) { return this.decode(this.encode(src, src_mask), src_mask, tgt); }
}

export function make_model(weights, config) { // source, target and output share one matrix
  check_model(weights, config);
  const {N, N_decoder, h, d_model} = config;
  const table = weights["generator.proj.weight"];
  const embed = name => new Embed(name, new Embeddings(table), new PositionalEncoding(d_model));
  return new EncoderDecoder({
    encoder: new Stack(weights, "encoder", EncoderLayer, N, h),
    decoder: new Stack(weights, "decoder", DecoderLayer, N_decoder ?? N, h),
    src_embed: embed("src_embed"), tgt_embed: embed("tgt_embed"),
    generator: new Generator(weights, "generator.proj")});
}

export class IncrementalDecoder { // computes only the new position; a prefix is {ids, caches}
  constructor(model, src, src_mask) {
    Object.assign(this, {model, src_mask, memory: model.encode(src, src_mask)});
  }
  start() {
    return {ids: [BOS], caches: this.model.decoder.layers.map(layer => layer.cache(this.memory))};
  }
  logits(prefix) { // of the token after the last one; fills the caches
    const last = prefix.ids.length - 1;
    let x = this.model.tgt_embed.forward([prefix.ids[last]], last);
    prefix.caches = this.model.decoder.layers.map((layer, i) => {
      let cache;
      [x, cache] = layer.step(x, prefix.caches[i], this.src_mask, null);
      return cache;
    });
    return this.model.generator.logits(this.model.decoder.norm.forward(x)).data;
  }
}

export function* greedy_steps(model, src, src_mask, max_len, begin = []) { // yields ids and logits
  const decoder = new IncrementalDecoder(model, src, src_mask), prefix = decoder.start();
  while (prefix.ids.length < max_len && prefix.ids.at(-1) !== EOS) {
    const logits = decoder.logits(prefix), best = logits.indexOf(largest(logits));
    prefix.ids = [...prefix.ids, begin[prefix.ids.length - 1] ?? best];
    yield {ids: prefix.ids, logits};
  }
}
export const greedy_search = (...args) => [...greedy_steps(...args)].at(-1).ids;

export const length_normalizer = (n, alpha) => ((5 + n) / 6) ** alpha; // Wu et al. 2016 (§6.1)

export function* beam_steps(model, src, src_mask, max_len, {beam_size, length_penalty}) {
  const decoder = new IncrementalDecoder(model, src, src_mask), width = 2 * beam_size;
  let prefixes = [{...decoder.start(), logp: 0}], best = {ids: [BOS], score: -Infinity};
  for (let n = 1; n < max_len && prefixes.length; n++) { // n: length of the new hypotheses
    const found = prefixes.flatMap((parent, place) => {
      const logp = log_softmax(decoder.logits(parent)), order = top(logp, width);
      return order.map(id => (
        {...parent, ids: [...parent.ids, id], logp: parent.logp + logp[id], place}));
    }).sort((a, b) => b.logp - a.logp).slice(0, width);
    for (const one of found) one.score = one.logp / length_normalizer(n, length_penalty);
    prefixes = found.filter(one => one.ids.at(-1) !== EOS).slice(0, beam_size);
    for (const one of found) one.kept = prefixes.includes(one);
    const ended = found.filter(one => one.ids.at(-1) === EOS);
    const full = n + 1 === max_len && best.score === -Infinity && !ended.length;
    for (const one of full ? prefixes : ended) if (one.score > best.score) best = one;
    yield {found, best};
    const longest = length_normalizer(max_len - 1, length_penalty);
    if (prefixes.length && prefixes[0].logp / longest <= best.score) break;
  }
}
export const beam_search = (...args) => [...beam_steps(...args)].at(-1).best;

export function top(values, n) { // indices of the n largest, largest first
  if (n > 64) return Array.from(values.keys()).sort((a, b) => values[b] - values[a]).slice(0, n);
  const best = [];
  for (let i = 0; i < values.length; i++) {
    if (best.length === n && !(values[i] > values[best[n - 1]])) continue;
    let at = best.length;
    while (at && values[i] > values[best[at - 1]]) at--;
    best.splice(at, 0, i);
    if (best.length > n) best.pop();
  }
  return best;
}

export function top_k_top_p(logits, {temperature = 1, top_k = 0, top_p = 1}) { // to sample from
  const p = softmax_row(logits.map(x => x / temperature)), kept = new Set();
  const order = top(p, top_k || p.length), most = order.reduce((sum, i) => sum + p[i], 0);
  let total = 0;
  for (const i of order) {
    if (kept.size && total >= top_p * most) break; // the token that reaches top_p stays
    kept.add(i);
    total += p[i];
  }
  return p.map((x, i) => (kept.has(i) ? x / total : 0));
}

export function sources(ids, max_extra = 50) { // arguments of a search, as `Translator` sets them
  const src = [...ids.slice(0, 512), EOS];
  return {src, max_len: src.length + max_extra};
}
