// The three files of a saved model. Whatever this page cannot use raises one sentence.
import {Int8Matrix, Matrix} from "./matrix.js";

const WEIGHTS = "model.safetensors", CONFIG = "config.json", TOKENIZER = "tokenizer.json";
const MANIFEST = "MANIFEST.json";
const SCALE = ".int8_scale"; // a matrix of int8 has one scale per row under this name
const FORMATS = [1, 2]; // of MANIFEST.json: floating-point weights, int8 weights
const FIXED = { // settings with one form here, and their value in files that leave them out
  norm_first: [true, true],
  tie: ["all", "none"],
  positions: ["sinusoidal", "sinusoidal"],
  bias: [true, true],
  norm: ["layer", "layer"],
  norm_eps: [1e-6, 1e-6],
  final_norm: [true, true],
  ffn: ["relu", "relu"],
  qk_norm: [false, false],
  decoder: ["attention", "attention"],
};

const OTHER = ["dropout", "attention_dropout", "activation_dropout"]; // without effect here

const fail = (file, text) => { throw new Error(`${file}: ${text}.`); };
const show = value => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? text.slice(0, 57) + "..." : text;
};
const is_object = value => !!value && typeof value === "object" && !Array.isArray(value);
const is_count = value => Number.isSafeInteger(value) && value >= 0;

// float16 and bfloat16 by the bits of each number
const HALF = () => Float32Array.from({length: 65536}, (_, bits) => {
  const exponent = (bits >> 10) & 31, fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
});
let half;
const READERS = { // bytes of a number, and a function from bytes to numbers
  F32: [4, bytes => new Float32Array(bytes)],
  F16: [2, bytes => {
    half ??= HALF();
    return Float32Array.from(new Uint16Array(bytes), bits => half[bits]);
  }],
  BF16: [2, bytes => {
    const bits = Uint32Array.from(new Uint16Array(bytes), half => half << 16);
    return new Float32Array(bits.buffer);
  }],
  I8: [1, bytes => new Int8Array(bytes)],
};

function read_header(buffer) { // [header, where the numbers begin]
  if (buffer.byteLength < 8) fail(WEIGHTS, `it has ${buffer.byteLength} bytes and no header`);
  const size = new DataView(buffer).getBigUint64(0, true);
  if (size > BigInt(buffer.byteLength - 8)) fail(WEIGHTS, "it ends inside its header");
  const begin = 8 + Number(size);
  let header;
  try {
    const text = new TextDecoder("utf-8", {fatal: true}).decode(buffer.slice(8, begin));
    header = JSON.parse(text);
  } catch { fail(WEIGHTS, "its header is not JSON"); }
  if (!is_object(header)) fail(WEIGHTS, `its header is ${show(header)}, not a table of tensors`);
  return [header, begin];
}

function check_tensor(name, tensor, length) {
  if (!is_object(tensor)) fail(WEIGHTS, `${name} is ${show(tensor)}, not a tensor`);
  const {dtype, shape, data_offsets: place} = tensor, types = Object.keys(READERS);
  if (!types.includes(dtype))
    fail(WEIGHTS, `${name} has dtype ${show(dtype)}; this page reads ${types.join(", ")}`);
  const sizes = Array.isArray(shape) && shape.every(n => is_count(n) && n) ? shape.length : 0;
  if (![1, 2].includes(sizes))
    fail(WEIGHTS, `${name} has shape ${show(shape)}, not one or two sizes`);
  if (!Array.isArray(place) || place.length !== 2 || !place.every(is_count) || place[0] > place[1])
    fail(WEIGHTS, `${name} has data_offsets ${show(place)}, not a begin and an end`);
  if (place[1] > length)
    fail(WEIGHTS, `${name} ends at byte ${place[1]} of ${length}: the file is cut off`);
  const bytes = shape.reduce((a, b) => a * b, READERS[dtype][0]);
  if (place[1] - place[0] !== bytes)
    fail(WEIGHTS, `${name} has ${place[1] - place[0]} bytes where ${dtype} of shape ${show(shape)} `
      + `needs ${bytes}`);
}

export function read_weights(buffer) { // a safetensors file: JSON header, then the numbers
  if (ArrayBuffer.isView(buffer))
    buffer = buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
  if (!(buffer instanceof ArrayBuffer)) fail(WEIGHTS, `it is ${show(buffer)}, not bytes`);
  const [{__metadata__: notes = {}, ...tensors}, begin] = read_header(buffer);
  if (!is_object(notes)) fail(WEIGHTS, `__metadata__ is ${show(notes)}, not a table`);
  const rows = Object.entries(tensors), length = buffer.byteLength - begin;
  for (const [name, tensor] of rows) check_tensor(name, tensor, length);
  let end = 0; // every byte belongs to one tensor
  for (const [name, {data_offsets: [a, b]}] of
    rows.toSorted((x, y) => x[1].data_offsets[0] - y[1].data_offsets[0])) {
    if (a !== end) fail(WEIGHTS, `${name} begins at byte ${a}, not at ${end}`);
    end = b;
  }
  if (end !== length) fail(WEIGHTS, `${length - end} bytes belong to no tensor`);
  const stored = Object.fromEntries(rows.map(([name, {dtype, shape, data_offsets: [a, b]}]) => {
    const data = READERS[dtype][1](buffer.slice(begin + a, begin + b));
    if (!data.every(Number.isFinite)) fail(WEIGHTS, `${name} has numbers that are not finite`);
    return [name, new Matrix(...(shape.length > 1 ? shape : [1, ...shape]), data)];
  }));
  return join_scales(stored, tensors);
}

