// Marks what can be scrolled to the right, so that site.css fades its right edge.
const wide = ".bd-article pre, .bd-article .cell_output > .output, .bd-article table, figure.chart, .drawing, div.math";
const mark = box => box.toggleAttribute("data-more", box.scrollWidth - box.clientWidth - box.scrollLeft > 4);

function look() { for (const box of document.querySelectorAll(wide)) mark(box); }

let waiting;
const soon = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(look); };
document.addEventListener("scroll", event => { if (event.target.matches?.(wide)) mark(event.target); }, {capture: true, passive: true});
document.addEventListener("toggle", soon, true);
addEventListener("resize", soon);
addEventListener("load", soon);
soon();
