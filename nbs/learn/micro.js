// The page "The Transformer without a library" in JavaScript: the same names in the same order.

export const tape = []; // results in the order of their computation

export class Value { // a number with its gradient, its inputs and the derivatives by them
  constructor(data, inputs = null, slopes = null) {
    Object.assign(this, {data, grad: 0, inputs, slopes});
    if (inputs) tape.push(this);
  }
  add(other) {
    if (!(other instanceof Value)) return new Value(this.data + other, [this], [1]);
    return new Value(this.data + other.data, [this, other], [1, 1]);
  }
  mul(other) {
    if (!(other instanceof Value)) return new Value(this.data * other, [this], [other]);
    return new Value(this.data * other.data, [this, other], [other.data, this.data]);
  }
  pow(n) { return new Value(this.data ** n, [this], [n * this.data ** (n - 1)]); }
  log() { return new Value(Math.log(this.data), [this], [1 / this.data]); }
  relu() { return new Value(Math.max(this.data, 0), [this], [Number(this.data > 0)]); }
  exp() {
    const e = Math.exp(this.data);
    return new Value(e, [this], [e]);
  }
  backward() { // adds the derivatives of this number to the gradients of all numbers on the tape
    this.grad = 1;
    for (let n = tape.length - 1; n >= 0; n--) {
      const {inputs, slopes, grad} = tape[n];
      for (let i = 0; i < inputs.length; i++) inputs[i].grad += slopes[i] * grad;
    }
    tape.length = 0;
  }
}

export function total(xs) {
  const sum = xs.reduce((so_far, x) => so_far + x.data, 0);
  return new Value(sum, xs, new Array(xs.length).fill(1));
}

export function dot(xs, ys, bias = null) { // dot product of two vectors, plus a bias
  const a = xs.map(x => x.data), b = ys.map(y => y.data);
  let sum = bias ? bias.data : 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  if (!bias) return new Value(sum, [...xs, ...ys], [...b, ...a]);
  return new Value(sum, [...xs, ...ys, bias], [...b, ...a, 1]);
}

export function softmax(scores) {
  const top = Math.max(...scores.map(s => s.data));
  const powers = scores.map(s => s.add(-top).exp());
  const inverse = total(powers).pow(-1);
  return powers.map(p => p.mul(inverse));
}

const column = (x, i, end) => x.slice(0, end).map(row => row[i]);

export function attention(query, key, value, causal = false) { // softmax(QKᵀ/√d_k)V (§3.2.1)
  const scale = query[0].length ** -0.5;
  const rows = query.map((q, i) => {
    const end = causal ? i + 1 : key.length;
    const weights = softmax(key.slice(0, end).map(k => dot(q, k).mul(scale)));
    return {weights, mixed: value[0].map((_, c) => dot(weights, column(value, c, end)))};
  });
  return [rows.map(row => row.mixed), rows.map(row => row.weights)];
}

const add = (x, y) => x.map((row, i) => row.map((a, j) => a.add(y[i][j])));

export class Layers { // the layers of §3 over a dictionary of weights
  constructor(weights, h) { Object.assign(this, {weights, h, maps: {}}); }
  linear(name, x) { // xWᵀ + b
    const w = this.weights[`${name}.weight`], b = this.weights[`${name}.bias`];
    return x.map(vector => w.map((row, i) => dot(vector, row, b[i])));
  }
  norm(name, x, eps = 1e-6) { // layer normalization (§3.1)
    const w = this.weights[`${name}.weight`], b = this.weights[`${name}.bias`];
    return x.map(vector => {
      const mean = total(vector).mul(-1 / vector.length);
      const centered = vector.map(v => v.add(mean));
      const inverse = dot(centered, centered).mul(1 / vector.length).add(eps).pow(-0.5);
      return centered.map((v, i) => v.mul(inverse).mul(w[i]).add(b[i]));
    });
  }
  multi_head(name, query, memory, causal = false) { // multi-head attention (§3.2.2)
    const [q, k, v] = [["W_q", query], ["W_k", memory], ["W_v", memory]]
      .map(([part, x]) => this.linear(`${name}.${part}`, x));
    const width = q[0].length / this.h, heads = [];
    this.maps[name] = [];
    for (let start = 0; start < q[0].length; start += width) {
      const parts = [q, k, v].map(x => x.map(vector => vector.slice(start, start + width)));
      const [mixed, weights] = attention(...parts, causal);
      heads.push(mixed);
      this.maps[name].push(weights.map(row => row.map(w => w.data)));
    }
    const joined = query.map((_, t) => heads.flatMap(head => head[t]));
    return this.linear(`${name}.W_o`, joined);
  }
  feed_forward(name, x) { // max(0, xW₁ + b₁)W₂ + b₂ (§3.3)
    const hidden = this.linear(`${name}.w_1`, x).map(vector => vector.map(v => v.relu()));
    return this.linear(`${name}.w_2`, hidden);
  }
}

export function position(t, i, d_model) { // element i of the encoding of position t (§3.5)
  const angle = t / 10000 ** ((i - i % 2) / d_model);
  return i % 2 ? Math.cos(angle) : Math.sin(angle);
}

const layers = (stack, N) => Array.from({length: N}, (_, n) => `${stack}.layers.${n}`);

