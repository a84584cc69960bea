// Draws each stored chart when the reader comes near, in the colors of the page and for the width of the screen.
const script = document.currentScript.src, figures = [...document.querySelectorAll("figure.chart")];
const dark = () => document.documentElement.dataset.theme === "dark";
const phone = matchMedia("(max-width: 700px)");
const text = () => (phone.matches ? {labelFontSize: 13, titleFontSize: 13} : {labelFontSize: 12, titleFontSize: 12});
const night = {
  background: "transparent", axis: {labelColor: "#ccc", titleColor: "#ccc", gridColor: "#333", domainColor: "#777", tickColor: "#777"},
  legend: {labelColor: "#ccc", titleColor: "#ccc"}, title: {color: "#ddd"}, header: {labelColor: "#ccc", titleColor: "#ccc"}, text: {color: "#ccc"},
};
const inks = {"#000000": "#eee", "#000": "#eee", black: "#eee", "#222": "#ddd", "#333": "#ccc", "#444": "#bbb", "#555": "#bbb", "#666": "#aaa", "#777": "#999", "#bbb": "#555"};

function merge(config, looks) {
  for (const [part, look] of Object.entries(looks)) config[part] = typeof look === "string" ? look : {...config[part], ...look};
}

function each(node, change) { // every object inside a specification, data apart
  if (!node || typeof node !== "object") return;
  if (!Array.isArray(node)) change(node);
  for (const [key, value] of Object.entries(node)) if (!["data", "datasets"].includes(key)) each(value, change);
}

const wrapped = (title, width) => title.match(new RegExp(`.{1,${Math.max(12, Math.floor(width / 7))}}(?=\\s|$)\\S*`, "g")).map(line => line.trim());

function legendsBelow(spec, room, columns = 2) {
  merge(spec.config, {legend: {orient: "bottom", columns, titleLimit: room, labelLimit: room / columns, gradientLength: 120, direction: "horizontal"}});
  each(spec, part => { if (part.legend?.orient && !["none", "bottom"].includes(part.legend.orient)) part.legend.orient = "bottom"; });
}

function narrow(spec, room, columns) { // panels below each other, titles in lines, curves as wide as the screen
  legendsBelow(spec, room, columns);
  each(spec, part => {
    if (part.hconcat) { part.vconcat = part.hconcat; delete part.hconcat; }
    if (part.concat) part.columns = Math.max(1, Math.floor(room / ((part.concat[0].width ?? 150) + 90)));
    if (part.facet && part.columns) part.columns = Math.max(1, Math.floor((room - 30) / ((part.spec.width ?? 150) + 20))); // one y axis for all
    if (typeof part.title === "string" && (part.mark || part.layer || part.concat || part.vconcat)) part.title = wrapped(part.title, room);
    const first = part.layer?.[0] ?? part, x = part.encoding?.x ?? first.encoding?.x;
    const bars = (first.mark?.type ?? first.mark) === "bar" && x?.type === "nominal";
    if (bars && part.width < room / 2) part.width = Math.round(Math.min(room - 90, 2 * part.width)); // room for the names
    const curve = ["line", "point", "area", "circle"].includes(first.mark?.type ?? first.mark);
    if (curve && part.width > room - 90 && x?.type === "quantitative") part.width = Math.max(180, room - 90);
  });
}

function shrink(spec, pixels) { // what is a little too wide; cells of heat maps stay square
  each(spec, part => {
    if (!(part.width > 150) || part.width - pixels < 120) return;
    const map = (part.mark?.type ?? part.mark) === "rect", ratio = (part.width - pixels) / part.width;
    if (map && part.height > 0) part.height = Math.round(part.height * ratio);
    part.width = Math.floor(part.width - pixels);
  });
}

let library; // loaded once, by the first chart that comes near
const vega = () => library ??= new Promise((done, fail) => {
  document.head.append(Object.assign(document.createElement("script"), {src: new URL("vega.js", script), onload: done, onerror: fail}));
});

async function draw(figure, below = false, tries = 0, less = 0) {
  await vega();
  const spec = JSON.parse(figure.querySelector("script").textContent), article = document.querySelector(".bd-article").clientWidth - 20;
  const room = phone.matches ? figure.clientWidth ? Math.min(article, figure.clientWidth - 16) : article : article;
  spec.description = figure.getAttribute("aria-label"); // what a screen reader says
  spec.$schema = "https://vega.github.io/schema/vega-lite/v6.json";
  const size = text(), least_size = size.labelFontSize;
  merge(spec.config, {axis: {...size, labelSeparation: 6}, legend: size, header: size}); // labels closer than this are left out
  each(spec, part => { for (const key of ["fontSize", "labelFontSize", "titleFontSize"]) if (part[key] < least_size) part[key] = least_size; });
  if (phone.matches) narrow(spec, room, tries ? 1 : 2);
  if (less) shrink(spec, less);
  else if (below) legendsBelow(spec, room);
  if (dark()) {
    merge(spec.config, night);
    spec.config.range.category = spec.config.range.category.map(color => inks[color] ?? color);
    each(spec, part => { for (const key of ["color", "fill", "stroke", "value"]) if (inks[part[key]]) part[key] = inks[part[key]]; });
  }
  const plot = figure.querySelector(".plot") ?? figure.appendChild(Object.assign(document.createElement("div"), {className: "plot"}));
  await vegaEmbed(plot, spec, {actions: false, renderer: "svg"});
  const svg = plot.querySelector("svg"), least = 0.92 * svg.getAttribute("width"); // labels of 13 px stay at 12, those of 12 at 11
  if (least > room && !below && !phone.matches) return draw(figure, true);
  const over = least - room;
  if (over > 0 && over < 80 && phone.matches && tries < 2) return draw(figure, below, tries + 1, tries && over / 0.92 + 1); // first the legend in one column
  svg.style.minWidth = `${least}px`; // what is wider scrolls
  figure.style.minHeight = "";
  dispatchEvent(new Event("resize")); // for scroll.js
}

window.showCharts = () => Promise.all(figures.map(figure => figure.drawing ??= draw(figure)));
const again = () => { for (const figure of figures) if (figure.drawing) figure.drawing = draw(figure); };

const near = new IntersectionObserver(entries => {
  for (const {isIntersecting, target} of entries) if (isIntersecting) target.drawing ??= draw(target);
}, {rootMargin: "800px"});
figures.forEach(figure => near.observe(figure));
phone.addEventListener("change", again);
let shown = dark();
new MutationObserver(() => { if (dark() !== shown) { shown = dark(); again(); } }).observe(document.documentElement, {attributeFilter: ["data-theme"]});

let theme; // paper is light
addEventListener("beforeprint", () => { // charts that are not drawn print their stored pictures
  theme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  for (const figure of figures.filter(figure => !figure.drawing)) figure.insertAdjacentHTML("beforeend", `<div class="print">${figure.querySelector("noscript").textContent}</div>`);
});
addEventListener("afterprint", () => {
  document.documentElement.dataset.theme = theme;
  document.querySelectorAll("figure.chart .print").forEach(picture => picture.remove());
});
