// Sentences of a text, as in nbs/25_sentences: spaCy's rules for German and English (rules.js) and
// two more. Texts in other languages get the English ones.
import {CLASSES, RULES, SPECIALS} from "./rules.js";

const WORD = "\\p{L}\\p{N}_", LETTER = "[\\p{L}\\p{Nl}\\p{No}]", SIGNS = `[^${WORD} ]{0,9}`;
const BORDER = new RegExp(`[^${WORD} ,;:'’"()/%&+\\-]${SIGNS} ${SIGNS}${LETTER}`, "u");
const START = new RegExp(` ?${SIGNS}(${LETTER})`, "uy");
const CLOSED = new RegExp(`([。！？｡]+[”’」』）]*)(?=[${WORD}「『（“])`, "gu"); // needs no space

function compiled({specials, ends, ...patterns}) {
  const pattern = (name, flags = "u") => new RegExp(
    patterns[name].replace(/<<(\w+)>>/g, (_, one) => CLASSES[one]), flags);
  return {
    prefix: pattern("prefix"),
    suffix: pattern("suffix"),
    infix: pattern("infix", "gu"),
    url: pattern("url"),
    ends: new Set(ends),
    specials: {...SPECIALS, ...specials},
  };
}
const languages = {}; // compiled by the first text that may have two sentences
let rules; // of the language at hand
const special = text => Object.hasOwn(rules.specials, text) && rules.specials[text].split(" ");
const length_of = match => (match ? match[0].length : 0);

function inner(word) { // tokens of a word without prefixes and suffixes
  if (rules.url.test(word)) return [word];
  const parts = [];
  let start = 0;
  for (const {0: sign, index} of word.matchAll(rules.infix)) {
    if (index === 0) continue;
    parts.push(word.slice(start, index), sign);
    start = index + sign.length;
  }
  return [...parts, word.slice(start)].filter(Boolean);
}

function tokens_of(word, with_specials = true) { // a word has no spaces
  const before = [], after = [], known = text => text && with_specials && special(text);
  for (let size = -1; word && word.length !== size && !known(word);) {
    size = word.length;
    const pre = length_of(rules.prefix.exec(word));
    if (pre && known(word.slice(pre))) {
      before.push(word.slice(0, pre));
      word = word.slice(pre);
      break;
    }
    const suf = length_of(rules.suffix.exec(word.slice(pre))), end = word.length - suf;
    if (suf && known(word.slice(0, end))) {
      after.unshift(word.slice(end));
      word = word.slice(0, end);
      break;
    }
    if (pre) before.push(word.slice(0, pre));
    if (suf) after.unshift(word.slice(end));
    word = word.slice(pre, end);
  }
  const middle = word ? known(word) || inner(word) : [];
  return [...before, ...middle, ...after];
}

function phrase_table() { // special cases that consist of several tokens, by their tokens
  const several = Object.keys(rules.specials).filter(text => text.trim() === text
    && (rules.prefix.test(text) || rules.suffix.test(text) || text.search(rules.infix) >= 0));
  return new Map(several.map(text => [tokens_of(text, false).join(" "), text]));
}

function join_phrases(tokens) { // tokens: [text, start]; longest first, then from the left
  const {phrases} = rules, found = [], taken = new Set();
  const most = Math.max(0, ...Array.from(phrases.keys(), key => key.split(" ").length));
  for (let n = most; n > 0; n--)
    for (let i = 0; i + n <= tokens.length; i++) {
      const part = tokens.slice(i, i + n), text = phrases.get(part.map(t => t[0]).join(" "));
      if (text === undefined) continue;
      const free = !taken.has(i) && !taken.has(i + n - 1);
      for (let j = i; j < i + n; j++) taken.add(j);
      const [last, at] = part.at(-1);
      if (free && at + last.length - part[0][1] === text.length) found.push([i, n, text]);
    }
  for (const [i, n, text] of found.sort((a, b) => b[0] - a[0])) {
    let start = tokens[i][1];
    const parts = special(text).map(one => [one, (start += one.length) - one.length]);
    tokens.splice(i, n, ...parts);
  }
  return tokens;
}

function* starts(text) { // places where spaCy's sentencizer begins a sentence
  const tokens = [], {ends} = rules;
  let start = 0, ended = false;
  for (const word of text.split(" ")) {
    let at = start;
    for (const token of tokens_of(word)) {
      tokens.push([token, at]);
      at += token.length;
    }
    start += word.length + 1;
  }
  for (const [token, at] of join_phrases(tokens)) {
    if (ended && !ends.has(token) && !/^\p{P}+$/u.test(token)) {
      yield at;
      ended = false;
    } else if (ends.has(token)) ended = true;
  }
}

const upper_at = (text, at) => { // whether a letter that is not lowercase follows
  START.lastIndex = at;
  const match = START.exec(text);
  return match && !/\p{Lowercase}/u.test(match[1]);
};

function choose(lang) { // make the rules of a language those at hand
  const known = Object.hasOwn(RULES, lang) ? lang : "en";
  rules = languages[known] ??= compiled(RULES[known]);
  rules.phrases ??= phrase_table();
}

export function split_text(text, lang) { // at least one sentence; the text is normalized
  text = text.replace(CLOSED, "$1 ");
  if (!BORDER.test(text)) return [text];
  choose(lang);
  const short = text.replace(/[^ ]{200,}/gu, run => { // rules are slow for long words
    const last = [...run].at(-1);
    return "x".repeat(run.length - last.length) + last;
  });
  const begins = [0, ...[...starts(short)].filter(at => upper_at(text, at))];
  return begins.map((at, i) => text.slice(at, begins[i + 1]).trim());
}
