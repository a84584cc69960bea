// Damaged and foreign model files in nbs/live: node .ci/live_files.mjs
// Each must raise one sentence that begins with the file's name; forms with equal numbers must be read.
import fs from "node:fs";
globalThis.matchMedia ??= () => ({matches: false});
globalThis.navigator ??= {};
globalThis.document ??= {querySelectorAll: () => []};
const ROOT = new URL("../", import.meta.url), LIVE = new URL("nbs/live/", ROOT).href;
const T = await import(LIVE + "transformer.js");
const {read_state, translate} = await import(LIVE + "live.js");
const {open_model} = await import(LIVE + "models.js");
const {SubwordTokenizer} = await import(LIVE + "tokenizer.js");
const {WORDS} = await import(LIVE + "unknown.js");
const file = name => fs.readFileSync(new URL(`annotated_transformer/pocket_model/${name}`, ROOT));
const json = name => JSON.parse(file(name));
const bytes = new Uint8Array(file("model.safetensors")).buffer;
const [merges, config, manifest] = ["tokenizer.json", "config.json", "MANIFEST.json"].map(json);
let tried = 0, failed = 0;
const report = text => { failed++; console.log(text); };

// ---- a safetensors file: header and data, taken apart and put together
const size = Number(new DataView(bytes).getBigUint64(0, true));
const header = JSON.parse(new TextDecoder().decode(bytes.slice(8, 8 + size)));
const data = bytes.slice(8 + size);
function pack(head, body = data) {
  const text = new TextEncoder().encode(typeof head === "string" ? head : JSON.stringify(head));
  const out = new Uint8Array(8 + text.length + body.byteLength);
  new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true);
  out.set(text, 8);
  out.set(new Uint8Array(body), 8 + text.length);
  return out.buffer;
}
const copy = value => structuredClone(value);
const edited = (change, value = header) => { const one = copy(value); return change(one) ?? one; };
const NAME = "encoder.layers.0.self_attn.W_q.weight", LAST = Object.keys(header).at(-1);
const set = (key, value) => edited(h => { h[NAME][key] = value; });
const raw = (change) => { const one = new Uint8Array(data.slice(0)); change(one); return one.buffer; };

