// "Watch it learn": an encoder-decoder learns to reverse strings, in the page.
import {Adam, Transformer, greedy, rate, rng, tape, train_step} from "./micro.js";

const LETTERS = "abcde", BATCH = 8, WARMUP = 100, LAST = 800, SHOWN = 6;
const FRAME = 24; // milliseconds of training between two pictures

const ids = text => [...text].map(c => 4 + LETTERS.indexOf(c));
const text_of = tokens => tokens.map(token => LETTERS[token - 4] ?? "·").join("");
const backwards = text => [...text].reverse().join("");
export const reversal = text => [[...ids(text), 1], [0, ...ids(backwards(text)), 1]];

export function strings(random) { // all strings of 2 to 4 letters, shuffled: 60 are for the test
  let longer = [""], all = [];
  for (let n = 1; n <= 4; n++) {
    longer = longer.flatMap(text => [...LETTERS].map(c => text + c));
    if (n > 1) all = [...all, ...longer];
  }
  for (let n = all.length - 1; n > 0; n--) {
    const m = Math.floor(random() * (n + 1));
    [all[n], all[m]] = [all[m], all[n]];
  }
  return {test: all.slice(0, 60), train: all.slice(60)};
}

export class Course { // a model, its optimizer and what it has seen
  constructor(seed = 0) {
    this.random = rng(seed);
    Object.assign(this, strings(this.random));
    this.model = new Transformer(4 + LETTERS.length, {random: this.random});
    this.optimizer = new Adam(this.model.parameters());
    this.losses = [];
  }
  get step() { return this.losses.length; }
  update() {
    const draw = () => this.train[Math.floor(this.random() * this.train.length)];
    const pairs = Array.from({length: BATCH}, () => reversal(draw()));
    const lr = rate(this.step + 1, this.model.d_model, WARMUP);
    this.losses.push(train_step(this.model, this.optimizer, pairs, lr));
  }
  write(text) { return text_of(greedy(this.model, [...ids(text), 1], 8)); }
  right(texts = this.test) {
    return texts.filter(text => this.write(text) === backwards(text)).length;
  }
  look(text) { // mean weights of the cross-attention for the correct target: rows are its letters
    const [src, tgt] = reversal(text);
    this.model.decode(this.model.encode(src), tgt.slice(0, -1));
    tape.length = 0;
    const heads = this.model.maps["decoder.layers.0.src_attn"];
    return heads[0].map((row, t) =>
      row.map((_, s) => heads.reduce((sum, head) => sum + head[t][s], 0) / heads.length));
  }
}

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties))
    key in element ? element[key] = value : element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function curve(losses) { // the loss against the updates, each point the mean of ten
  const means = [];
  for (let n = 0; n + 10 <= losses.length; n += 10)
    means.push(losses.slice(n, n + 10).reduce((a, b) => a + b) / 10);
  const top = 2.5, x = n => 30 + 2.5 * n, y = loss => 100 - 38 * Math.min(loss, top);
  const points = means.map((loss, n) => `${x(n)},${y(loss).toFixed(1)}`).join(" ");
  const marks = [0, 1, 2].map(v => `<line x1="30" x2="232" y1="${y(v)}" y2="${y(v)}"
    style="stroke: var(--line)"/><text x="22" y="${y(v) + 4}" text-anchor="end">${v}</text>`);
  return `<svg viewBox="0 0 240 118" width="240" role="img" font-size="11" fill="var(--soft)"
    aria-label="Loss, from ${(means[0] ?? 0).toFixed(2)} to ${(means.at(-1) ?? 0).toFixed(2)}">
    ${marks.join("")}<polyline points="${points}" fill="none" stroke="var(--hue)"
    stroke-width="2"/><text x="232" y="115" text-anchor="end">${LAST} updates</text></svg>`;
}

