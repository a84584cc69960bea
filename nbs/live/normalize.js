// One spelling for texts that look the same, as in nbs/22_normalize.

const MAX_MARKS = 30; // combining marks in a row
const NONE = "\\0-\\x08\\x0e-\\x1b\\x7f-\\x84\\x86-\\x9f\\xad\\u034f\\u061c\\u200b"
  + "\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}"
  + "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e001f}";
const HIDDEN = new RegExp(`[${NONE}]+`, "gu");
const JOINER = /[\u180e\u200c\u200d\u{e0020}-\u{e007f}]/u;
const VISIBLE = new RegExp("[^\\p{White_Space}\\x1c-\\x1f\\u115f\\u1160\\u2800\\u3164\\uffa0"
  + "\\u180b-\\u180f\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}\\u200c\\u200d\\u{e0020}-\\u{e007f}"
  + NONE + "]", "u");
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

export const is_empty = text => !VISIBLE.test(text); // nothing remains that can be seen
