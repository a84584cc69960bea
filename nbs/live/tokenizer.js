// Byte-level BPE with the merges of tokenizer.json, as in nbs/23_words and nbs/24_bpe.
import {check_tokenizer} from "./files.js";
import {clean_text} from "./normalize.js";
export {clean_text} from "./normalize.js";

const SPECIALS = ["<s>", "</s>", "<blank>", "<unk>"];

function byte_alphabet() { // a printable character for each byte, as GPT-2 does
  let spare = 256;
  const printable = b => (b >= 33 && b <= 126) || (b >= 161 && b !== 173);
  return Array.from({length: 256}, (_, b) => String.fromCharCode(printable(b) ? b : spare++));
}

const WORDS = new RegExp("'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+"
  + "| ?[^\\p{White_Space}\\p{L}\\p{N}]+|\\p{White_Space}+(?!\\P{White_Space})"
  + "|\\p{White_Space}+", "gu");

function readable(bytes) { // text; a byte of an incomplete character as \xc3
  const strict = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});
  let text = "";
  for (let i = 0, n; i < bytes.length; i += n) {
    for (n = 4; n > 0; n--) {
      try { text += strict.decode(Uint8Array.from(bytes.slice(i, i + n))); break; }
      catch { /* shorter */ }
    }
    if (!n) text += "\\x" + bytes[i].toString(16).padStart(2, "0");
    n ||= 1;
  }
  return text;
}
const utf8 = bytes => new TextDecoder("utf-8", {ignoreBOM: true}).decode(Uint8Array.from(bytes));

export class SubwordTokenizer {
  constructor(file) {
    const alphabet = byte_alphabet(), merges = check_tokenizer(file, [...SPECIALS, ...alphabet]);
    const byte = new Map(alphabet.map((c, b) => [c, b]));
    this.alphabet = alphabet;
    this.rank = new Map(merges.map((pair, i) => [pair.join(" "), i]));
    const merged = merges.map(pair => pair.join(""));
    const pieces = new Set([...SPECIALS, ...[...alphabet].sort(), ...merged]);
    this.ids = new Map([...pieces].map((piece, id) => [piece, id]));
    this.bytes = [...pieces].map((piece, id) =>
      (id < SPECIALS.length ? [] : Array.from(piece, c => byte.get(c))));
  }

  merge(word) { // apply the merges to a word, in the order in which they were learned
    const pieces = [...word];
    for (;;) {
      let best = Infinity, at = -1;
      for (let i = 0; i + 1 < pieces.length; i++) {
        const rank = this.rank.get(`${pieces[i]} ${pieces[i + 1]}`) ?? Infinity;
        if (rank < best) [best, at] = [rank, i];
      }
      if (at < 0) return pieces;
      pieces.splice(at, 2, pieces[at] + pieces[at + 1]);
    }
  }

  words(text) { return (" " + clean_text(text)).match(WORDS) ?? []; }
  encode(text) { // ids, without start and end
    const words = this.words(text), encoder = new TextEncoder();
    const spell = word => Array.from(encoder.encode(word), b => this.alphabet[b]).join("");
    return words.flatMap(word => this.merge(spell(word)).map(piece => this.ids.get(piece)));
  }

  decode(ids) { // text; specials are left out
    return utf8(ids.flatMap(id => this.bytes[id])).replace(/^ /, "");
  }

  pieces(ids) { // readable pieces: ▁ is a space
    return ids.map(id => SPECIALS[id] ?? readable(this.bytes[id]).replaceAll(" ", "▁"));
  }
}
