// Changes of the running model: removed heads and layers, no positions, and bugs of the museum.
import * as T from "./transformer.js";

const of_type = (model, test) => {
  // all parts of a model that pass a test
  const found = [],
    seen = new Set();
  (function visit(part) {
    if (!part || typeof part !== "object" || seen.has(part) || part instanceof T.Matrix) return;
    seen.add(part);
    if (test(part)) found.push(part);
    if (!ArrayBuffer.isView(part)) Object.values(part).forEach(visit);
  })(model);
  return found;
};

export const attentions = model => of_type(model, part => part instanceof T.MultiHeadedAttention);

function remove_head(module, head) {
  // zero the head's columns of W_o
  const {weight} = module.W_o,
    width = weight.cols / module.h;
  const inside = i => Math.floor((i % weight.cols) / width) === head;
  module.W_o.weight = weight.map((x, i) => (inside(i) ? 0 : x));
}

const reshape = (a, rows, cols) => new T.Matrix(rows, cols, a.data);
const positions = model => of_type(model, part => part.pe);

export const BUGS = [
  // titles of the bug museum
  {
    title: "Scores not scaled",
    apply: m =>
      each_attention(m, (q, k, v, mask) =>
        T.attention(
          q.map(x => x * Math.sqrt(q.cols)),
          k,
          v,
          mask,
        ),
      ),
  },
  {
    title: "Softmax over the wrong axis",
    apply: m =>
      each_attention(m, (q, k, v, mask) => {
        const steps = T.attention(q, k, v, mask);
        const finite = steps.masked.map(x => Math.max(x, -3.4e38));
        const turned = T.transpose(T.each_row(T.transpose(finite), T.softmax_row));
        const weights = turned.map((w, i) => (steps.masked.data[i] === -Infinity ? 0 : w));
        return {...steps, weights, output: T.matmul_t(weights, T.transpose(v))};
      }),
  },
  {
    title: "Queries and keys exchanged",
    apply: m =>
      attentions(m).forEach(a => {
        [a.W_q, a.W_k] = [a.W_k, a.W_q];
      }),
  },
  {
    title: "Heads split with a view",
    apply: m =>
      attentions(m).forEach(a => {
        a.heads = x =>
          Array.from({length: a.h}, (_, i) =>
            reshape(
              {data: x.data.subarray((i * x.data.length) / a.h, ((i + 1) * x.data.length) / a.h)},
              x.rows,
              x.cols / a.h,
            ),
          );
      }),
  },
  {
    title: "Heads joined with a view",
    apply: m =>
      attentions(m).forEach(a => {
        a.join = heads => reshape(heads.reduce(T.stack), heads[0].rows, heads[0].cols * a.h);
      }),
  },
  {
    title: "Causal mask transposed",
    apply: m => {
      const decode = m.decode;
      m.decode = (memory, mask, tgt) => decode.call(m, memory, mask, tgt, T.transpose(T.subsequent_mask(tgt.length)));
    },
  },
  {
    title: "Embeddings not scaled",
    apply: m =>
      of_type(m, part => part.lut).forEach(e => {
        e.lut = e.lut.map(x => x / Math.sqrt(e.lut.cols));
      }),
  },
  {
    title: "Positions along the batch axis",
    apply: m =>
      positions(m).forEach(p => {
        p.pe = p.pe.map((_, n) => p.pe.data[n % p.pe.cols]);
      }),
  },
  {
    title: "No ReLU",
    apply: m =>
      of_type(m, part => part.relu).forEach(f => {
        f.relu = x => x;
      }),
  },
  {
    title: "Residual path normalized",
    apply: m =>
      of_type(m, part => part.norm && part.forward && !part.layers).forEach(s => {
        s.forward = (x, sublayer) => {
          const y = s.norm.forward(x),
            out = sublayer(y);
          return out.map((v, i) => v + y.data[i]);
        };
      }),
  },
];

function each_attention(model, attention) {
  attentions(model).forEach(module => {
    module.attention = attention;
  });
}

// heads: names such as "encoder.layers.0.self_attn.3"; layers: such as "decoder.layers.1"
export function edited_model(weights, config, {heads = [], layers = [], keep = true, bug = ""}) {
  const model = T.make_model(weights, config); // keep: positions stay
  for (const name of heads) {
    const at = name.lastIndexOf("."),
      module = name.slice(0, at),
      head = +name.slice(at + 1);
    attentions(model)
      .filter(part => part.name === module)
      .forEach(part => remove_head(part, head));
  }
  for (const stack of [model.encoder, model.decoder])
    stack.layers = stack.layers.filter(layer => !layers.includes(layer.name));
  if (!keep) for (const p of positions(model)) p.pe = p.pe.map(() => 0);
  BUGS.find(one => one.title === bug)?.apply(model);
  return model;
}

export function* greedy_decode(model, src, src_mask, max_len) {
  // without a cache, as in the core
  const memory = model.encode(src, src_mask);
  let ids = [T.BOS];
  while (ids.length < max_len && ids.at(-1) !== T.EOS) {
    const hidden = model.decode(memory, src_mask, ids);
    const logits = model.generator.logits(hidden).row(ids.length - 1);
    ids = [...ids, logits.indexOf(Math.max(...logits))];
    yield {ids, logits};
  }
}
