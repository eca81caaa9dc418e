// The card of a cell: shown on hover and on focus, pinned by a click, closed by Escape. It never covers its cell.
(function () {
  "use strict";
  const hud = window.hud;
  const HOVER_MS = 110;
  const PLAIN_MS = 450; // green cells are passed over all the time: one has to rest on them
  const LEAVE_MS = 180;
  const LIMIT_MS = 20000; // then it is given up, and asked again with the next look
  const kept = new Map(); // address -> text; emptied when something changed
  let changes = 0; // so often
  const card = document.createElement("div");
  card.className = "card";
  card.id = "cell-card";
  card.hidden = true;
  card.setAttribute("role", "region");
  card.setAttribute("aria-label", "Cell");
  let shown = null; // the place
  let drawn = null; // the address of what stands in the card
  let timer = 0;
  let asked = null; // the address of what is to be shown
  let asking = null; // the question under way: hover, focus and click of one cell ask it once

  hud.card = {
    show, close,
    place: () => shown,
    pinned: () => card.dataset.pinned !== undefined,
    pin(place) { show(place, true); },
    forget() { kept.clear(); changes++; },
    link: (name) => (card.hidden || drawn !== asked ? null : card.querySelector("[data-" + name + "]")),
  };

  async function show(place, pin) {
    clearTimeout(timer);
    const address = hud.cardAddress(place);
    if (pin) card.dataset.pinned = ""; else delete card.dataset.pinned;
    if (shown && same(shown, place) && drawn === address) { stamp(place); return; }
    shown = place;
    asked = address;
    let text = kept.get(address);
    if (text === undefined) {
      if (!asking || asking.address !== address || asking.changes !== changes) asking = { address, changes, answer: ask(address) };
      const mine = asking;
      text = await mine.answer;
      if (asking !== mine) return; // a newer question counts, or this answer is shown already
    }
    asking = null;
    if (asked !== address) return; // something else was asked for meanwhile
    drawn = address;
    card.innerHTML = text; // our own server's fragment, escaped there; scripts in it would not run
    addClose();
    if (!card.isConnected) document.querySelector("main").append(card);
    card.hidden = false;
    card.scrollTop = 0;
    stamp(shown);
    document.dispatchEvent(new CustomEvent("hud:swapped"));
  }
  // Never fails: what went wrong is said in the card.
  async function ask(address) {
    const before = changes;
    try {
      const answer = await fetch(address, { headers: { "HX-Request": "true" }, signal: AbortSignal.timeout(LIMIT_MS) });
      if (!answer.ok) return "<p>The card could not be read (" + answer.status + "). The link still leads to the run.</p>";
      const text = await answer.text();
      if (changes === before) kept.set(address, text);
      return text;
    } catch {
      return "<p>HUD does not answer. What you see may be old.</p>";
    }
  }
  function same(a, b) { return a.row === b.row && a.index === b.index; }
  function addClose() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "close";
    button.setAttribute("aria-label", "Close the card");
    button.textContent = "×";
    button.addEventListener("click", close);
    card.append(button);
  }

  // Below the cell and to its right where there is room; else above, else to the left.
  function stamp(place) {
    const cell = hud.rectOf(place);
    const narrow = innerWidth <= 640;
    const width = card.offsetWidth;
    const height = card.offsetHeight;
    const gap = 6;
    if (narrow) {
      const below = cell.bottom + gap + height <= innerHeight || cell.top < innerHeight / 2;
      card.style.left = "8px";
      card.style.top = below ? Math.max(cell.bottom + gap, innerHeight - height - 8) + "px" : "8px";
      card.style.maxHeight = (below ? innerHeight - cell.bottom - gap - 8 : cell.top - gap - 8) + "px";
      return;
    }
    card.style.maxHeight = "";
    let left = Math.min(cell.right + gap, innerWidth - width - 8);
    let top = cell.bottom + gap;
    if (top + height > innerHeight - 8) top = cell.top - gap - height;
    if (top < 8) {
      // Neither above nor below: beside.
      top = Math.max(8, Math.min(cell.top, innerHeight - height - 8));
      left = cell.right + gap + width <= innerWidth - 8 ? cell.right + gap : Math.max(8, cell.left - gap - width);
    }
    card.style.left = Math.max(8, left) + "px";
    card.style.top = top + "px";
  }

  function close() {
    clearTimeout(timer);
    const hadFocus = card.contains(document.activeElement);
    asked = shown = drawn = null;
    card.hidden = true;
    delete card.dataset.pinned;
    if (hadFocus) document.dispatchEvent(new CustomEvent("hud:focus-cell"));
  }

  document.addEventListener("mouseover", function (event) {
    if (hud.card.pinned()) return;
    if (card.contains(event.target)) { clearTimeout(timer); return; }
    const place = hud.placeAt(event);
    clearTimeout(timer);
    if (!place) { if (shown) timer = setTimeout(close, LEAVE_MS); return; }
    const plain = !event.target.closest("[data-cell]");
    if (plain && shown) timer = setTimeout(close, LEAVE_MS);
    else if (!plain) timer = setTimeout(() => show(place), HOVER_MS);
  });
  // Over plain cells no element is entered: the place under the pointer is what changes.
  let rested = null;
  document.addEventListener("mousemove", function (event) {
    if (hud.card.pinned() || event.target.closest?.("[data-cell], .card")) { rested = null; return; }
    const place = hud.placeAt(event);
    if (!place || (rested && same(rested, place))) return;
    rested = place;
    clearTimeout(timer);
    timer = setTimeout(() => show(place), PLAIN_MS);
  }, { passive: true });

  document.addEventListener("click", function (event) {
    if (card.contains(event.target)) return;
    const place = hud.placeAt(event);
    if (!place) { if (hud.card.pinned()) close(); return; }
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return; // a new tab, as with any link
    event.preventDefault();
    const again = hud.card.pinned() && shown && same(shown, place);
    if (again) close();
    else { show(place, true); document.dispatchEvent(new CustomEvent("hud:cell-clicked", { detail: place })); }
  });
  // Tab reaches the cells' links too: what has the focus shows its card.
  document.addEventListener("focusin", function (event) {
    const link = event.target.closest && event.target.closest("#grid td.cells a[data-cell]");
    if (!link) return;
    const rect = link.getBoundingClientRect();
    const place = hud.placeAt({ target: link, clientX: rect.left + 4 });
    if (place && !hud.card.pinned()) show(place);
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape" && !card.hidden) { close(); event.stopPropagation(); }
  }, true);
  document.addEventListener("scroll", function (event) {
    if (!shown || card.hidden || card.contains(event.target)) return;
    if (hud.card.pinned() && shown.row.isConnected) stamp(shown);
    else close();
  }, { capture: true, passive: true });
  document.addEventListener("htmx:beforeSwap", close);
  document.addEventListener("hud:replaced", close);
})();
