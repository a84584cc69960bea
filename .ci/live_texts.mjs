// The functions of nbs/live beside a table of texts: node .ci/live_texts.mjs [TABLE.json]
// The table holds for each text what Python returns; this prints what differs, one line for a text.
import fs from "node:fs";
globalThis.matchMedia ??= () => ({matches: false});
globalThis.navigator ??= {};
globalThis.document ??= {querySelectorAll: () => []};
const ROOT = new URL("../", import.meta.url), LIVE = new URL("nbs/live/", ROOT).href;
const {read_state, translate} = await import(LIVE + "live.js");
const {open_model} = await import(LIVE + "models.js");
const {clean_text, is_empty} = await import(LIVE + "normalize.js");
const {split_text} = await import(LIVE + "sentences.js");
const file = name => fs.readFileSync(new URL(`annotated_transformer/pocket_model/${name}`, ROOT));
const json = name => JSON.parse(file(name));
const core = await open_model(
  file("model.safetensors"), json("tokenizer.json"), json("config.json"), json("MANIFEST.json"),
  file("known_words.safetensors"));

const compute = text => { // the columns of the table
  const {tokenizer} = core, ids = tokenizer.encode(text);
  return {
    clean: clean_text(text),
    empty: is_empty(text),
    sentences: split_text(clean_text(text), "de"),
    english: split_text(clean_text(text), "en"),
    words: tokenizer.words(text),
    ids,
    pieces: tokenizer.pieces(ids),
    back: tokenizer.decode(ids),
    unknown: core.words.unknown(text),
  };
};
const translation = s => [...translate(core, {...read_state(""), s})].at(-1)().text;

const table = process.argv[2] ?? new URL(".ci/texts.json", ROOT);
const rows = JSON.parse(fs.readFileSync(table));
for (const {text, output, ...wanted} of rows) {
  const found = compute(text), same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  if (output !== undefined) [found.output, wanted.output] = [translation(text), output];
  for (const key of Object.keys(wanted))
    if (!same(found[key], wanted[key]))
      console.log(`${JSON.stringify(text).slice(0, 80)}: ${key} is `
        + `${JSON.stringify(found[key]).slice(0, 200)}, ${JSON.stringify(wanted[key]).slice(0, 200)} in Python`);
}
