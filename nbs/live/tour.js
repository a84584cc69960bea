// Ten steps through one translation; each sets the state of the page, the rest is as at the start.
// A step that seeks shows another sentence where its change leaves the translation as it is.
const CROSS = {tab: "attention", head: -1, at: 6};
const step = (title, text, anchor, state, seeks = false) =>
  ({title, text, link: `transformer.html#${anchor}`, state, seeks});

export const TOUR = [
  step("Tokens",
    "The tokenizer splits the sentence into pieces; </s> marks its end. The left column shows " +
    "the source, the right column the translation, which the decoder generates from top to bottom.",
    "the-problem", CROSS),
  step("Embeddings and positions",
    "Each token is a row of a table, multiplied by √D. A positional encoding is added, because " +
    "attention does not see the order of its inputs.",
    "positional-encoding", {tab: "vectors", at: 5}),
  step("Attention",
    "A query is compared with every key. The products are divided by √d_k, and the softmax turns " +
    "them into weights that sum to 1.",
    "attention", {tab: "steps", module: "encoder.layers.0.self_attn", head: 0, at: 2}),
  step("Heads",
    "Every layer has several heads with projections of their own, so each can attend to other " +
    "tokens.",
    "multi-head-attention", {tab: "maps", module: "encoder.layers.1.self_attn", head: 0}),
  step("Causal mask",
    "In the decoder a token must not see later ones. Their scores become −∞, their weights 0.",
    "masks", {tab: "steps", module: "decoder.layers.0.self_attn", head: 0, at: 2}),
  step("Cross-attention",
    "The decoder's queries attend to the encoder's outputs: to generate a word, the decoder " +
    "reads the source words that it needs, wherever they stand.",
    "encoder-and-decoder", {...CROSS, gold: true}),
  step("Logits and probabilities",
    "The last hidden state gives one logit per token. Temperature, top-k and top-p decide which " +
    "tokens can be sampled.",
    "embeddings-and-output-projection", {tab: "probabilities", at: 6, temperature: 1.5}),
  step("Greedy and beam search",
    "Greedy search keeps the best token of each step. Beam search keeps several hypotheses and " +
    "compares them by their normalized log-probability.",
    "greedy-decoding", {tab: "beam", beam: 4}),
  step("Positions removed",
    "Without the positional encoding the encoder sees a set of words. Who does what to whom?",
    "positional-encoding", {tab: "change", positions: false}, true),
  step("A bug",
    "One of ten bugs is in the model. Shapes and types are right, the translation is not. " +
    "Choose the cause below.",
    "attention", {tab: "bug", bug: "Queries and keys exchanged"}, true),
];
