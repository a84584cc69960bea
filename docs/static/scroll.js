// Marks what is wider than the page (data-wide) and what goes on to the right (data-more), for site.css.
const wide = ".bd-article pre, .bd-article .cell_output > .output, .bd-article table, figure.chart, .drawing, div.math";
function mark(box) {
  const hidden = box.scrollWidth - box.clientWidth;
  box.toggleAttribute("data-wide", hidden > 4);
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
