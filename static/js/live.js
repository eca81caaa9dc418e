// Keeps an open page up to date. The server tells that something changed; the page then asks for the rows that differ
// from what it shows and puts them in place. Nothing moves under the reader: new commits wait behind a bar while one
// is scrolled, pointing or reading. Nothing runs while the page is hidden.
(function () {
  "use strict";
  const hud = window.hud;
  const PAUSE_MS = 700; // between two questions
  const LIMIT_MS = 20000; // for an answer: one that never ends would be waited for, and no other asked for
  const AGAIN_MS = 10000; // after one that did not come
  const FULL_MS = 60000; // until the next try where too many pages are open
  let stream = null;
  let asking = false;
  let again = false;
  let lastAsked = 0;
  let heard = 0; // the newest version that the server told of
  let outdated = null; // the grid that another one is to replace
  let troubled = 0;
  let later = 0;
  let full = 0;

  function root() { return document.getElementById("grid"); }
  function version() { return Number(document.getElementById("status")?.dataset.version || 0); }

  function open() {
    if (stream || full || document.hidden || !root() || !window.EventSource) return;
    stream = new EventSource(root().dataset.liveUrl);
    stream.addEventListener("changed", function (event) {
      say("");
      heard = Number(event.data);
      if (heard !== version()) ask();
    });
    stream.addEventListener("alerts", (event) => countAlerts(Number(event.data)));
    stream.addEventListener("full", function () {
      close();
      full = setTimeout(function () {
        full = 0;
        if (document.hidden || !root()) return;
        ask();
        open();
      }, FULL_MS);
    });
    stream.addEventListener("error", function () {
      clearTimeout(troubled);
      troubled = setTimeout(() => say("· not live: HUD does not answer, trying again"), 4000);
      // A stream that was refused is not tried again by itself.
      if (stream && stream.readyState === EventSource.CLOSED) { close(); setTimeout(open, 10000); }
    });
  }
  function close() {
    if (stream) stream.close();
    stream = null;
    clearTimeout(troubled);
  }
  function say(text) {
    clearTimeout(troubled);
    const place = document.querySelector("#status [data-live]");
    if (place && place.textContent !== text) place.textContent = text;
  }

  // The header's count is of all branches: alerts of others change it too.
  function countAlerts(count) {
    const link = document.querySelector("[data-alert-count]");
    if (!link || link.dataset.alertCount === String(count)) return;
    link.dataset.alertCount = count;
    const number = document.createElement("b");
    number.className = "count";
    number.textContent = count;
    link.replaceChildren(...(count ? [number, count > 1 ? " alerts" : " alert"] : ["Alerts"]));
  }

  // What stands there may have been drawn before a change of which the grid before it was told.
  function catchUp() {
    if (root() && heard > version()) ask();
  }
  async function ask() {
    if (asking) { again = true; return; }
    asking = true;
    const pause = lastAsked + PAUSE_MS - Date.now();
    if (pause > 0) await new Promise((done) => setTimeout(done, pause));
    lastAsked = Date.now();
    const grid = root();
    try {
      const have = hud.rows().map((row) => row.dataset.digest);
      const answer = await fetch(grid.dataset.changesUrl, {
        headers: { "HUD-Have": have.join(","), "HUD-Layout": grid.dataset.layout },
        signal: AbortSignal.timeout(LIMIT_MS),
      });
      if (!answer.ok) throw new Error("answered with " + answer.status);
      const change = await answer.json();
      if (grid === root()) apply(change);
    } catch {
      say("· not live: HUD does not answer, trying again");
      clearTimeout(later);
      later = setTimeout(() => { if (stream) catchUp(); }, AGAIN_MS);
    }
    asking = false;
    if (again) { again = false; ask(); }
  }

  function busy() {
    const scroller = hud.scroller();
    return Boolean(scroller && (scroller.scrollTop > 0 || scroller.scrollLeft > 0 || scroller.matches(":hover")
      || hud.card.place() || scroller.contains(document.activeElement) || (innerWidth <= 640 && scrollY > 120)));
  }

  function apply(change) {
    hud.card.forget();
    setStatus(change.status);
    offer(setBanners(change.banners) ? "" : "The alerts have changed: show them");
    if (change.layout !== root().dataset.layout || !hud.scroller()) {
      if (busy()) offer("The columns have changed: show them");
      else reload();
      return;
    }
    const here = new Map(hud.rows().map((row) => [row.dataset.sha, row]));
    for (const row of change.rows) {
      if (row.html && here.has(row.sha)) update(here.get(row.sha), parse(row.html));
    }
    const first = change.rows.findIndex((row) => here.has(row.sha));
    const fresh = first < 0 ? change.rows : change.rows.slice(0, first);
    if (first >= 0 && rearranged(change.rows.slice(first), here)) {
      if (busy()) offer("The order of commits has changed: show it");
      else reload();
    } else if (fresh.length && root().dataset.liveFirst !== undefined) {
      if (busy()) offer(fresh.length + " new commit" + (fresh.length > 1 ? "s" : ""));
      else insert(fresh);
    }
    document.dispatchEvent(new CustomEvent("hud:swapped"));
  }
  function rearranged(rows, here) {
    const now = [...here.keys()];
    const next = rows.filter((row) => here.has(row.sha)).map((row) => row.sha);
    return next.some((sha, i) => sha !== now[i]);
  }

  function setStatus(html) {
    const old = document.getElementById("status");
    const holder = document.createElement("template");
    holder.innerHTML = html;
    old.replaceWith(holder.content.querySelector("#status"));
  }
  // The alerts that fire, between status and bar. Returns whether they stand there: what would push the grid, or be
  // exchanged under the pointer, waits while one reads.
  function setBanners(html) {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const next = Array.from(holder.content.children);
    const old = Array.from(root().querySelectorAll(":scope > [class^='banner']"));
    if (sameBanners(old, next)) return true;
    if (old.some((one) => one.matches(":hover") || one.contains(document.activeElement))) return false;
    const quiet = next.find((one) => one.localName === "details");
    if (quiet) quiet.open = old.some((one) => one.open);
    const wasBusy = busy();
    const top = hud.scroller()?.getBoundingClientRect().top;
    document.getElementById("status").after(...next);
    old.forEach((one) => one.remove());
    if (!wasBusy || hud.scroller().getBoundingClientRect().top === top) return true;
    document.getElementById("status").after(...old);
    next.forEach((one) => one.remove());
    return false;
  }
  // How long ago it was, and whether one has opened it, is no difference.
  function sameBanners(old, next) {
    const plain = (banners) => banners.map(function (banner) {
      const copy = banner.cloneNode(true);
      copy.removeAttribute("open");
      for (const time of copy.querySelectorAll("time")) time.textContent = "";
      return copy.outerHTML;
    }).join();
    return plain(old) === plain(next);
  }
  function parse(html) {
    const holder = document.createElement("template");
    holder.innerHTML = "<table><tbody>" + html + "</tbody></table>";
    return holder.content.querySelector("tr");
  }

  // Put the cells of `next` into `row`, and let those that differ pulse once.
  function update(row, next) {
    const before = unitsOf(row.querySelector("td.cells"));
    const after = unitsOf(next.querySelector("td.cells"));
    const cells = row.querySelector("td.cells");
    cells.replaceChildren(...next.querySelector("td.cells").childNodes);
    row.dataset.digest = next.dataset.digest;
    after.forEach(function (sign, unit) {
      if (sign !== before[unit]) pulse(row, unit, sign && sign.startsWith("<") && / class="g"/.test(sign) ? 2 : 1);
    });
  }
  // What stands in each unit of a row: a character, or the markup of an element (without its address).
  function unitsOf(cells) {
    const units = [];
    for (const sign of hud.signs(cells)) {
      if (sign.nodeType === Node.TEXT_NODE) { units.push(...sign.data); continue; }
      units.push(sign.outerHTML.replace(/ (href|tabindex)="[^"]*"/g, ""));
      if (sign.classList.contains("g")) units.push("");
    }
    return units;
  }
  function pulse(row, unit, units) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const scroller = hud.scroller();
    const box = scroller.getBoundingClientRect();
    const cells = row.querySelector("td.cells").getBoundingClientRect();
    const mark = document.createElement("div");
    mark.className = "pulse";
    mark.style.left = cells.left + unit * hud.unitPx() - box.left + scroller.scrollLeft + "px";
    mark.style.top = cells.top - box.top + scroller.scrollTop + "px";
    mark.style.width = units * hud.unitPx() + "px";
    mark.addEventListener("animationend", () => mark.remove());
    scroller.append(mark);
  }

  function insert(rows) {
    const body = document.querySelector("#grid tbody");
    const before = body.rows.length;
    const made = rows.filter((row) => row.html).map((row) => parse(row.html));
    for (const row of made) row.classList.add("row-new");
    body.prepend(...made);
    while (body.rows.length > Math.max(before, 1)) body.lastElementChild.remove();
    const place = hud.cursor.place();
    if (place && place.row.isConnected) hud.cursor.put(place);
  }

  function offer(text) {
    const bar = document.querySelector("[data-new-commits]");
    bar.textContent = text;
    bar.hidden = !text;
  }
  // The reader's own questions (the filter, groups, other commits) go first: each of them brings a whole new grid, and
  // what was asked for before it would undo it, or be put under an address that is not its own.
  function reload() {
    outdated = root();
    if (document.querySelector("body.htmx-request, .grid-area .htmx-request")) return;
    const { base, branch } = root().dataset;
    const address = location.pathname === "/" ? base + "/" + encodeURI(branch) + location.search : location.href;
    // An answer that does not come has been told in the console; the next change asks again.
    htmx.ajax("GET", address, { target: "#grid", swap: "outerHTML" }).catch(() => {});
  }
  function giveWay() { htmx.trigger(document.body, "htmx:abort"); }
  function isReaders(event) { return Boolean(event.target.closest?.(".grid-area")); }
  document.addEventListener("htmx:beforeRequest", (event) => { if (isReaders(event)) giveWay(); });
  document.addEventListener("htmx:historyCacheMiss", giveWay);
  // It brought no grid: a filter that is no pattern, a server that does not answer.
  document.addEventListener("htmx:afterRequest", function (event) {
    if (isReaders(event)) setTimeout(() => { if (outdated && outdated === root()) reload(); });
  });
  document.addEventListener("click", function (event) {
    if (!event.target.closest || !event.target.closest("[data-new-commits]")) return;
    hud.card.close();
    reload();
  });
  document.addEventListener("hud:replaced", function () {
    open();
    catchUp();
  });
  document.addEventListener("visibilitychange", function () {
    if (document.hidden) close(); else open();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open); // comes after the first load too, when the page has its looks
})();
