// Models that the page can run: which there are, and how their folders are read.
import * as T from "./transformer.js";
import {SubwordTokenizer} from "./tokenizer.js";
import {
  check_about, check_hashes, check_saved, check_sizes, languages, read_body} from "./files.js";
import {spelling_of} from "./spelling.js";
import {WORDS, WordSet} from "./unknown.js";

export const here = name => new URL(name, import.meta.url);
const WEIGHTS = "model.safetensors", MANIFEST = "MANIFEST.json";
const FILES = [WEIGHTS, "tokenizer.json", "config.json"];
const POCKET = {
  name: "pocket", folder: "pocket_model", pair: "de-en", bytes: 1_751_811, example: "example.json"};

export async function list_models() { // the first is shown; .ci/live_models.py writes the list
  const response = await fetch(here("models.json"));
  return response.ok ? response.json() : [POCKET];
}

const names = new Intl.DisplayNames(["en"], {type: "language"});
function language(code) {
  try { return names.of(code); }
  catch { return code; } // a code that is no language of this browser
}
export function direction({pair}) { // codes and names of both sides
  const [from, to] = languages(pair);
  return {from, to, source: language(from), target: language(to)};
}
export const megabytes = n => (n / 1e6).toFixed(1);
export function loading_text(read, total) {
  const all = read < total ? ` of ${megabytes(total)}` : "";
  return `Loading the model: ${megabytes(read)}${all} MB …`;
}

// raises what does not fit
export async function open_model(buffer, merges, about, manifest, known_words) {
  check_about(about);
  const tokenizer = new SubwordTokenizer(merges), weights = T.read_weights(buffer);
  const words = known_words && new WordSet(known_words);
  const {pair = "de-en", confidence} = about.about;
  const core = {weights, tokenizer, config: about.model, words, pair, confidence};
  core.spelling = spelling_of(core, about.about);
  T.make_model(weights, core.config);
  check_sizes(core);
  await check_hashes(buffer, merges, manifest);
  if (words) await check_saved(WORDS, known_words, manifest);
  return core;
}

async function read_model(bytes, known) { // bytes: of a file name; known: of the manifest
  const json = async name => {
    const text = new TextDecoder().decode(await bytes(name));
    try { return JSON.parse(text); }
    catch { throw new Error(`${name}: it is not JSON.`); }
  };
  const manifest = json(MANIFEST).then(manifest => {
    known?.(manifest);
    return manifest;
  });
  const words = manifest.then(one => one?.files?.[WORDS] && bytes(WORDS)); // older folders: none
  return open_model(...await Promise.all(
    [bytes(FILES[0]), json(FILES[1]), json(FILES[2]), manifest, words]));
}

async function load_files(folder, watchers) {
  let read = 0, total = 0;
  const report = n => {
    read += n;
    for (const watch of watchers) watch(read, total);
  };
  const bytes = async name => {
    const response = await fetch(here(`${folder}/${name}`));
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    return read_body(response, report);
  };
  return read_model(bytes, manifest => {
    for (const name of [...FILES, WORDS]) total += manifest?.files?.[name]?.bytes || 0;
  });
}

const loading = new Map(); // name -> [promise, watchers]: one copy for all forms of a page
export async function load({name, folder}, watch = () => {}) { // watch: of (bytes read, of all)
  const watchers = loading.get(name)?.[1] ?? new Set();
  watchers.add(watch);
  if (!loading.has(name)) loading.set(name, [load_files(folder, watchers), watchers]);
  try { return await loading.get(name)[0]; }
  catch (error) {
    loading.delete(name);
    throw error;
  } finally { watchers.delete(watch); }
}

export function open_folder(files) { // File objects of one saved model
  const of = new Map(Array.from(files, file => [file.name, file]));
  return read_model(async name => {
    if (!of.has(name)) throw new Error(`${name}: the folder has no such file.`);
    return of.get(name).arrayBuffer();
  });
}
