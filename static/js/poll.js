// Parts of a page that fetch themselves anew while something is going on. They rest while the tab is hidden, and what
// the reader has opened in them stays open, and what has the focus keeps it. Nothing that somebody has typed goes: where
// the new part has no place for it, the old one stays, and asks again.
(function () {
  "use strict";

  document.addEventListener("htmx:beforeRequest", function (event) {
    if (document.hidden && event.detail.elt.hasAttribute("data-poll")) event.preventDefault();
  });

  let opened = new Map();
  let focused = "";
  document.addEventListener("htmx:beforeSwap", function (event) {
    const typed = [...event.detail.target.querySelectorAll("[data-poll] textarea[id]")].filter((field) => field.value.trim());
    if (typed.some((field) => !event.detail.serverResponse.includes(`id="${field.id}"`))) {
      event.detail.shouldSwap = false;
      return;
    }
    const active = document.activeElement;
    const link = event.detail.target.contains(active) && !active.id && active.getAttribute("href");
    focused = link ? "a[href=\"" + CSS.escape(link) + "\"]" : ""; // htmx itself keeps what has an id
    opened = new Map();
    event.detail.target.querySelectorAll("details[id]").forEach(function (details) {
      opened.set(details.id, details.open);
    });
  });
  document.addEventListener("htmx:afterSwap", function () {
    opened.forEach(function (open, id) {
      const details = document.getElementById(id);
      if (details) details.open = open;
    });
    if (focused && document.activeElement === document.body) document.querySelector(focused)?.focus();
    document.dispatchEvent(new Event("hud:swapped"));
  });
})();
