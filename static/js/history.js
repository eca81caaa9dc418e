// Back and Forward among views of a page: what changes with the address is marked with data-view and has an id. htmx
// tells that a view is wanted which it has not kept (it keeps none); the whole page of that address is then fetched and
// its view put in place. Of steps and of questions that are under way at the same time the last one counts, and the
// others are dropped, so that address and view never differ: htmx sets the address also where its target has gone.
(function () {
  "use strict";
  let latest = null; // the step whose page is being fetched
  let asked = null; // htmx's newest question of the view

  document.addEventListener("htmx:historyCacheMiss", function (event) {
    const view = document.querySelector("[data-view]");
    if (!view) return;
    event.preventDefault(); // htmx would swap in whatever answer comes last
    drop();
    if (asked) asked.abort();
    latest = new AbortController();
    restore(view.id, latest.signal);
  });
  document.addEventListener("htmx:beforeRequest", function (event) {
    if (event.detail.elt.closest("[data-view]")) asked = event.detail.xhr;
  });
  // Another link was followed meanwhile, and its answer is in place.
  document.addEventListener("htmx:pushedIntoHistory", drop);
  document.addEventListener("htmx:replacedInHistory", drop);

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
      if (asked) asked.abort(); // its target has gone with the view
      htmx.process(next);
      document.dispatchEvent(new CustomEvent("hud:replaced"));
    } catch (error) {
      if (error.name !== "AbortError") location.reload();
    }
  }
})();
