// Byte-level BPE with the merges of tokenizer.json, as in nbs/23_words and nbs/24_bpe.

const SPECIALS = ["<s>", "</s>", "<blank>", "<unk>"];

const MAX_MARKS = 30; // combining marks in a row
const HIDDEN = new RegExp("[\\0-\\x08\\x0e-\\x1b\\x7f-\\x84\\x86-\\x9f\\xad\\u034f\\u061c\\u200b"
  + "\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}"
  + "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e001f}]+", "gu");
const JOINER = /[\u180e\u200c\u200d\u{e0020}-\u{e007f}]/u;
// scripts with joiners
const LIGATED = /[\u0590-\u167f\u1681-\u1dff\u2190-\u2fff\u3001-\u{10ffff}]/u;

function is_mark(c) { // whether NFD moves it past marks of another class
  if (!/\p{M}/u.test(c)) return false;
  const first = text => text.normalize("NFD")[0];
  return first("\u0345" + c) !== "\u0345" || first(c + "\u0334") === "\u0334"
    || /[\u0f73\u0f75\u0f81]/.test(c);
}

function drop_joiners(text) { // except after letters of scripts that use them
  let base = "";
  return Array.from(text).filter(c => {
    const joiner = JOINER.test(c);
    if (!joiner && !(c.length === 1 && is_mark(c))) base = c;
    return !joiner || LIGATED.test(base);
  }).join("");
}

function cut_marks(text) { // long runs of combining marks
  let run = 0;
  return Array.from(text).filter(c => (run = is_mark(c) ? run + 1 : 0) <= MAX_MARKS).join("");
}

export function clean_text(text) { // one spelling for texts that look the same
  text = text.toWellFormed().replace(HIDDEN, "");
  if (JOINER.test(text)) text = drop_joiners(text);
  text = cut_marks(cut_marks(text).normalize("NFC"));
  return text.split(/[\p{White_Space}\x1c-\x1f]+/u).filter(Boolean).join(" ");
}

function byte_alphabet() { // a printable character for each byte, as GPT-2 does
  let spare = 256;
  const printable = b => (b >= 33 && b <= 126) || (b >= 161 && b !== 173);
  return Array.from({length: 256}, (_, b) => String.fromCharCode(printable(b) ? b : spare++));
}

const WORDS = new RegExp("'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+"
  + "| ?[^\\p{White_Space}\\p{L}\\p{N}]+|\\p{White_Space}+(?!\\P{White_Space})"
  + "|\\p{White_Space}+", "gu");

const utf8 = bytes => new TextDecoder("utf-8", {ignoreBOM: true}).decode(Uint8Array.from(bytes));

export class SubwordTokenizer {
  constructor({data: {merges}}) {
    const alphabet = byte_alphabet(), byte = new Map(alphabet.map((c, b) => [c, b]));
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

  encode(text) { // ids, without start and end
    const words = (" " + clean_text(text)).match(WORDS) ?? [], encoder = new TextEncoder();
    const spell = word => Array.from(encoder.encode(word), b => this.alphabet[b]).join("");
    return words.flatMap(word => this.merge(spell(word)).map(piece => this.ids.get(piece)));
  }

  decode(ids) { // text; specials are left out
    return utf8(ids.flatMap(id => this.bytes[id])).replace(/^ /, "");
  }

  pieces(ids) { // readable pieces: ▁ is a space
    return ids.map(id => SPECIALS[id] ?? utf8(this.bytes[id]).replaceAll(" ", "▁"));
  }
}
