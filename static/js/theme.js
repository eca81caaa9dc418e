// Runs before the first paint, so that a chosen theme does not flash. Without a choice the system's preference holds.
(function () {
  "use strict";
  function kept() {
    try { return localStorage.getItem("hud-theme"); } catch { return null; }
  }
  function apply(theme) {
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  }
  apply(kept());
  function offer() {
    const button = document.querySelector("[data-theme-switch]");
    if (button) button.hidden = false;
  }
  // It holds the first paint back, not the parser, so the page may be there before it.
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", offer);
  else offer();
  document.addEventListener("click", function (event) {
    if (!event.target.closest("[data-theme-switch]")) return;
    const now = document.documentElement.dataset.theme
      || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    apply(next);
    try { localStorage.setItem("hud-theme", next); } catch { /* storage may be off: the choice lasts for this page */ }
  });
  addEventListener("storage", function (event) {
    if (event.key === "hud-theme") apply(event.newValue);
  });
})();
