// Draws each stored chart, in the colours of the page, anew when they change.
const dark = () => document.documentElement.dataset.theme === "dark";
const night = {
  background: "transparent", axis: {labelColor: "#ccc", titleColor: "#ccc", gridColor: "#3a3a3a", domainColor: "#888", tickColor: "#888"},
  legend: {labelColor: "#ccc", titleColor: "#ccc"}, title: {color: "#ddd"}, header: {labelColor: "#ccc", titleColor: "#ccc"}, text: {color: "#ccc"},
};

function draw(figure) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  spec.$schema = "https://vega.github.io/schema/vega-lite/v6.json";
  if (dark()) for (const [part, look] of Object.entries(night))
    spec.config[part] = typeof look === "string" ? look : {...spec.config[part], ...look};
  if (dark()) spec.config.range.category = spec.config.range.category.map(colour => colour === "#000000" ? "#eeeeee" : colour);
  const plot = figure.querySelector(".plot") ?? figure.appendChild(Object.assign(document.createElement("div"), {className: "plot"}));
  return vegaEmbed(plot, spec, {actions: false, renderer: "svg"});
}

const all = () => document.querySelectorAll("figure.chart").forEach(draw);
all();
new MutationObserver(all).observe(document.documentElement, {attributeFilter: ["data-theme"]});
