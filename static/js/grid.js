// Where things are in the grid. Cells are addressed by row and unit: a unit is the width of one cell, a folded group
// is two. Green and absent cells have no element, so a place is found by counting units, not by asking for elements.
(function () {
  "use strict";
  const hud = window.hud = window.hud || {};
  let columns = null; // in the order of the head: {unit, units, kind, name, group, column, head}
  let byUnit = null;

  hud.root = () => document.getElementById("grid");
  hud.scroller = () => document.querySelector("#grid .grid-scroll");
  hud.rows = () => Array.from(document.querySelectorAll("#grid tbody tr"));

  hud.unitPx = function () {
    return parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--unit")) || 18;
  };

  function readColumns() {
    columns = [];
    byUnit = new Map();
    let unit = 0;
    let group = "";
    document.querySelectorAll("#grid thead th").forEach(function (head) {
      if (head.dataset.job !== undefined) {
        add({ unit, units: 1, kind: "job", name: head.dataset.job, group, column: head.dataset.column, head });
        unit += head.classList.contains("last") ? 2 : 1;
      } else if (head.classList.contains("folded")) {
        add({ unit, units: 2, kind: "group", name: head.dataset.group, group: head.dataset.group, head });
        unit += 2;
      } else {
        group = head.dataset.group;
      }
    });
  }
  function add(column) {
    for (let i = 0; i < column.units; i++) byUnit.set(column.unit + i, columns.length);
    columns.push(column);
  }
  hud.columns = function () {
    if (!columns) readColumns();
    return columns;
  };
  hud.forget = function () { columns = byUnit = null; };

  // The cell under the pointer: {row, index} or null.
  hud.placeAt = function (event) {
    const cells = event.target.closest && event.target.closest("#grid td.cells");
    if (!cells) return null;
    hud.columns();
    const unit = Math.floor((event.clientX - cells.getBoundingClientRect().left) / hud.unitPx());
    const index = byUnit.get(unit);
    return index === undefined ? null : { row: cells.parentElement, index };
  };

  // What stands in a row from left to right: texts, of which each character is a unit wide, and elements.
  hud.signs = function* (cells) {
    for (const node of cells.childNodes) {
      if (node.nodeType === Node.TEXT_NODE || !node.classList.contains("block")) yield node;
      else yield* node.childNodes;
    }
  };
  hud.unitsOf = (sign) => (sign.nodeType === Node.TEXT_NODE ? sign.length : sign.classList.contains("g") ? 2 : 1);

  // What stands at a place: {sign, at}, `at` counting from the sign's own start; null beyond the row's end. Nothing is
  // measured: to measure what is out of sight, a browser would have to lay it out first.
  function signAt(place) {
    let unit = hud.columns()[place.index].unit;
    for (const sign of hud.signs(cellsOf(place.row))) {
      const units = hud.unitsOf(sign);
      if (unit < units) return { sign, at: unit };
      unit -= units;
    }
    return null;
  }

  // The element of a place, or null where the cell is plain.
  hud.elementAt = function (place) {
    const found = signAt(place);
    return found && found.sign.nodeType !== Node.TEXT_NODE ? found.sign : null;
  };
  function cellsOf(row) { return row.querySelector("td.cells"); }

  // Where a place is in the window.
  hud.rectOf = function (place) {
    const column = hud.columns()[place.index];
    const cells = cellsOf(place.row).getBoundingClientRect();
    const unit = hud.unitPx();
    return new DOMRect(cells.left + column.unit * unit, cells.top, column.units * unit, cells.height);
  };

  hud.linkOf = function (place) {
    const element = hud.elementAt(place);
    if (element && element.href) return element.getAttribute("href");
    const column = hud.columns()[place.index];
    const base = hud.root().dataset.base;
    return column.kind === "job"
      ? base + "/-/cell/" + place.row.dataset.sha + "/" + column.column
      : base + "/commit/" + place.row.dataset.sha;
  };

  hud.cardAddress = function (place) {
    const column = hud.columns()[place.index];
    const root = hud.root();
    const start = root.dataset.base + "/-/card/" + place.row.dataset.sha + "/";
    const branch = "branch=" + encodeURIComponent(root.dataset.branch);
    return column.kind === "job"
      ? start + column.column + "?" + branch
      : start + "group?group=" + encodeURIComponent(column.name) + "&" + branch;
  };

  hud.wordsOf = function (place) {
    const element = hud.elementAt(place);
    const words = element ? element.getAttribute("aria-label") || "no result" : plainWords(place);
    const sha = place.row.querySelector(".sha").textContent;
    return hud.columns()[place.index].name + " on " + sha + ": " + words;
  };
  function plainWords(place) {
    const found = signAt(place);
    return found && found.sign.data && found.sign.data[found.at] !== " " ? "passed" : "did not run";
  }

  // The light over the column of the pointer, and the full name of a head.
  const light = document.createElement("div");
  light.className = "column-light";
  const name = document.createElement("div");
  name.className = "head-name";
  name.hidden = true;

  hud.lightUp = function (index) {
    const table = document.querySelector("#grid table.grid");
    if (index === null || !table) { light.remove(); return; }
    const column = hud.columns()[index];
    const corner = table.querySelector("th.corner").offsetWidth;
    if (light.parentElement !== table.parentElement) table.parentElement.append(light);
    light.style.left = corner + column.unit * hud.unitPx() + "px";
    light.style.width = column.units * hud.unitPx() + "px";
    light.style.height = table.offsetHeight + "px";
  };

  function showName(head) {
    if (!head) { name.hidden = true; return; }
    const group = head.classList.contains("group");
    name.textContent = head.dataset.job || head.dataset.group;
    if (!name.isConnected) document.body.append(name);
    name.hidden = false;
    const rect = (group ? head.firstElementChild : head).getBoundingClientRect();
    const width = name.offsetWidth;
    name.style.left = Math.max(4, Math.min(rect.left, innerWidth - width - 4)) + "px";
    name.style.top = Math.max(4, rect.top - name.offsetHeight - 2) + "px";
  }
  document.addEventListener("mouseover", function (event) {
    if (!event.target.closest) return;
    showName(event.target.closest("#grid thead th[data-job], #grid thead th[data-group]"));
    const title = event.target.closest("#grid .title");
    if (title && !title.title) title.title = title.textContent;
  });
  document.addEventListener("focusin", function (event) {
    showName(event.target.closest("#grid thead th[data-job], #grid thead th[data-group]"));
  });
  document.addEventListener("mousemove", function (event) {
    const place = hud.placeAt(event);
    hud.lightUp(place ? place.index : null);
  }, { passive: true });

  // Leaving the filter box is no news: each letter was sent when it was typed.
  document.addEventListener("change", function (event) {
    if (event.target.id === "filter") event.stopPropagation();
  }, true);

  // htmx looks at each element that it takes out, one by one; of a wide grid that is most of the swap's time. Its
  // cells hold nothing of htmx's, so they go at once.
  document.addEventListener("htmx:beforeSwap", function (event) {
    if (event.detail.target.id === "grid" && event.detail.shouldSwap) event.detail.target.querySelector("table")?.remove();
  });

  // The menu whose boxes one ticks stays open while they do their work.
  let kept = null;
  document.addEventListener("htmx:beforeSwap", function () {
    const menu = document.getElementById("view-menu");
    kept = menu && menu.open ? { focus: menu.contains(document.activeElement) && document.activeElement.id } : null;
  });
  document.addEventListener("hud:replaced", function () {
    const menu = document.getElementById("view-menu");
    if (!kept || !menu) return;
    menu.open = true;
    if (kept.focus) document.getElementById(kept.focus)?.focus();
  });

  // "hud:replaced": another grid, or another view of the page, stands there. "hud:swapped": some text on it is new.
  document.addEventListener("htmx:afterSwap", () => document.dispatchEvent(new CustomEvent("hud:replaced")));
  document.addEventListener("hud:replaced", function () {
    hud.forget();
    light.remove();
    name.hidden = true;
  });
})();
