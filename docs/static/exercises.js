// Exercises without code: choices and orders with feedback, progress kept in this browser, and a search in a list of folds.
// Without scripts a question is a list and its answer a fold.
const article = document.querySelector(".bd-article");
const place = `exercises ${location.pathname}`;

const solved = {
  get: () => { try { return new Set(JSON.parse(localStorage.getItem(place) ?? "[]")); } catch { return new Set(); } },
  set: names => { try { localStorage.setItem(place, JSON.stringify([...names])); } catch { /* private window */ } },
};

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function listBefore(fold) {
  let at = fold.previousElementSibling;
  while (at && !["UL", "OL"].includes(at.tagName)) at = at.previousElementSibling;
  return at;
}

const answers = fold => [...fold.querySelectorAll(":scope > ol > li, :scope > div > ol > li")];
const clean = element => element.textContent.replace(/\s+/g, " ").trim();

function judge(verdict, right, ...content) {
  verdict.className = `verdict ${right ? "right" : "wrong"}`;
  verdict.replaceChildren(...content);
}

function done(fold) {
  solved.set(solved.get().add(fold.id));
  count();
}

function choice(fold) { // the reason of each option stands in the answer, at the same number
  const items = [...listBefore(fold).children], reasons = answers(fold);
  const verdict = make("div", {role: "status"});
  fold.before(verdict);
  items.forEach((item, i) => {
    const button = make("button", {type: "button", className: "option"}, ...item.childNodes);
    const right = clean(reasons[i]).startsWith("Right");
    button.addEventListener("click", () => {
      for (const other of items) other.firstElementChild.setAttribute("aria-pressed", other === item);
      item.firstElementChild.classList.add(right ? "right" : "wrong");
      judge(verdict, right, ...reasons[i].cloneNode(true).childNodes);
      if (right) done(fold);
    });
    button.setAttribute("aria-pressed", "false");
    item.replaceChildren(button);
  });
  items[0].parentElement.classList.add("options");
}

function order(fold) { // the answer holds the same steps in their order
  const list = listBefore(fold), wanted = answers(fold).map(clean);
  const verdict = make("div", {role: "status"});
  const texts = new Map([...list.children].map(item => [item, clean(item)]));
  for (const [item, text] of texts) {
    const move = (sign, name, step) => {
      const button = make("button", {type: "button", className: "move", textContent: sign});
      button.setAttribute("aria-label", `${name}: ${text}`);
      button.addEventListener("click", () => {
        const other = step < 0 ? item.previousElementSibling : item.nextElementSibling;
        if (other) other[step < 0 ? "before" : "after"](item);
        button.focus();
      });
      return button;
    };
    item.prepend(move("↑", "Up", -1), move("↓", "Down", 1));
  }
  const check = make("button", {type: "button", className: "btn btn-sm check", textContent: "Check the order"});
  check.addEventListener("click", () => {
    const now = [...list.children].map(item => texts.get(item));
    const first = now.findIndex((text, i) => text !== wanted[i]);
    const words = first < 0 ? "Right." : first === 0 ? "The first step is not in its place." : `The first ${first} in place; step ${first + 1} is not.`;
    judge(verdict, first < 0, words);
    if (first < 0) done(fold);
  });
  list.classList.add("steps");
  fold.before(check, verdict);
}

const questions = [...article?.querySelectorAll("details.choice, details.order") ?? []];
const counter = article?.querySelector("p.solved");

function count() {
  if (!counter) return;
  const names = solved.get(), right = questions.filter(fold => names.has(fold.id)).length;
  const again = make("button", {type: "button", className: "btn btn-sm", textContent: "Start again"});
  again.addEventListener("click", () => { solved.set([]); location.reload(); });
  counter.replaceChildren(`${right} of ${questions.length} right in this browser. `, ...(right ? [again] : []));
  for (const fold of questions) fold.classList.toggle("is-solved", names.has(fold.id));
}

for (const fold of questions) (fold.classList.contains("choice") ? choice : order)(fold);
count();

for (const line of article?.querySelectorAll("p.filter") ?? []) {
  const items = [...article.querySelectorAll(line.dataset.items)].filter(item => line.compareDocumentPosition(item) & 4 && !item.closest("section#tests"));
  const texts = items.map(item => clean(item).toLowerCase());
  const input = make("input", {type: "search", placeholder: line.dataset.example, id: "filter"});
  const result = make("span", {role: "status"});
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    items.forEach((item, i) => { item.hidden = !words.every(word => texts[i].includes(word)); });
    result.textContent = words.length ? ` ${items.filter(item => !item.hidden).length} of ${items.length}` : "";
  });
  line.replaceChildren(make("label", {htmlFor: "filter", textContent: `${line.dataset.label} `}), input, result);
}
