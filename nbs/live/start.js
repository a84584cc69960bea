// Starts the translator of a page. Browsers load its modules and its model from a web server only.
(() => {
  const {src} = document.currentScript;
  if (location.protocol !== "file:") {
    const module = {type: "module", src: new URL("live.js", src)};
    document.head.append(Object.assign(document.createElement("script"), module));
    return;
  }
  for (const root of document.querySelectorAll("[data-live]:not([data-stored])")) {
    root.dataset.stored = ""; // it keeps its stored example
    const text = "This is a stored example: a translation needs a web server, "
      + "such as “python -m http.server” in this folder.";
    const note = {className: "status", textContent: text};
    root.append(Object.assign(document.createElement("p"), note));
  }
})();
