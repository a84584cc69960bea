// Words of a text that the training data lacks, as in nbs/23_words: a Bloom filter.
import {clean_text} from "./normalize.js";

export const WORDS = "known_words.safetensors";
const SINGLE = "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3005-\\u30ff\\u31f0-\\u31ff"
  + "\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\uff66-\\uff9f\\u{20000}-\\u{3ffff}";
const LETTER = "(?!ℹ)\\p{L}\\p{M}*"; // ℹ is an emoji
const WORD = new RegExp(`(?=[${SINGLE}])${LETTER}|(?:(?![${SINGLE}])${LETTER})+`, "gu");

function crc32(bytes) {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let i = 0; i < 8; i++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

function read_field(buffer) { // the one tensor of the file
  const bytes = new Uint8Array(buffer);
  try {
    const end = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const text = new TextDecoder("utf-8", {fatal: true}).decode(bytes.slice(8, end));
    const {__metadata__, ...tensors} = JSON.parse(text), n = bytes.length - end;
    const {words: {dtype, shape, data_offsets}, ...others} = tensors;
    const found = JSON.stringify([dtype, shape, data_offsets, others]);
    if (n > 0 && found === `["U8",[${n}],[0,${n}],{}]`) return bytes.slice(end);
  } catch { /* no such file */ }
  throw new Error(`${WORDS}: it holds no words of training data.`);
}

export class WordSet {
  constructor(buffer) { this.field = read_field(buffer); }

  has(word) {
    const bytes = new TextEncoder().encode(word.toLowerCase().toUpperCase());
    const size = BigInt(8 * this.field.length);
    let number = crc32(bytes);
    for (let i = 0; i < 11; i++) {
      number = (Math.imul(number, 0x9e3779b1) + 0x7f4a7c15) >>> 0;
      const place = Number(BigInt(number) * size >> 32n);
      if (!(this.field[place >> 3] >> (place & 7) & 1)) return false;
    }
    return true;
  }

  parts(text) { // [part of the text, whether it is an unknown word]
    const clean = clean_text(text), parts = [];
    let end = 0;
    for (const {0: word, index} of clean.matchAll(WORD)) {
      if (this.has(word)) continue;
      parts.push([clean.slice(end, index), false], [word, true]);
      end = index + word.length;
    }
    return [...parts, [clean.slice(end), false]];
  }

  unknown(text) { // each once, in their order
    return [...new Set(this.parts(text).filter(([, unknown]) => unknown).map(([word]) => word))];
  }
}
