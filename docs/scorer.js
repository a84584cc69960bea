// A section whose heading is the query comes first; pages that only list or mention terms come last.
const ORDER = ["transformer", "attention", "position_encodings", "normalization", "architecture", "learning", "fast", "cache", "losses"];
const LISTS = ["faq", "glossary", "bibliography", "bug_museum", "solutions", "exercises", "all"];
// What stands on many pages, by the page that answers it.
const ANSWERS = {
  "colab": "faq", "mask wrong": "faq", "loss nan": "faq", "fine-tune": "faq", "rope": "positions", "flashattention": "fast",
};
var Scorer = {
  score: ([docname, title, , , score]) => {
    const query = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().trim();
    const heading = title.toLowerCase().split(" > ").pop().trim(), place = ORDER.indexOf(docname);
    if (heading === query) score += 200;
    else if (heading.includes(query)) score += 60;
    if (place >= 0) score += 20 - place;
    if (ANSWERS[query] === docname) return score + 500;
    return LISTS.includes(docname) ? score - 100 : score;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
Search.htmlToText = (html, anchor) => { // excerpts show the text of the article only
  const page = new DOMParser().parseFromString(html, "text/html"), article = page.querySelector("article.bd-article") ?? page.body;
  for (const part of article.querySelectorAll(".headerlink, script, style")) part.remove();
  for (const formula of article.querySelectorAll(".math")) formula.textContent = "…"; // not TeX
  return ((anchor && page.getElementById(anchor.slice(1))) || article).textContent;
};
if (location.protocol === "file:") { // excerpts are read from the pages, which needs a web server
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  addEventListener("DOMContentLoaded", () => {
    const note = "Excerpts of the pages need a web server, such as “python -m http.server” in this folder.";
    document.querySelector("#search-results")?.before(Object.assign(document.createElement("p"), {className: "search-note", textContent: note}));
  });
}
