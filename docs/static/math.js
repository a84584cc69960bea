// Renders formulas with KaTeX, which only pages with formulas load.
const base = new URL("katex/", document.currentScript.src);

function keepMark(place) { // on the line of its formula
  const after = place.nextSibling, mark = after?.nodeType === Node.TEXT_NODE && after.data.match(/^[).,;:!?]+/);
  if (!mark) return;
  const line = Object.assign(document.createElement("span"), {style: "white-space: nowrap"});
  place.before(line);
  line.append(place, mark[0]);
  after.data = after.data.slice(mark[0].length);
}

function render() {
  for (const place of document.querySelectorAll(".math")) {
    const tex = place.textContent.trim().replace(/^\\[([]|\\[)\]]$/g, "");
    katex.render(tex, place, {displayMode: place.tagName === "DIV", throwOnError: false, strict: false});
    if (place.tagName === "SPAN" && tex.length < 20) keepMark(place);
  }
  dispatchEvent(new Event("resize")); // for scroll.js
}

document.head.append(Object.assign(document.createElement("link"), {rel: "stylesheet", href: new URL("katex.min.css", base)}));
window.formulas = new Promise(done => {
  const onload = () => { render(); done(); };
  document.head.append(Object.assign(document.createElement("script"), {src: new URL("katex.min.js", base), onload}));
});
