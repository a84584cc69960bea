// Draws each stored chart in the colours of the page, and anew when they change.
const theme = () => document.documentElement.dataset.theme;
const night = {
  background: "transparent", axis: {labelColor: "#ccc", titleColor: "#ccc", gridColor: "#3a3a3a", domainColor: "#888", tickColor: "#888"},
  legend: {labelColor: "#ccc", titleColor: "#ccc"}, title: {color: "#ddd"}, header: {labelColor: "#ccc", titleColor: "#ccc"}, text: {color: "#ccc"},
};

async function draw(figure) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  spec.$schema = "https://vega.github.io/schema/vega-lite/v6.json";
  if (theme() === "dark") {
    for (const [part, look] of Object.entries(night)) spec.config[part] = typeof look === "string" ? look : {...spec.config[part], ...look};
    spec.config.range.category = spec.config.range.category.map(colour => colour === "#000000" ? "#eeeeee" : colour);
  }
  const plot = figure.querySelector(".plot") ?? figure.appendChild(Object.assign(document.createElement("div"), {className: "plot"}));
  await vegaEmbed(plot, spec, {actions: false, renderer: "svg"});
  const svg = plot.querySelector("svg"), width = +svg.getAttribute("width"); // small ones fit any screen, wide ones scroll before they are too small to read
  if (width > 620) svg.style.minWidth = `${0.8 * width}px`;
}

const figures = document.querySelectorAll("figure.chart");
let drawn = theme();
const all = () => figures.forEach(draw);
if (figures.length) {
  const vega = Object.assign(document.createElement("script"), {src: new URL("vega.js", document.currentScript.src), onload: all});
  document.head.append(vega);
  new MutationObserver(() => { if (theme() !== drawn) { drawn = theme(); if (window.vegaEmbed) all(); } })
    .observe(document.documentElement, {attributeFilter: ["data-theme"]});
}