function join_scales(stored, tensors) { // matrices of int8 with their scales, and vectors
  const is_int8 = name => tensors[name].dtype === "I8", names = Object.keys(stored);
  if (!names.some(is_int8)) return stored;
  const weights = {};
  for (const name of names) {
    if (name.endsWith(SCALE)) continue;
    const matrix = tensors[name].shape.length > 1, {rows, cols, data} = stored[name];
    if (matrix !== is_int8(name))
      fail(WEIGHTS, `${name} has dtype ${tensors[name].dtype} among int8 weights`);
    weights[name] = matrix
      ? new Int8Matrix(rows, cols, data, read_scales(name, stored, tensors)) : stored[name];
  }
  for (const name of names)
    if (name.endsWith(SCALE) && !(weights[name.slice(0, -SCALE.length)] instanceof Int8Matrix))
      fail(WEIGHTS, `${name} belongs to no matrix`);
  return weights;
}

function read_scales(name, stored, tensors) { // one positive number per row
  const {rows, data} = stored[name], key = name + SCALE, {dtype, shape} = tensors[key] ?? {};
  if (!dtype) fail(WEIGHTS, `${key} is missing`);
  if (dtype !== "F32" || shape.length !== 1 || shape[0] !== rows)
    fail(WEIGHTS, `${key} is ${dtype} of shape ${show(shape)}, not F32 of shape [${rows}]`);
  if (data.includes(-128)) fail(WEIGHTS, `${name} has integers below -127`);
  const cols = data.length / rows, scale = stored[key].data;
  const is_zero = i => !scale[i] && data.subarray(i * cols, (i + 1) * cols).every(q => !q);
  if (!scale.every((x, i) => x > 0 || is_zero(i)))
    fail(WEIGHTS, `${key} has numbers that are not positive`);
  return scale;
}

function check_config(config) { // the settings of the model that this page computes
  if (!is_object(config)) fail(CONFIG, `model is ${show(config)}, not a table of settings`);
  for (const name of ["N", "h", "d_model", "d_ff"])
    if (!is_count(config[name]) || !config[name])
      fail(CONFIG, `${name}=${show(config[name])} is not a whole number of 1 or more`);
  for (const name of OTHER) {
    const value = config[name] ?? 0;
    if (typeof value !== "number" || !(value >= 0 && value <= 1))
      fail(CONFIG, `${name}=${show(value)} is not a number from 0 to 1`);
  }
  const {N, h, d_model, d_ff, N_decoder, d_k, d_v, kv_heads, ...rest} = config;
  for (const name of Object.keys(rest))
    if (!Object.hasOwn(FIXED, name) && !OTHER.includes(name))
      fail(CONFIG, `${show(name)} is not a setting that this page knows`);
  const lacking = [], width = Math.floor(d_model / h);
  const check = (name, value, wanted) =>
    value === wanted || lacking.push(`${name}=${show(value)} (only ${show(wanted)})`);
  for (const [name, [wanted, usual]] of Object.entries(FIXED)) {
    const unset = name === "final_norm" ? config[name] == null : config[name] === undefined;
    check(name, unset ? usual : config[name], wanted);
  }
  for (const [name, value] of [["d_k", width], ["d_v", width], ["kv_heads", h]])
    check(name, config[name] ?? value, value);
  if (d_model % h) lacking.push(`d_model=${d_model} (only ${h * width} or ${h * width + h})`);
  if (lacking.length) fail(CONFIG, `this page lacks ${lacking.join(", ")}`);
  if (N_decoder != null && (!is_count(N_decoder) || !N_decoder))
    fail(CONFIG, `N_decoder=${show(N_decoder)} is not a whole number of 1 or more`);
}

function* expected({N, N_decoder, d_model: d, d_ff: f}, vocabulary) { // names, shapes of tensors
  const linear = (name, out, width) => [[`${name}.weight`, out, width], [`${name}.bias`, 1, out]];
  const norm = name => [[`${name}.weight`, 1, d], [`${name}.bias`, 1, d]];
  for (const stack of ["encoder", "decoder"]) {
    const attns = stack === "encoder" ? ["self_attn"] : ["self_attn", "src_attn"];
    for (let n = 0; n < (stack === "decoder" ? N_decoder ?? N : N); n++) {
      const layer = `${stack}.layers.${n}`;
      for (const attn of attns)
        for (const part of "qkvo") yield* linear(`${layer}.${attn}.W_${part}`, d, d);
      yield* linear(`${layer}.feed_forward.w_1`, f, d);
      yield* linear(`${layer}.feed_forward.w_2`, d, f);
      for (let i = 0; i <= attns.length; i++) yield* norm(`${layer}.sublayer.${i}.norm`);
    }
    yield* norm(`${stack}.norm`);
  }
  yield* linear("generator.proj", vocabulary, d);
}

