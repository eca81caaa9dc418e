// What every page does. Runs before the first paint, perhaps before the page is parsed.

// A chosen theme must not flash. Without a choice the system's preference holds.
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

// Menus close by themselves, relative times stay fresh.
(function () {
  "use strict";

  document.addEventListener("click", function (event) {
    document.querySelectorAll("details.menu[open]").forEach(function (menu) {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape") return;
    document.querySelectorAll("details.menu[open]").forEach(function (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  });

  // The same words as hud/core/ago.py.
  function spanWords(seconds) {
    const whole = Math.max(0, Math.floor(seconds));
    if (whole < 60) return whole + " s";
    if (whole < 3600) return Math.floor(whole / 60) + " min";
    if (whole < 172800) return Math.floor(whole / 3600) + " h";
    return Math.floor(whole / 86400) + " d";
  }
  // The server's clock counts: a reader's may be wrong.
  const skew = Date.now() - (Date.parse(document.documentElement.dataset.now || "") || Date.now());
  function freshen() {
    if (document.hidden) return;
    const now = Date.now() - skew;
    document.querySelectorAll("time[data-ago]").forEach(function (element) {
      const age = (now - Date.parse(element.dateTime)) / 1000;
      if (!(age > -90 && age < 5184000)) return;
      const words = spanWords(age) + (element.dataset.ago === "long" ? " ago" : "");
      if (element.textContent !== words) element.textContent = words;
    });
  }
  setInterval(freshen, 15000);
  document.addEventListener("visibilitychange", freshen);
  document.addEventListener("hud:swapped", freshen);
  document.addEventListener("hud:replaced", freshen);
})();

// A form that is under way is not sent again: a second click on Save, while the first is at work, would save twice.
(function () {
  "use strict";
  const LONG_MS = 10000; // no page came: it was stopped, or answered by something that leaves this page here
  let sent = new WeakMap(); // form -> when

  // On the window: whoever else takes care of a form (htmx does of its own) has prevented this by then.
  addEventListener("submit", function (event) {
    const form = event.target;
    const says = (name) => event.submitter?.getAttribute("form" + name) || form.getAttribute(name) || "";
    if (event.defaultPrevented || says("method").toLowerCase() !== "post" || says("target")) return;
    const now = performance.now();
    if (now - sent.get(form) < LONG_MS) event.preventDefault();
    else sent.set(form, now);
  });
  addEventListener("pageshow", function (event) {
    if (event.persisted) sent = new WeakMap(); // one came back to it
  });
})();
