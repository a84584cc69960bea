// Misspelled words are read as known ones, as in nbs/28a_spelling.
import {NAMES} from "./names.js";
import {clean_text} from "./normalize.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyzäöüß";
const WORD = "[A-Za-zÄÖÜäöü][a-zäöüß]{3,23}"; // 4 to 24 letters, a capital only at the start
const MARKS = "„“”\"»«›‹‚‘’'";
const TYPED = new RegExp(`(?<![^ ])([(${MARKS}]*)(${WORD})(?=[).,;:!?…${MARKS}]*(?![^ ]))`, "gu");
const MAX_CHARS = 20_000, MAX_READ = 2 ** 15;
const CONTRACTED = new RegExp("^(?:([A-Za-z][a-z]+)(re|ve|ll|(?<=n)t)"
  + "|([A-Z][a-z]+|that|what|there|here|where|who|she|how|let)(s))$");

const is_lower = word => word[0] === word[0].toLowerCase();
const like = (word, other) =>
  (is_lower(word) ? other : other[0].toUpperCase() + other.slice(1));
const places = (word, first, last, change) => // changes at each place, one after the other
  Array.from({length: last - first}, (_, n) => change(word.slice(0, first + n), first + n)).flat();

const umlauts = word => [word.replaceAll("ae", "ä").replaceAll("oe", "ö").replaceAll("ue", "ü")];
const exchanged = word =>
  places(word, 0, word.length - 1, (a, i) => a + word[i + 1] + word[i] + word.slice(i + 2));
const doubled = word => [
  ...places(word, 0, word.length, (a, i) => a + word[i] + word.slice(i)),
  ...places(word, 0, word.length - 1, (a, i) =>
    (word[i] === word[i + 1] ? a + word.slice(i + 1) : [])),
];
const inserted = word =>
  places(word, 1, word.length + 1, (a, i) => [...LETTERS].map(c => a + c + word.slice(i)));
const replaced = word =>
  places(word, 1, word.length, (a, i) => [...LETTERS].map(c => a + c + word.slice(i + 1)));
const removed = word => places(word, 1, word.length, (a, i) => a + word.slice(i + 1));

export class Spelling {
  constructor(words, pieces, lang) { // words: a WordSet; pieces: those of the vocabulary, readable
    const frequent = pieces.filter(piece => piece.startsWith("▁")).map(piece => piece.slice(1));
    Object.assign(this, {words, lang, checked: new Map(), fixed: new Set(NAMES)});
    this.frequent = new Set(frequent.filter(word => words.has(word)));
    this.lower = new Set([...this.frequent].map(word => word.toLowerCase()));
  }
  read(word) { // the known word that it stands for, or the word itself
    if (!this.checked.has(word)) {
      if (this.checked.size >= MAX_READ) this.checked.clear();
      this.checked.set(word, this.sharp(this.meant(word)));
    }
    return this.checked.get(word);
  }
  meant(word) { // the candidate of the first step that has any, if it is the only one
    if (this.words.has(word) || this.fixed.has(word.toLowerCase())) return word;
    for (const [candidates, accepted] of this.steps(word)) {
      const spelled = new Set(candidates.map(candidate => like(word, candidate)));
      spelled.delete(word);
      const meant = [...spelled].filter(candidate => accepted.has(candidate));
      if (meant.length) return meant.length === 1 ? meant[0] : word;
    }
    return word;
  }
  frequent_like(word) { return is_lower(word) ? this.lower : this.frequent; }
  sharp(word) { // with ß for ss, if only that is frequent
    if (this.lang !== "de" || this.fixed.has(word.toLowerCase())) return word;
    const sharp = word.replaceAll("ss", "ß"), frequent = this.frequent_like(word);
    return frequent.has(sharp) && !frequent.has(word) ? sharp : word;
  }
  * steps(word) { // the candidates of each step, and the words that it accepts
    const lower = word.toLowerCase(), frequent = this.frequent_like(word);
    if (this.lang === "de") yield [umlauts(lower), this.words];
    else {
      const contracted = this.apostrophes(word);
      yield [contracted, new Set(contracted)];
    }
    for (const change of [exchanged, doubled]) yield [change(lower), this.words];
    for (const change of [inserted, replaced, removed]) yield [change(lower), frequent];
  }
  apostrophes(word) {
    const match = CONTRACTED.exec(word), start = match?.[1] ?? match?.[3];
    return match && this.words.has(start) ? [`${start}'${match[2] ?? match[4]}`] : [];
  }
  restore(text) { // the text, and a Map from each exchanged word to what it is read as
    const restored = new Map();
    if (Array.from(text).length > MAX_CHARS) return [text, restored];
    const read = clean_text(text).replace(TYPED, (_, marks, word) => {
      const meant = this.read(word);
      if (meant !== word) restored.set(word, meant);
      return marks + meant;
    });
    return [restored.size ? read : text, restored];
  }
}

export function spelling_of({tokenizer, words, pair}, about) { // null: not for this model
  const lang = pair.split("-")[0];
  if (!words || !about.typed || about.directions || !["de", "en"].includes(lang)) return null;
  return new Spelling(words, tokenizer.pieces([...tokenizer.ids.values()]), lang);
}
