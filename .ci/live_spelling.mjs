// The spelling step of nbs/live beside Python's: node .ci/live_spelling.mjs TABLE.json
// The table holds a model of the package, and for each text what Python reads, for some also its translation;
// this prints what differs.
import fs from "node:fs";
globalThis.matchMedia ??= () => ({matches: false});
globalThis.navigator ??= {};
globalThis.document ??= {querySelectorAll: () => []};
const ROOT = new URL("../", import.meta.url), LIVE = new URL("nbs/live/", ROOT).href;
const {read_state, translate} = await import(LIVE + "live.js");
const {open_model} = await import(LIVE + "models.js");
const {model, rows} = JSON.parse(fs.readFileSync(process.argv[2]));
const file = name => fs.readFileSync(new URL(`annotated_transformer/${model}/${name}`, ROOT));
const json = name => JSON.parse(file(name));
const core = await open_model(
  file("model.safetensors"), json("tokenizer.json"), json("config.json"), json("MANIFEST.json"),
  file("known_words.safetensors"));
for (const {text, ...wanted} of rows) {
  const [read, restored] = core.spelling?.restore(text) ?? [text, new Map()];
  const found = {read, restored: [...restored], ids: core.tokenizer.encode(read)};
  if (wanted.output) found.output = [...translate(core, {...read_state(""), s: text})].at(-1)().text;
  for (const key of Object.keys(wanted))
    if (JSON.stringify(found[key]) !== JSON.stringify(wanted[key]))
      console.log(`${text.slice(0, 80)}: ${key} is ${JSON.stringify(found[key])}, not ${JSON.stringify(wanted[key])}`);
}