function grid(weights, text) { // one row for each letter to be written
  const source = [...text, "end"], target = [...backwards(text), "end"];
  const head = make("tr", {}, make("td"), ...source.map(c => make("th", {scope: "col"}, c)));
  const rows = weights.map((row, t) => make("tr", {}, make("th", {scope: "row"}, target[t]),
    ...row.map(w => make("td", {
      style: `background: color-mix(in srgb, var(--hue) ${Math.round(70 * w)}%, transparent)`,
    }, `${Math.round(100 * w)}`))));
  return make("table", {className: "weights"}, head, ...rows);
}

class Learn {
  constructor(root) {
    this.root = root;
    this.go = make("button", {type: "button", className: "go", onclick: () => this.toggle()});
    const again = make("button", {type: "button", onclick: () => this.reset()}, "Start again");
    const one = make("button", {type: "button", onclick: () => this.single()}, "One update");
    this.input = make("input", {
      value: "bead", maxLength: 4, size: 6, spellcheck: false, autocomplete: "off",
      oninput: () => this.draw(true),
    });
    this.status = make("p", {className: "status"});
    this.spoken = make("p", {className: "spoken", role: "status"});
    this.loss = make("div");
    this.table = make("div");
    this.map = make("div");
    const controls = make("div", {className: "controls"}, this.go, one, again,
      make("label", {}, "Your string, 2 to 4 letters from a to e", this.input));
    const figure = (title, body) => make("div", {}, make("p", {className: "title"}, title), body);
    root.replaceChildren(controls, this.status, this.spoken, make("div", {className: "learning"},
      figure("Loss", this.loss), figure("Strings of the test", this.table),
      figure("Where each letter looks, in %", this.map)));
    this.reset();
  }
  reset() {
    this.course = new Course();
    this.tested = this.course.right();
    this.pause();
    this.draw(true);
  }
  pause() {
    this.running = false;
    this.go.textContent = this.course.step ? "Go on" : "Start";
  }
  toggle() {
    if (this.running || this.course.step >= LAST) return this.pause();
    this.running = true;
    this.go.textContent = "Pause";
    requestAnimationFrame(() => this.frame());
  }
  single() {
    if (this.course.step < LAST) this.course.update();
    this.pause();
    this.draw(true);
  }
  frame() {
    if (!this.running || !this.root.isConnected) return;
    const start = performance.now();
    while (performance.now() - start < FRAME && this.course.step < LAST) {
      this.course.update();
      if (this.course.step % 50 === 0) this.test();
    }
    if (this.course.step >= LAST) this.pause();
    this.draw(!this.running);
    if (this.running) requestAnimationFrame(() => this.frame());
  }
  test() { // spoken once for two hundred updates
    this.tested = this.course.right();
    const {step} = this.course;
    if (step % 200 === 0)
      this.spoken.textContent = `${step} updates, ${this.tested} of 60 strings right`;
  }
  draw(now) {
    const {course} = this, stale = performance.now() - (this.drawn ?? 0) > 200;
    if (!now && !stale) return;
    this.drawn = performance.now();
    const loss = course.losses.length ? `, loss ${course.losses.at(-1).toFixed(2)}` : "";
    this.status.textContent =
      `${course.step} updates${loss}; ${this.tested} of 60 test strings are right.`;
    this.loss.innerHTML = curve(course.losses);
    this.table.replaceChildren(make("table", {}, ...course.test.slice(0, SHOWN).map(text => {
      const out = course.write(text), right = out === backwards(text);
      return make("tr", {}, make("td", {}, text), make("td", {}, "→"),
        make("td", {}, out || "–"), make("td", {}, right ? "✓" : ""));
    })));
    const own = this.input.value.toLowerCase();
    const fits = /^[a-e]{2,4}$/.test(own);
    this.input.setAttribute("aria-invalid", String(!fits));
    const text = fits ? own : "bead";
    this.map.replaceChildren(grid(course.look(text), text),
      make("p", {className: "hint"}, `${text} → ${course.write(text) || "–"}`));
  }
}

if (typeof document !== "undefined")
  for (const root of document.querySelectorAll("[data-learn]")) new Learn(root);
