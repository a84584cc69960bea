// Marks what is wider than the page (data-wide) and what goes on to the right (data-more), for site.css.
const wide = ".bd-article pre, .bd-article .cell_output > .output, .bd-article table, figure.chart, .drawing, div.math";
function mark(box) {
  const hidden = box.scrollWidth - box.clientWidth;
  box.toggleAttribute("data-wide", hidden > 4);
  if (hidden > 4) box.tabIndex = 0; // the arrow keys scroll it
  else box.removeAttribute("tabindex");
  box.toggleAttribute("data-more", hidden - box.scrollLeft > 4);
}

// On a phone, lines of code that are too long can be wrapped, on every page until they are not.
const phone_wide = matchMedia("(max-width: 760px)");
const wraps = {
  get: () => { try { return localStorage.getItem("wrap") === "yes"; } catch { return false; } },
  set: on => { try { localStorage.setItem("wrap", on ? "yes" : "no"); } catch { /* private window */ } },
};

function wrap(on) {
  document.documentElement.toggleAttribute("data-wrap", on && phone_wide.matches);
  for (const button of document.querySelectorAll("button.wrap")) button.textContent = on ? "Do not wrap" : "Wrap lines";
}

function offer(box) { // a hint and a button above code that goes on to the right
  const input = box.closest(".cell_input, .cell_output");
  if (!phone_wide.matches || box.tagName !== "PRE" || !input || input.querySelector("button.wrap")) return;
  if (input.matches(".tag_wrap-output > .cell_output")) return;
  const button = Object.assign(document.createElement("button"), {type: "button", className: "wrap", textContent: "Wrap lines"});
  button.addEventListener("click", () => {
    const before = button.getBoundingClientRect().top;
    wraps.set(!wraps.get());
    wrap(wraps.get());
    scrollBy(0, button.getBoundingClientRect().top - before); // the reader stays at this cell
    soon();
  });
  const line = Object.assign(document.createElement("div"), {className: "swipe"});
  line.append(Object.assign(document.createElement("span"), {textContent: "Swipe →"}), button);
  input.prepend(line); // a cell whose lines fit after all has none
}

function look() {
  const boxes = [...document.querySelectorAll(wide)];
  for (const box of boxes) mark(box);
  for (const box of boxes) if (box.hasAttribute("data-wide")) offer(box);
  for (const line of document.querySelectorAll(".swipe")) line.hidden = !wraps.get() && !line.parentElement.querySelector("pre[data-wide]");
  wrap(wraps.get());
}

let waiting;
const soon = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(look); };
document.addEventListener("scroll", event => { if (event.target.matches?.(wide)) mark(event.target); }, {capture: true, passive: true});
document.addEventListener("toggle", soon, true);
addEventListener("resize", soon);
addEventListener("load", soon);
soon();
// The menu shows the current page, beside the text and in the dialog of a phone.
function showCurrent() {
  const link = document.querySelector(".menu [aria-current]");
  for (let box = link?.parentElement; box; box = box.parentElement) {
    if (box.scrollHeight <= box.clientHeight + 4 || !/auto|scroll/.test(getComputedStyle(box).overflowY)) continue;
    if (box === document.documentElement || box === document.body) return;
    box.scrollTop += link.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
    return;
  }
}
addEventListener("load", showCurrent);
document.addEventListener("click", event => { if (event.target.closest?.(".primary-toggle")) requestAnimationFrame(showCurrent); });