export function check_model(weights, config) { // the weights are those of the configuration
  check_config(config);
  const vocabulary = weights["generator.proj.weight"]?.rows ?? 1;
  const left = new Set(Object.keys(weights));
  for (const [name, height, width] of expected(config, vocabulary)) {
    const found = weights[name];
    if (!found) fail(WEIGHTS, `${name} is missing, which ${CONFIG} describes`);
    if (found.rows !== height || found.cols !== width)
      fail(WEIGHTS, `${name} has shape ${found.rows} × ${found.cols} where ${CONFIG} describes `
        + `${height} × ${width}`);
    left.delete(name);
  }
  for (const name of left)
    fail(WEIGHTS, `${name} is no part of the model that ${CONFIG} describes`);
}

const CODE = "([A-Za-z]\\w{1,15}(?:-(?:[A-Z][a-z]{3}|[A-Z]{2}|\\d{3})){0,2})";
export function languages(pair) { // codes of both sides; null if it is no pair
  const match = typeof pair === "string" && pair.match(new RegExp(`^${CODE}-${CODE}$`));
  return match && match[1].toLowerCase() !== match[2].toLowerCase() ? match.slice(1) : null;
}

export function check_about(file) { // one vocabulary, and the languages if they are known
  if (!is_object(file)) fail(CONFIG, `it is ${show(file)}, not a table`);
  const {joint, about} = file;
  if (joint !== true) fail(CONFIG, `joint=${show(joint)}, but this page has one vocabulary`);
  if (!is_object(about)) fail(CONFIG, `about is ${show(about)}, not a table`);
  const {pair = "de-en"} = about; // as the package reads it
  if (!languages(pair)) fail(CONFIG, `pair=${show(pair)} is not a language pair such as "de-en"`);
}

export function check_tokenizer(file, alphabet) { // its merges
  const {kind = "subword", data} = file ?? {}, {merges} = data ?? {}, known = new Set(alphabet);
  if (!is_object(data) || kind !== "subword" || "source_eos" in data)
    fail(TOKENIZER, "it is not a subword tokenizer of this project with </s> after a source");
  if (!Array.isArray(merges)) fail(TOKENIZER, `merges is ${show(merges)}, not a list`);
  merges.forEach((pair, i) => {
    const fits = Array.isArray(pair) && pair.length === 2
      && pair.every(piece => typeof piece === "string" && known.has(piece));
    if (!fits) fail(TOKENIZER, `merge ${i} is ${show(pair)}, not a pair of earlier pieces`);
    known.add(pair.join(""));
  });
  return merges;
}

export function check_sizes({weights, tokenizer}) { // one row of the table for each piece
  const {rows} = weights["generator.proj.weight"], pieces = tokenizer.ids.size;
  if (rows !== pieces) fail(TOKENIZER, `it has ${pieces} pieces, but ${WEIGHTS} has ${rows} rows`);
}

async function digest(bytes) { // SHA-256; null where the browser has none (plain http)
  if (!globalThis.crypto?.subtle) return null;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, b => b.toString(16).padStart(2, "0")).join("");
}

function python_json(value) { // as `json.dumps` spells lists, tables and strings
  if (Array.isArray(value)) return `[${value.map(python_json).join(", ")}]`;
  if (is_object(value)) return `{${Object.keys(value).sort()
    .map(key => `${python_json(key)}: ${python_json(value[key])}`).join(", ")}}`;
  return JSON.stringify(value).replace(/[\x7f-\uffff]/g,
    c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

export async function check_saved(name, buffer, manifest) { // stored bytes
  const saved = manifest?.files?.[name]?.sha256, found = await digest(buffer);
  if (found && saved && found !== saved) fail(name, "it is not the file that was saved");
}

export async function check_hashes(buffer, file, manifest) { // weights and merges
  if (manifest && !FORMATS.includes(manifest.format))
    fail(MANIFEST, `it has format ${show(manifest.format)}; this page reads ${FORMATS.join(", ")}`);
  await check_saved(WEIGHTS, buffer, manifest);
  const merges = await digest(new TextEncoder().encode(python_json(file.data)));
  if (merges && merges !== file.sha256) fail(TOKENIZER, "its checksum does not match");
}

export async function read_body(response, report) { // bytes; `report` is told how many were read
  const reader = response.body?.getReader(), parts = [];
  if (!reader) return response.arrayBuffer();
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return new Blob(parts).arrayBuffer();
    parts.push(value);
    report(value.length);
  }
}
