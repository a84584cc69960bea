// Sentences that each bug and each edit of the live page breaks: node .ci/live_breaks.mjs [FOLDER] [--all] [SENTENCES.txt]
// For each change the first example sentence with another translation, with --all every one. The sentences are those of
// nbs/live/phrases.json for the model, or the lines of a file. Fails where a change breaks none: choose other sentences.
import fs from "node:fs";
import path from "node:path";
globalThis.matchMedia ??= () => ({matches: false});
globalThis.navigator ??= {};
globalThis.document ??= {querySelectorAll: () => []};
const ROOT = new URL("../", import.meta.url), LIVE = new URL("nbs/live/", ROOT).href;
const {read_state, translate} = await import(LIVE + "live.js");
const {direction, open_model} = await import(LIVE + "models.js");
const {BUGS} = await import(LIVE + "edits.js");
const args = process.argv.slice(2), all = args.includes("--all");
const [folder = new URL("annotated_transformer/pocket_model", ROOT).pathname, list] = args.filter(arg => arg !== "--all");
const file = name => fs.readFileSync(path.join(folder, name)), json = name => JSON.parse(file(name));
const core = await open_model(
  file("model.safetensors"), json("tokenizer.json"), json("config.json"), json("MANIFEST.json"));
const phrases = JSON.parse(fs.readFileSync(new URL("phrases.json", LIVE)));
const own = path.basename(folder) === "pocket_model" ? phrases.pocket : phrases[direction(core).from];
const sentences = list ? fs.readFileSync(list, "utf8").split("\n").filter(Boolean)
  : [...new Set([...own.more ?? [], ...own.chips])];

const known = new Map();
function text_of(s, change = {}) {
  const key = JSON.stringify([s, change]);
  if (!known.has(key)) known.set(key, [...translate(core, {...read_state(""), s, ...change})].at(-1)().text);
  return known.get(key);
}
const {N, N_decoder = N} = core.config, stack = (name, size) => [...Array(size ?? N).keys()].map(n => `${name}.layers.${n}`);
const changes = [
  ["Positions removed", {positions: false}],
  ...[...stack("encoder", N), ...stack("decoder", N_decoder)].map(name => [`${name} removed`, {layers: [name]}]),
  ...BUGS.map(({title}) => [`Bug: ${title}`, {bug: title}])];
let failed = 0;
for (const [title, change] of changes) {
  const broken = [];
  for (const s of sentences) {
    if (text_of(s) !== text_of(s, change)) broken.push(s);
    if (broken.length && !all) break;
  }
  failed += !broken.length;
  console.log(`${title}: ${all ? `${broken.length} of ${sentences.length}` : broken.length ? "breaks" : "breaks none"}`);
  for (const s of broken) console.log(`  ${s} → ${text_of(s)} | ${text_of(s, change)}`);
}
console.log(`${changes.length - failed} of ${changes.length} changes break a sentence`);
process.exit(failed ? 1 : 0);
