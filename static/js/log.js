// The log of a run: line links as #L120-L140, jumps that load only lines, keys. Without it every link still works.
(function () {
  "use strict";

  const page = location.pathname;
  let anchor = 0; // the line from which shift-click marks a range

  function rangeOf(hash) {
    const match = /^#?L?(\d{1,12})(?:-L?(\d{1,12}))?$/.exec(hash || "");
    if (!match) return null;
    const ends = [Number(match[1]), Number(match[2] || match[1])].sort(function (a, b) { return a - b; });
    return ends[0] > 0 ? { first: ends[0], last: ends[1] } : null;
  }
  function hashOf(range) {
    return "#L" + range.first + (range.last > range.first ? "-L" + range.last : "");
  }
  function row(number) {
    return document.getElementById("L" + number);
  }
  function shown(range) {
    return Boolean(row(range.first) && row(range.last));
  }

  function mark(range) {
    document.querySelectorAll(".row.selected").forEach(function (line) { line.classList.remove("selected"); });
    // Only rows that are there are walked: a range typed by hand may name a billion lines.
    document.querySelectorAll("#log .row[id]").forEach(function (line) {
      const number = Number(line.id.slice(1));
      if (number >= range.first && number <= range.last) line.classList.add("selected");
    });
  }
  function reveal(range) {
    const line = row(range.first);
    if (!line) return;
    for (let box = line.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    line.scrollIntoView({ block: "start" });
  }
  function follow() {
    const range = rangeOf(location.hash);
    if (!range) return;
    anchor = range.first;
    if (shown(range)) { mark(range); reveal(range); return; }
    load("?lines=" + range.first + "-" + range.last).then(function () {
      if (!shown(range) || hashOf(range) !== location.hash) return; // the next jump has begun
      mark(range);
      reveal(range);
    });
  }
  // The newest question counts. One that fails has been told in the console; who waits goes on.
  function load(query) {
    htmx.trigger(document.body, "htmx:abort");
    return htmx.ajax("GET", page + query, { target: "#log", swap: "outerHTML" }).catch(function () {});
  }
  function go(range) {
    const hash = hashOf(range);
    if (hash === location.hash) follow();
    else location.hash = hash; // hashchange follows; Back returns
  }

  function markFound() {
    const found = new Set(Array.from(document.querySelectorAll("#log-hits [data-line]"), function (hit) { return hit.dataset.line; }));
    document.querySelectorAll("#log .row[id]").forEach(function (line) {
      line.classList.toggle("found", found.has(line.id.slice(1)));
    });
  }

  document.addEventListener("click", function (event) {
    const link = event.target.closest("a[data-line]");
    if (!link || event.ctrlKey || event.metaKey || event.altKey || event.button) return;
    const range = rangeOf(link.dataset.line);
    if (!range) return;
    event.preventDefault();
    if (!link.classList.contains("n")) { go(range); return; }
    if (event.shiftKey && anchor) {
      range.first = Math.min(anchor, range.first);
      range.last = Math.max(anchor, range.last);
    } else {
      anchor = range.first;
    }
    mark(range);
    history.replaceState(history.state, "", hashOf(range)); // marking a line is no step to come back from
  });

  // n and p walk through the failing lines; / goes to the search.
  function step(forward) {
    const lines = Array.from(document.querySelectorAll(".failures .failure-line[data-line]"), function (link) { return Number(link.dataset.line); })
      .sort(function (a, b) { return a - b; });
    if (!lines.length) return;
    const at = rangeOf(location.hash);
    const here = at ? at.first : 0;
    const next = forward ? lines.find(function (n) { return n > here; }) : lines.reverse().find(function (n) { return n < here; });
    const target = next || lines[0];
    go({ first: target, last: target });
  }
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const search = document.querySelector(".log-search input[name=q]");
    if (event.key === "/" && search) { event.preventDefault(); search.focus(); search.select(); }
    else if (event.key === "n") step(true);
    else if (event.key === "p") step(false);
  });

  addEventListener("hashchange", follow);
  document.addEventListener("hud:replaced", function () { follow(); markFound(); });
  document.addEventListener("htmx:afterSettle", markFound);

  // Lines that come in above push nothing down that is being read.
  let kept = null;
  document.addEventListener("htmx:beforeSwap", function (event) {
    kept = null;
    if (event.detail.target.id !== "log-above") return;
    const line = event.detail.target.nextElementSibling;
    if (line) kept = { line: line, top: line.getBoundingClientRect().top };
  });
  document.addEventListener("htmx:afterSwap", function () {
    if (kept) scrollBy({ top: kept.line.getBoundingClientRect().top - kept.top, behavior: "instant" });
    kept = null;
  });
  document.addEventListener("DOMContentLoaded", follow);
  if (document.readyState !== "loading") follow();

  // A log that is on its way is asked for until it is here, ever more seldom; a hidden page asks nothing.
  const LONGEST_WAIT_MS = 60000;
  function stateOf() {
    const log = document.querySelector("#log[data-may-change]");
    return log ? log.dataset.mayChange : "";
  }
  function lookAgain(waitMs) {
    const before = stateOf();
    if (!before) return;
    setTimeout(function () {
      if (document.hidden) { lookAgain(waitMs); return; }
      load("").then(function () {
        if (stateOf() !== before) location.reload(); // failures and verdict came with it
        else lookAgain(Math.min(waitMs * 1.5, LONGEST_WAIT_MS));
      });
    }, waitMs);
  }
  lookAgain(5000);
})();