export class Transformer extends Layers { // of one pair, pre-norm, with tied embeddings (§3)
  constructor(vocab, {N = 1, d_model = 8, d_ff = 16, h = 2, random = rng(0)} = {}) {
    super(init_weights(vocab, N, d_model, d_ff, random), h);
    Object.assign(this, {N, d_model});
  }
  embed(ids) { // embeddings times √D, plus positions (§3.4)
    const table = this.weights["generator.proj.weight"], scale = Math.sqrt(this.d_model);
    return ids.map((token, t) =>
      table[token].map((w, i) => w.mul(scale).add(position(t, i, this.d_model))));
  }
  encode(src) { // memory of source ids
    let x = this.embed(src);
    for (const layer of layers("encoder", this.N)) {
      let y = this.norm(`${layer}.sublayer.0.norm`, x);
      x = add(x, this.multi_head(`${layer}.self_attn`, y, y));
      y = this.norm(`${layer}.sublayer.1.norm`, x);
      x = add(x, this.feed_forward(`${layer}.feed_forward`, y));
    }
    return this.norm("encoder.norm", x);
  }
  decode(memory, tgt) { // logits after each of the target ids
    let x = this.embed(tgt);
    for (const layer of layers("decoder", this.N)) {
      let y = this.norm(`${layer}.sublayer.0.norm`, x);
      x = add(x, this.multi_head(`${layer}.self_attn`, y, y, true));
      y = this.norm(`${layer}.sublayer.1.norm`, x);
      x = add(x, this.multi_head(`${layer}.src_attn`, y, memory));
      y = this.norm(`${layer}.sublayer.2.norm`, x);
      x = add(x, this.feed_forward(`${layer}.feed_forward`, y));
    }
    return this.linear("generator.proj", this.norm("decoder.norm", x));
  }
  parameters() { return Object.values(this.weights).flat(2); }
}

export function rng(seed) { // numbers from 0 to 1 (mulberry32)
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const gauss = random => // a normal number (Box and Muller)
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

export function init_weights(vocab, N, d_model, d_ff, random) { // with the names of the core
  const weights = {};
  const values = (count, next) => Array.from({length: count}, () => new Value(next()));
  const linear = (name, n_out, n_in) => {
    const bound = Math.sqrt(6 / (n_in + n_out)), uniform = () => bound * (2 * random() - 1);
    weights[`${name}.weight`] = Array.from({length: n_out}, () => values(n_in, uniform));
    weights[`${name}.bias`] = values(n_out, () => 0);
  };
  const norm = name => {
    weights[`${name}.weight`] = values(d_model, () => 1);
    weights[`${name}.bias`] = values(d_model, () => 0);
  };
  const stacks = {encoder: ["self_attn"], decoder: ["self_attn", "src_attn"]};
  for (const [stack, attentions] of Object.entries(stacks)) {
    for (const layer of layers(stack, N)) {
      for (const attn of attentions)
        for (const part of ["W_q", "W_k", "W_v", "W_o"])
          linear(`${layer}.${attn}.${part}`, d_model, d_model);
      linear(`${layer}.feed_forward.w_1`, d_ff, d_model);
      linear(`${layer}.feed_forward.w_2`, d_model, d_ff);
      for (let n = 0; n <= attentions.length; n++) norm(`${layer}.sublayer.${n}.norm`);
    }
    norm(`${stack}.norm`);
  }
  linear("generator.proj", vocab, d_model);
  const table = weights["generator.proj.weight"];
  for (const row of table) for (const w of row) w.data = gauss(random) * d_model ** -0.5;
  return weights;
}

export function smoothed_loss(logits, labels, smoothing = 0.1, pad = 2) { // KL divergence (§5.4)
  const parts = [], V = logits[0].length;
  logits.forEach((row, t) => {
    const top = Math.max(...row.map(x => x.data));
    const log_sum = total(row.map(x => x.add(-top).exp())).log().add(top);
    row.forEach((x, i) => {
      const p = i === labels[t] ? 1 - smoothing : smoothing / (V - 2);
      if (i !== pad && p) parts.push(log_sum.add(x.mul(-1)).mul(p).add(p * Math.log(p)));
    });
  });
  return total(parts);
}

export class Adam { // with the paper's constants (§5.3)
  constructor(parameters) {
    const zeros = () => new Float64Array(parameters.length);
    Object.assign(this, {parameters, step: 0, m: zeros(), v: zeros()});
  }
  update(lr) { // changes each weight by its gradient, and sets the gradient to 0
    const [b1, b2] = [0.9, 0.98];
    this.step++;
    this.parameters.forEach((p, i) => {
      this.m[i] = b1 * this.m[i] + (1 - b1) * p.grad;
      this.v[i] = b2 * this.v[i] + (1 - b2) * p.grad ** 2;
      const m = this.m[i] / (1 - b1 ** this.step), v = this.v[i] / (1 - b2 ** this.step);
      p.data -= lr * m / (Math.sqrt(v) + 1e-9);
      p.grad = 0;
    });
  }
}

export const rate = (step, d_model, warmup) =>
  d_model ** -0.5 * Math.min(step ** -0.5, step * warmup ** -1.5);

export function train_step(model, optimizer, pairs, lr) { // one update; returns its loss
  const tokens = pairs.reduce((sum, [, tgt]) => sum + tgt.length - 1, 0);
  let loss = 0;
  for (const [src, tgt] of pairs) {
    const logits = model.decode(model.encode(src), tgt.slice(0, -1));
    const part = smoothed_loss(logits, tgt.slice(1)).mul(1 / tokens);
    part.backward();
    loss += part.data;
  }
  optimizer.update(lr);
  return loss;
}

export function greedy(model, src, max_len, start = 0, end = 1) { // ids without start and end
  const memory = model.encode(src), out = [];
  while (out.length < max_len) {
    const logits = model.decode(memory, [start, ...out]).at(-1).map(x => x.data);
    tape.length = 0;
    const token = logits.indexOf(Math.max(...logits));
    if (token === end) break;
    out.push(token);
  }
  return out;
}
