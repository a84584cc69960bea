// Renders formulas with KaTeX, which only pages with formulas load.
const base = new URL("katex/", document.currentScript.src);

function render() {
  for (const place of document.querySelectorAll(".math")) {
    const tex = place.textContent.trim().replace(/^\\[([]|\\[)\]]$/g, "");
    katex.render(tex, place, {displayMode: place.tagName === "DIV", throwOnError: false, strict: false});
  }
  dispatchEvent(new Event("resize")); // for scroll.js
}

document.head.append(Object.assign(document.createElement("link"), {rel: "stylesheet", href: new URL("katex.min.css", base)}));
window.formulas = new Promise(done => {
  const onload = () => { render(); done(); };
  document.head.append(Object.assign(document.createElement("script"), {src: new URL("katex.min.js", base), onload}));
});
