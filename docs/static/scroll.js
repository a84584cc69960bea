// Marks what is wider than the page (data-wide) and what goes on to the right (data-more), for site.css.
const wide = ".bd-article pre, .bd-article .cell_output > .output, .bd-article table, figure.chart, .drawing, div.math";
function mark(box) {
  const hidden = box.scrollWidth - box.clientWidth;
  box.toggleAttribute("data-wide", hidden > 4);
  if (hidden > 4) box.tabIndex = 0; // the arrow keys scroll it
  else box.removeAttribute("tabindex");
  box.toggleAttribute("data-more", hidden - box.scrollLeft > 4);
}

function look() { for (const box of document.querySelectorAll(wide)) mark(box); }

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
