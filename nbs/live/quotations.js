// The quoted words of a sentence, as in nbs/25_sentences.
const QUOTE = "„“”\"»«", WORD = "[\\p{L}\\p{N}_]";
const QUOTATION = new RegExp(`^([^${QUOTE}]*(?<!${WORD})[${QUOTE}])(?! )([^${QUOTE}]+)`
  + `([${QUOTE}](?!${WORD})[^${QUOTE}]*)$`, "u");

export const quotation = text => // without marks; "" unless there is exactly one
  (QUOTATION.exec(text)?.[2] ?? "").replace(/,+$/u, "");

export function requote(text, words) { // the sentence with other quoted words
  const match = QUOTATION.exec(text);
  if (!match || !words || new RegExp(`[${QUOTE}]`, "u").test(words)) return text;
  const ended = /([!?]|\.\.)$/u.test(words), end = /[,.!?]*$/u.exec(match[2])[0];
  return match[1] + (ended ? words : words.replace(/\.$/u, "") + end) + match[3];
}
