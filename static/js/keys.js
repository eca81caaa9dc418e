// The keyboard. One cursor moves over all cells, also those without an element; it is the only tab stop among them.
(function () {
  "use strict";
  const hud = window.hud;
  const cursor = document.createElement("a");
  cursor.className = "cursor";
  cursor.setAttribute("aria-keyshortcuts", "h j k l ArrowLeft ArrowDown ArrowUp ArrowRight");
  let place = null;
  let wish = null; // where the cursor wants to be after the group under it was opened

  function settle() {
    const scroller = hud.scroller();
    place = null;
    if (!scroller || !hud.rows().length || !hud.columns().length) { cursor.remove(); return; }
    scroller.append(cursor);
    const row = wish && hud.rows().find((one) => one.dataset.sha === wish.sha);
    const index = wish ? hud.columns().findIndex((column) => column.group === wish.group) : -1;
    put({ row: row || hud.rows()[0], index: Math.max(0, index) });
    if (row) cursor.focus({ preventScroll: true });
    wish = null;
  }
  // Elements among the cells are no tab stops: thousands of them help nobody, and the cursor reaches them all. They
  // are taken out when somebody presses Tab, not before: most never do, and a wide page has ten thousand of them.
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Tab" || !place) return;
    for (const link of document.querySelectorAll("#grid td.cells a[data-cell]:not([tabindex])")) link.tabIndex = -1;
  }, true);

  function put(next) {
    place = next;
    const scroller = hud.scroller();
    const rect = hud.rectOf(place);
    const box = scroller.getBoundingClientRect();
    cursor.style.left = rect.left - box.left + scroller.scrollLeft + "px";
    cursor.style.top = rect.top - box.top + scroller.scrollTop - scroller.clientTop + "px";
    cursor.style.width = rect.width + "px";
    name();
  }
  // Say what stands under the cursor, and lead there.
  function name() {
    const words = hud.wordsOf(place);
    cursor.href = hud.linkOf(place);
    if (cursor.getAttribute("aria-label") !== words) cursor.setAttribute("aria-label", words); // else it is read again
  }
  hud.cursor = { put, place: () => place, settle, element: cursor };

  function move(rows, columns) {
    const all = hud.rows();
    const now = all.indexOf(place.row);
    go({
      row: all[Math.max(0, Math.min(all.length - 1, now + rows))],
      index: Math.max(0, Math.min(hud.columns().length - 1, place.index + columns)),
    });
  }
  function go(next) {
    put(next);
    reveal();
    cursor.focus({ preventScroll: true });
    if (isTelling(place)) hud.card.show(place);
    else hud.card.close();
  }
  // Bring the cursor out from under the head and the first columns, which stay put.
  function reveal() {
    const scroller = hud.scroller();
    const box = scroller.getBoundingClientRect();
    const rect = hud.rectOf(place);
    const corner = scroller.querySelector("th.corner").getBoundingClientRect();
    const left = corner.right + 4;
    if (rect.left < left) scroller.scrollLeft -= left - rect.left + 40;
    if (rect.right > box.right - 24) scroller.scrollLeft += rect.right - box.right + 80;
    if (rect.top < corner.bottom + 2) scroller.scrollTop -= corner.bottom + 2 - rect.top;
    if (rect.bottom > box.bottom - 16) scroller.scrollTop += rect.bottom - box.bottom + 32;
  }
  function isTelling(at) { return hud.elementAt(at) !== null; }
  function isRed(at) {
    const element = hud.elementAt(at);
    return element !== null && /^(failure|timed_out)$/.test(element.dataset.state);
  }

  function nextRed(step) {
    const found = Array.from(document.querySelectorAll('#grid td.cells :is([data-state="failure"], [data-state="timed_out"])'));
    if (!found.length) return;
    const here = hud.elementAt(place);
    let i = found.indexOf(here);
    if (i < 0) {
      const after = found.findIndex((e) => (cursor.compareDocumentPosition(e), e.getBoundingClientRect().top >= hud.rectOf(place).top - 1));
      i = step > 0 ? (after < 0 ? -1 : after - 1) : (after < 0 ? found.length : after);
    }
    const element = found[(i + step + found.length) % found.length];
    const rect = element.getBoundingClientRect();
    go(hud.placeAt({ target: element, clientX: rect.left + 4 }));
  }

  async function openLog() {
    const wanted = place;
    await hud.card.show(wanted, hud.card.pinned());
    const link = hud.card.link("log");
    if (link && hud.card.place() === wanted) location.assign(link.href);
    else location.assign(hud.linkOf(wanted));
  }

  function openPlace() {
    const column = hud.columns()[place.index];
    if (column.kind === "group") {
      wish = { sha: place.row.dataset.sha, group: column.group };
      column.head.querySelector("a").click();
    } else location.assign(hud.linkOf(place));
  }

  const MOVES = {
    ArrowLeft: [0, -1], h: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, 0], j: [1, 0], ArrowUp: [-1, 0], k: [-1, 0],
    PageDown: [15, 0], PageUp: [-15, 0],
  };

  document.addEventListener("keydown", function (event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    const typing = target.closest && target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (typing) {
      if (event.key === "Escape" && target.id === "filter") target.blur();
      if (event.key === "Enter" && target.id === "filter" && place) { event.preventDefault(); go(place); }
      return;
    }
    if (everywhere(event)) { event.preventDefault(); return; }
    // Arrows scroll and menus open as usual where the grid is not meant.
    const plainKey = event.key.length === 1 && event.key !== " ";
    const onCells = target === cursor || (target.closest && target.closest("#grid td.cells"));
    if (!place || !(onCells || (plainKey && target === document.body) || (target === document.body && MOVES[event.key]))) return;
    if (!place.row.isConnected) settle();
    if (!place) return;
    if (inGrid(event)) event.preventDefault();
  });

  function everywhere(event) {
    if (event.key === "/") {
      const box = document.getElementById("filter");
      box.focus();
      box.select();
    } else if (event.key === "?") {
      const help = document.getElementById("help");
      help.open = !help.open;
      if (help.open) help.querySelector("summary").focus();
    } else if (event.key === "g") {
      const links = document.querySelectorAll("#grid-options .line a");
      const folded = document.querySelector("#grid th.folded");
      if (links.length) links[folded ? 0 : 1].click();
    } else {
      return false;
    }
    return true;
  }

  function inGrid(event) {
    if (MOVES[event.key]) move(...MOVES[event.key]);
    else if (event.key === "l") { if (isRed(place) && hud.columns()[place.index].kind === "job") openLog(); else move(0, 1); }
    else if (event.key === "L") openLog();
    else if (event.key === "n") nextRed(1);
    else if (event.key === "p") nextRed(-1);
    else if (event.key === "Home") move(0, -1e6);
    else if (event.key === "End") move(0, 1e6);
    else if (event.key === "Enter") openPlace();
    else if (event.key === " ") { if (hud.card.pinned()) hud.card.close(); else hud.card.pin(place); }
    else return false;
    return true;
  }

  document.addEventListener("hud:cell-clicked", function (event) {
    put(event.detail);
    cursor.focus({ preventScroll: true });
  });
  document.addEventListener("hud:focus-cell", () => cursor.focus({ preventScroll: true }));
  document.addEventListener("focusin", function (event) {
    if (event.target === cursor && place && place.row.isConnected && isTelling(place) && !hud.card.pinned()) hud.card.show(place);
  });
  document.addEventListener("hud:replaced", function () {
    if (!document.getElementById("grid")?.contains(cursor)) settle();
  });
  document.addEventListener("hud:swapped", function () { if (place && place.row.isConnected) name(); });
  addEventListener("resize", function () { if (place && place.row.isConnected) put(place); });
  settle();
})();
