// Literal English for German words: .ci/gloss.py learns the dictionary from aligned sentences.
import {here} from "./models.js";

const WORD = /[\p{L}\p{M}\p{N}]+/gu;

async function read_gloss() { // word in lower case -> gloss
  const bytes = await (await fetch(here("gloss.gz"))).blob();
  const packed = new Uint8Array(await bytes.slice(0, 2).arrayBuffer()).join() === "31,139";
  const stream = packed ? bytes.stream().pipeThrough(new DecompressionStream("gzip")) : bytes;
  const lines = (await new Response(stream).text()).split("\n");
  return new Map(lines.map(line => line.split("\t")));
}

let loaded; // once for all forms of a page
export function load_gloss() {
  loaded ??= read_gloss().catch(() => new Map()); // a translation needs none
  return loaded;
}

export function* split_words(text) { // [part, whether it is a word]
  let end = 0;
  for (const {0: word, index} of text.matchAll(WORD)) {
    yield [text.slice(end, index), false];
    yield [word, true];
    end = index + word.length;
  }
  yield [text.slice(end), false];
}
