// Back and Forward among views of the grid. htmx tells that a view is wanted which it has not kept (it keeps none);
// the whole page of that address is then fetched and its grid put in place. A step that is overtaken by the next one
// is dropped, so that address and grid never differ.
(function () {
  "use strict";
  let latest = null;

  document.addEventListener("htmx:historyCacheMiss", function (event) {
    const area = document.querySelector(".grid-area");
    if (!area) return;
    event.preventDefault(); // htmx would swap in whatever answer comes last
    if (latest) latest.abort();
    latest = new AbortController();
    restore(area, latest.signal);
  });

  async function restore(area, signal) {
    try {
      const answer = await fetch(location.href, { signal, headers: { Accept: "text/html" } });
      const text = await answer.text();
      const page = new DOMParser().parseFromString(text, "text/html");
      const next = page.querySelector(".grid-area");
      if (!answer.ok || !next) throw new Error("no grid at this address");
      document.title = page.title;
      area.replaceWith(next);
      htmx.process(next);
      document.dispatchEvent(new CustomEvent("hud:replaced"));
    } catch (error) {
      if (error.name !== "AbortError") location.reload();
    }
  }
})();
