// Back and Forward among views of a page: what changes with the address is marked with data-view and has an id. htmx
// tells that a view is wanted which it has not kept (it keeps none); the whole page of that address is then fetched and
// its view put in place. A step that is overtaken by the next one is dropped, so that address and view never differ.
(function () {
  "use strict";
  let latest = null;

  document.addEventListener("htmx:historyCacheMiss", function (event) {
    const view = document.querySelector("[data-view]");
    if (!view) return;
    event.preventDefault(); // htmx would swap in whatever answer comes last
    drop();
    latest = new AbortController();
    restore(view.id, latest.signal);
  });
  // Another link was followed meanwhile, and its answer is in place.
  document.addEventListener("htmx:pushedIntoHistory", drop);

  function drop() {
    if (latest) latest.abort();
    latest = null;
  }

  async function restore(id, signal) {
    try {
      const answer = await fetch(location.href, { signal, headers: { Accept: "text/html" } });
      const text = await answer.text();
      const page = new DOMParser().parseFromString(text, "text/html");
      const now = document.getElementById(id);
      const next = page.getElementById(id);
      if (!answer.ok || !now || !next) throw new Error("no such view at this address");
      document.title = page.title;
      now.replaceWith(next);
      htmx.process(next);
      document.dispatchEvent(new CustomEvent("hud:replaced"));
    } catch (error) {
      if (error.name !== "AbortError") location.reload();
    }
  }
})();
