// Folds tests, answers and cells that only draw; one switch in the header opens everything and is remembered.
// Without scripts everything is open.
const stored = {
  get: () => { try { return localStorage.getItem("open-all") === "yes"; } catch { return false; } },
  set: open => { try { localStorage.setItem("open-all", open ? "yes" : "no"); } catch { /* private window */ } },
};

function folded(label, kind, nodes) {
  const details = Object.assign(document.createElement("details"), {className: `fold ${kind}`});
  details.append(Object.assign(document.createElement("summary"), {textContent: label}));
  nodes[0].before(details);
  details.append(...nodes);
  return details;
}

function code_of(cell) { // named after its figure, see bridge.py
  const [, kind, number] = cell.className.match(/tag_of-(figure|table)-(\d+)/) ?? [];
  return kind ? `Code of ${kind[0].toUpperCase()}${kind.slice(1)} ${number}` : "Code";
}

const folds = [...document.querySelectorAll(".bd-article details:not(.live *)")]; // answers
for (const input of document.querySelectorAll("div.cell.tag_fold-input > .cell_input"))
  folds.push(folded(code_of(input.parentElement), "fold-code", [input]));

const tests = document.querySelector("section#tests");
if (tests) {
  const cells = tests.querySelectorAll("div.cell").length, content = [...tests.children].slice(1);
  if (content.length) folds.push(folded(cells === 1 ? "1 test" : `${cells} tests`, "fold-tests", content));
  else tests.hidden = true; // all of them are hidden cells
}

function show(open) { for (const fold of folds) fold.open = open; }

function target() {
  try { return document.getElementById(decodeURIComponent(location.hash.slice(1))); }
  catch { return null; } // an address with a percent sign that encodes nothing
}
function reveal() { for (let at = target(); at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true; }

if (folds.length) {
  const make = () => {
    const button = Object.assign(document.createElement("button"), {type: "button", className: "btn btn-sm fold-switch"});
    button.addEventListener("click", () => { stored.set(!stored.get()); show(stored.get()); label(); });
    return button;
  };
  const buttons = [make(), make()];
  document.querySelector(".article-header-buttons")?.prepend(buttons[0]); // wide
  const first = document.querySelector(".bd-article section > section") ?? document.querySelector(".bd-article p ~ *"); // phone: after the introduction
  if (first) first.before(buttons[1]);
  const label = () => {
    for (const button of buttons) {
      button.textContent = stored.get() ? "Fold all" : "Unfold all";
      button.setAttribute("aria-pressed", stored.get());
    }
  };
  show(stored.get());
  label();
  reveal();
  addEventListener("hashchange", reveal);
}