// the same numbers in another type
const plain = T.read_weights(bytes);
function converted(dtype, width, write) {
  const head = {}, parts = [];
  let at = 0;
  for (const [name, {shape}] of Object.entries(header)) {
    const part = write(plain[name].data);
    head[name] = {dtype, shape, data_offsets: [at, at += part.byteLength]};
    parts.push(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  }
  const body = new Uint8Array(at);
  let place = 0;
  for (const part of parts) { body.set(part, place); place += part.length; }
  return pack(head, body.buffer);
}
const as_float = converted("F32", 4, x => Float32Array.from(x));
const as_bfloat = converted("BF16", 2, x =>
  Uint16Array.from(new Uint32Array(Float32Array.from(x).buffer), bits => bits >> 16));

const model = changes => ({...config, model: {...config.model, ...changes}});
const without = (value, key) => { const {[key]: _, ...rest} = value; return rest; };
const tok = change => ({...merges, data: edited(change, merges.data)});
const W = "model.safetensors", C = "config.json", K = "tokenizer.json";

const CASES = []; // [file, what, arguments of open_model]
const weights = (what, buffer) => CASES.push([W, what, [buffer, merges, config]]);
const settings = (what, value) => CASES.push([C, what, [bytes, merges, value]]);
const tokens = (what, value) => CASES.push([K, what, [bytes, value, config]]);

for (const n of [0, 1, 7, 8, 9, 100, 8 + size - 1, 8 + size, 8 + size + 1, bytes.byteLength - 1,
  bytes.byteLength - 1000, Math.floor(bytes.byteLength / 2)])
  weights(`cut at ${n}`, bytes.slice(0, n));
for (const n of [1, 2, 1000]) weights(`${n} bytes more`, pack(header, new Uint8Array([
  ...new Uint8Array(data), ...new Uint8Array(n)]).buffer));
for (const value of [null, 5, "text", undefined, [], {}]) weights(`not bytes: ${value}`, value);
for (const text of ["", "x", "[]", "5", "null", '"a"', "{}", '{"a":', "{\"a\": 1}", "\ufeff{}", "<html>"])
  weights(`header ${text}`, pack(text));
for (const dtype of ["F64", "I8", "U8", "I32", "I64", "BOOL", "F6_E2M3", "F8_E4M3", "f16", "F32", "BF8",
  "", null, 5, [], {}]) weights(`dtype ${JSON.stringify(dtype)}`, pack(set("dtype", dtype)));
for (const shape of [[], [128], [128, 127], [64, 256], [128, 128, 1], [0, 128], [-128, -128], [128.5, 128],
  ["128", "128"], null, 5, "128", {}, [1e308, 1e308], [2 ** 53, 2]])
  weights(`shape ${JSON.stringify(shape)}`, pack(set("shape", shape)));
const [a, b] = header[NAME].data_offsets;
for (const place of [[a, b - 2], [a + 2, b], [a - 2, b], [b, a], [a, b, b], [a], [], null, "0", [a + .5, b],
  [-2, b], [a, 1e15], [String(a), String(b)], [0, b - a], [a + 2, b + 2]])
  weights(`data_offsets ${JSON.stringify(place)}`, pack(set("data_offsets", place)));
for (const key of ["dtype", "shape", "data_offsets"])
  weights(`no ${key}`, pack(edited(h => { delete h[NAME][key]; })));
for (const value of [null, 5, "a", [], {}])
  weights(`tensor ${JSON.stringify(value)}`, pack(edited(h => { h[NAME] = value; })));
for (const value of [null, 5, "a", []])
  weights(`__metadata__ ${JSON.stringify(value)}`, pack({...header, __metadata__: value}));
weights("all tensors named F32", pack(edited(h => { for (const t of Object.values(h)) t.dtype = "F32"; })));
weights("a tensor without a name", pack(edited(h => { delete h[LAST]; })));
weights("another name", pack(edited(h => { h["x." + LAST] = h[LAST]; delete h[LAST]; })));
weights("two tensors share bytes", pack(edited(h => { h.extra = h[LAST]; })));
weights("two names exchanged", pack(edited(h => {
  [h["generator.proj.weight"], h[NAME]] = [h[NAME], h["generator.proj.weight"]];
})));
for (const [what, bits] of [["NaN", 0x7e00], ["infinity", 0x7c00], ["-infinity", 0xfc00]])
  weights(what, pack(header, raw(one => { new DataView(one.buffer).setUint16(a, bits, true); })));
CASES.push([W, "one changed byte", [pack(header, raw(one => { one[a] ^= 1; })), merges, config, manifest]]);

for (const [name, ...values] of [["norm_first", false, null, 1, "true"],
  ["positions", "learned", "rotary", "alibi", "", null, 5, "sinusoidal-concat"],
  ["tie", "none", "decoder", null, "All"], ["bias", false, null, 0],
  ["h", 0, -4, 4.5, "4", null, 3], ["N", 1, 3, 0, -1, "2", null, 1e9],
  ["d_model", 64, 256, 0, 127, "128", null, 128.5], ["d_ff", 128, 512, 0, null, "256"],
  ["N_decoder", 1, 3, 0, "2"], ["d_k", 16, 64, 0, "32"], ["d_v", 16, 64, 0],
  ["dropout", 2, -1, "0.1", true], ["attention_dropout", 5, "a"], ["norm", "rms", null], ["norm_eps", 1e-5, null, "1e-6"],
  ["final_norm", false, 1], ["ffn", "gelu", "swiglu", null], ["kv_heads", 1, 2, 0, "4"], ["qk_norm", true, null], ["decoder", "ssru", null],
  ["unknown", 1, null]])
  for (const value of values) settings(`${name}=${JSON.stringify(value)}`, model({[name]: value}));
for (const name of ["N", "h", "d_model", "d_ff", "tie"])
  settings(`no ${name}`, {...config, model: without(config.model, name)});
for (const value of [null, 5, [], "a", {}]) settings(`model ${JSON.stringify(value)}`, {...config, model: value});
for (const value of [null, 5, [], "a", {}]) settings(`file ${JSON.stringify(value)}`, value);
settings("joint", {...config, joint: false});
for (const pair of [null, 5, "", "de", "de-de", "de_en", "de-en-fr", ["de", "en"]])
  settings(`pair ${JSON.stringify(pair)}`, {...config, about: {...config.about, pair}});
settings("no about", without(config, "about"));

for (const value of [null, 5, [], "a", {}, {data: null}, {data: {}}, {data: []}, {kind: "word", data: merges.data}])
  tokens(`file ${JSON.stringify(value)?.slice(0, 40)}`, value);
for (const value of [null, 5, "ab", {}, [[]], [["a"]], [["a", "b", "c"]], [["a", 5]], [[null, "a"]], ["ab"],
  [["", "a"]], [["zz", "a"]], [["😀", "a"]], [["a", "b"], ["ab", "zz"]], [5], [{}]])
  tokens(`merges ${JSON.stringify(value)}`, tok(d => { d.merges = value; }));
tokens("one merge fewer", tok(d => { d.merges.pop(); }));
tokens("one merge more", tok(d => { d.merges.push(["z", "q"]); }));
tokens("two merges exchanged", tok(d => { [d.merges[0], d.merges[1]] = [d.merges[1], d.merges[0]]; }));
tokens("first merge last", tok(d => { d.merges.push(d.merges.shift()); }));

// ---- the words of the training data: a field of bits
const known = new Uint8Array(file(WORDS)), at = 8 + Number(new DataView(known.buffer).getBigUint64(0, true));
const bits = known.slice(at), size_of = known.length - at;
const right = {dtype: "U8", shape: [size_of], data_offsets: [0, size_of]};
const marks = (what, value) => CASES.push([WORDS, what, [bytes, merges, config, null, value]]);
for (const n of [0, 1, 7, 8, 9, at - 1, at, at + 1, known.length - 1]) marks(`cut at ${n}`, known.slice(0, n));
for (const n of [1, 8, 1000]) marks(`${n} bytes more`, pack({words: right}, new Uint8Array([...bits, ...new Uint8Array(n)])));
for (const value of [5, "text", [1, 2], {}, true, bytes]) marks(`not the file: ${typeof value}`, value);
for (const text of ["", "x", "[]", "5", "null", '"a"', "{}", '{"a": 1}', '{"words": null}', '{"words": []}'])
  marks(`header ${text}`, pack(text, bits));
for (const [key, ...values] of [["dtype", "I8", "BOOL", "F32", "u8", "", null, 8, ["U8"]],
  ["shape", [], [size_of - 1], [size_of + 1], [1, size_of], [size_of, 1], [String(size_of)], null, {}, size_of],
  ["data_offsets", [], [0], [0, size_of - 1], [1, size_of], [1, size_of + 1], [size_of, 0], [-1, size_of - 1], null, {}]])
  for (const value of values) marks(`${key}=${JSON.stringify(value)}`, pack({words: {...right, [key]: value}}, bits));
for (const [what, head] of [["another name", {bits: right}], ["two tensors", {words: right, more: right}],
  ["no dtype", {words: without(right, "dtype")}], ["no shape", {words: without(right, "shape")}]])
  marks(what, pack(head, bits));
CASES.push([WORDS, "one changed bit", [bytes, merges, config, manifest, known.map((x, i) => (i === at ? x ^ 1 : x))]]);

// ---- weights stored as int8, with a scale per row
const SCALE = ".int8_scale";
function quantized() { // name -> [dtype, shape, numbers]
  const tensors = {};
  for (const [name, {shape}] of Object.entries(header)) {
    const {rows, cols, data} = plain[name];
    if (shape.length === 1) { tensors[name] = ["F32", shape, Float32Array.from(data)]; continue; }
    const scale = new Float32Array(rows), integers = new Int8Array(rows * cols);
    for (let i = 0; i < rows; i++) {
      const row = data.subarray(i * cols, (i + 1) * cols);
      scale[i] = Math.fround(row.reduce((a, x) => Math.max(a, Math.abs(x)), 1.5e-36) / 127);
      row.forEach((x, k) => { integers[i * cols + k] = Math.round(x / scale[i]); });
    }
    tensors[name] = ["I8", shape, integers];
    tensors[name + SCALE] = ["F32", [rows], scale];
  }
  return tensors;
}
function pack_tensors(tensors) {
  const head = {}, parts = [];
  let at = 0;
  for (const [name, [dtype, shape, numbers]] of Object.entries(tensors)) {
    head[name] = {dtype, shape, data_offsets: [at, at += numbers.byteLength]};
    parts.push(new Uint8Array(numbers.buffer));
  }
  const body = new Uint8Array(at);
  let place = 0;
  for (const part of parts) { body.set(part, place); place += part.length; }
  return pack(head, body.buffer);
}
const VECTOR = "encoder.norm.weight", TABLE = "generator.proj.weight";
const int8 = quantized(), as_int8 = pack_tensors(int8);
const damaged = change => {
  const tensors = Object.fromEntries(Object.entries(int8).map(([name, [dtype, shape, numbers]]) =>
    [name, [dtype, [...shape], numbers.slice()]]));
  change(tensors);
  return pack_tensors(tensors);
};
const broken = (what, change) => weights(`int8, ${what}`, damaged(change));
for (const name of [NAME, TABLE])
  for (const at of [0, 100])
    for (const value of [NaN, Infinity, -Infinity, -1, -1e-30, 0])
      broken(`scale ${at} of ${name} is ${value}`, t => { t[name + SCALE][2][at] = value; });
for (const [dtype, numbers] of [["F16", new Uint16Array(128).fill(0x3c00)], ["BF16", new Uint16Array(128).fill(0x3f80)],
  ["I8", new Int8Array(128).fill(1)]])
  broken(`scales of type ${dtype}`, t => { t[NAME + SCALE] = [dtype, [128], numbers]; });
for (const shape of [[127], [129], [1], [128, 1], [1, 128], [64, 2]])
  broken(`scales of shape ${shape}`, t => {
    t[NAME + SCALE] = ["F32", shape, new Float32Array(shape.reduce((a, b) => a * b)).fill(1)];
  });
broken("no scale", t => { delete t[NAME + SCALE]; });
broken("no scales", t => { for (const name in t) if (name.endsWith(SCALE)) delete t[name]; });
broken("no integers", t => { delete t[NAME]; });
broken("only scales", t => { for (const name in t) if (!name.endsWith(SCALE)) delete t[name]; });
broken("a scale too many", t => { t["x" + SCALE] = ["F32", [3], new Float32Array(3).fill(1)]; });
broken("a scale of a vector", t => { t[VECTOR + SCALE] = ["F32", [1], new Float32Array(1).fill(1)]; });
broken("a scale of a scale", t => { t[NAME + SCALE + SCALE] = ["F32", [1], new Float32Array(1).fill(1)]; });
broken("another name of the scale", t => { t[NAME + ".scale"] = t[NAME + SCALE]; delete t[NAME + SCALE]; });
broken("-128", t => { t[NAME][2][5] = -128; });
broken("a float matrix", t => { t[NAME] = ["F32", [128, 128], Float32Array.from(plain[NAME].data)]; });
broken("a float matrix without scale", t => {
  t[NAME] = ["F32", [128, 128], Float32Array.from(plain[NAME].data)];
  delete t[NAME + SCALE];
});
broken("a vector of integers", t => { t[VECTOR] = ["I8", [128], new Int8Array(128).fill(1)]; });
broken("a matrix transposed", t => { t["encoder.layers.0.feed_forward.w_1.weight"][1].reverse(); });
broken("a vector with NaN", t => { t[VECTOR][2][7] = NaN; });
for (const n of [1, 100, 8 + size]) weights(`int8 cut by ${n}`, as_int8.slice(0, -n));
for (const format of [0, 3, 99, "1", null, undefined, [], true]) CASES.push(["MANIFEST.json",
  `format ${format}`, [bytes, merges, config, {...manifest, format}]]);

for (const [name, what, args] of CASES) {
  tried++;
  try { await open_model(...args); }
  catch ({message}) {
    const named = message.startsWith(name + ": ") || message.includes(` ${name} `);
    const good = named && /^[\w.]+: /.test(message) && message.endsWith(".") && message.length < 250;
    if (!good) report(`${name}, ${what}: “${message}”`);
    continue;
  }
  report(`${name}, ${what}: accepted`);
}

// ---- the same functions one by one, as other pages may call them
for (const change of [{norm_first: false}, {positions: "learned"}, {h: 3}, {tie: "none"}, {d_model: 64}]) {
  tried++;
  try { T.make_model(plain, {...config.model, ...change}); report(`make_model ${JSON.stringify(change)}`); }
  catch ({message}) { if (!message.startsWith(C) && !message.startsWith(W)) report(message); }
}

// ---- forms with equal numbers
const GOOD = [["__metadata__", pack({__metadata__: {format: "pt"}, ...header})],
  ["empty __metadata__", pack({...header, __metadata__: {}})],
  ["spaces after the header", pack(JSON.stringify(header) + "   ")],
  ["names in another order", pack(Object.fromEntries(Object.entries(header).reverse()))],
  ["F32", as_float], ["int8", as_int8],
  ["int8, names in another order", pack_tensors(Object.fromEntries(Object.entries(int8).reverse()))], ["a Node buffer", Buffer.from(bytes)], ["bytes", new Uint8Array(bytes)]];
const most = (what, matrix, i, x) => { // the largest difference of a number
  if (what === "BF16") return Math.abs(x) / 128;
  return matrix instanceof T.Int8Matrix ? .51 * matrix.scale[Math.floor(i / matrix.cols)] : 0;
};
function same_numbers(what, one, other) {
  const {data} = other; // of int8 it is computed
  return one.data.every((x, i) => Math.abs(data[i] - x) <= most(what, other, i, x));
}
for (const [what, buffer] of [...GOOD, ["BF16", as_bfloat]]) {
  tried++;
  const core = await open_model(buffer, merges, config);
  const equal = Object.keys(plain).every(name => Object.keys(core.weights).length === Object.keys(plain).length
    && same_numbers(what, plain[name], core.weights[name]));
  const {text} = [...translate(core, {...read_state(""), s: "Der Hund schläft."})].at(-1)();
  if (!equal || text !== "The dog is sleeping.") report(`${what} is read wrong: ${text}`);
}
tried++; // another depth of the decoder, other heads, another pair
{
  const thinner = Object.fromEntries(Object.entries(int8).filter(([name]) => !name.startsWith("decoder.layers.1.")));
  const usual = {norm: "layer", norm_eps: 1e-6, final_norm: null, ffn: "relu", kv_heads: null, qk_norm: false, decoder: "attention"};
  const about = {...config, model: {...config.model, ...usual, N_decoder: 1, h: 8}, about: {pair: "en-pt-BR"}};
  const core = await open_model(pack_tensors(thinner), merges, about);
  const {maps, text} = [...translate(core, {...read_state(""), s: "Der Hund schläft."})].at(-1)();
  const shape = [Object.keys(maps).length, ...Object.values(maps).map(heads => heads.length)].join();
  if (shape !== "4,8,8,8,8" || typeof text !== "string") report(`another architecture: ${shape}`);
}
for (const [what, value] of [["as stored", known], ["a buffer", known.buffer], ["__metadata__", pack({__metadata__: {a: "b"},
  words: right}, bits)], ["spaces after the header", pack(JSON.stringify({words: right}) + "  ", bits)]]) {
  tried++;
  const {words} = await open_model(bytes, merges, config, null, value).catch(({message}) => report(`${what}: ${message}`) ?? {});
  if (words?.unknown("Der Hudn schläft.").join() !== "Hudn") report(`${WORDS}, ${what}: is read wrong`);
}
for (const value of [undefined, null]) { // a folder without the file
  tried++;
  if ((await open_model(bytes, merges, config, manifest, value)).words) report("words of no file");
}
tried++;
if (new SubwordTokenizer({data: {merges: []}}).ids.size !== 260) report("a tokenizer of bytes");
console.log(`${tried - failed} of ${tried} cases`);
process.exit(failed ? 1 : 0);
