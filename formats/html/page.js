"use strict";
(() => {
  const one = (what, where = document) => where.querySelector(what);
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const index = JSON.parse(one("#index").textContent);
  const root = document.documentElement, main = one("#main"), side = one("#side"), list = one("#list"), results = one("#results");
  const sessions = index.sessions, packed = index.packed;
  const FIRST = 7, COUNT = 6, BLOB = 8;
  // The newest one is looked for most often.
  const order = sessions.map((session, at) => at).sort((one, other) => sessions[other][5].localeCompare(sessions[one][5]) || one - other);
  let now = -1, loaded = 0, run = 0, watching = null;

  const kept = { get(name) { try { return localStorage.getItem(name); } catch { return null; } },
    set(name, value) { try { localStorage.setItem(name, value); } catch { /* a page from a file may keep nothing */ } } };

  // ---- light and dark
  const theme = (name) => { if (name) root.dataset.theme = name; else delete root.dataset.theme; };
  theme(kept.get("satchel-theme"));
  const other = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    theme(dark ? "light" : "dark");
    kept.set("satchel-theme", root.dataset.theme);
  };

  // ---- compressed parts
  const unpack = async (number) => {
    const text = atob(document.getElementById("z" + number).textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  };

  // One part after the other, whoever asks: two at once would both take the same one.
  let queue = Promise.resolve();
  const more = (mine) => { queue = queue.catch(() => false).then(() => next(mine)); return queue; };
  const next = async (mine) => {
    const session = sessions[now];
    if (!packed || mine !== run || loaded >= session[FIRST].length) return false;
    const html = await unpack(session[BLOB] + loaded);
    if (mine !== run) return false;
    const part = document.createElement("template");
    part.innerHTML = html;
    const section = one(".session", main);
    section.insertBefore(part.content, one(".rest", section));
    loaded += 1;
    if (loaded >= session[FIRST].length) { watching && watching.disconnect(); one(".rest", section)?.remove(); }
    return true;
  };

  const open = async (number, message, keep) => {
    if (!(number >= 0 && number < sessions.length)) return;
    if (number !== now) {
      run += 1;
      now = number;
      loaded = 0;
      watching && watching.disconnect();
      if (packed) {
        const section = document.createElement("section");
        section.className = "session";
        section.id = "s" + (number + 1);
        section.setAttribute("aria-label", sessions[number][0]);
        const rest = document.createElement("p");
        rest.className = "rest";
        const button = document.createElement("button");
        button.textContent = "Show the rest";
        button.addEventListener("click", async () => { const mine = run; while (await more(mine)); });
        rest.append(button);
        section.append(rest);
        all(".session", main).forEach((old) => old.remove());
        main.append(section);
        const mine = run;
        await more(mine);
        if (mine !== run) return;
        watching = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) more(mine).then((got) => {
          const rest = one(".rest", main); if (got && rest) { watching.unobserve(rest); watching.observe(rest); } }); }, { rootMargin: "1500px" });
        const left = one(".rest", main);
        left && watching.observe(left);
      } else if (sessions.length > 1) {
        all(".session", main).forEach((section, at) => { section.hidden = at !== number; });
      }
      document.title = sessions[number][0];
      one("#bar strong").textContent = sessions[number][0];
      all("#list a").forEach((link) => { if (+link.dataset.at === number) { link.setAttribute("aria-current", "page");
        link.scrollIntoView({ block: "nearest" }); } else link.removeAttribute("aria-current"); });
      if (!message && !keep) { const top = () => scrollTo({ top: 0, behavior: "instant" }); top(); requestAnimationFrame(() => requestAnimationFrame(top)); }
    }
    side.classList.add("closed");
    if (message) {
      const mine = run;
      while (packed && !document.getElementById("s" + (number + 1) + "-m" + message) && await more(mine));
      const found = document.getElementById("s" + (number + 1) + "-m" + message);
      if (found) { all(".hit").forEach((old) => old.classList.remove("hit")); found.classList.add("hit");
        found.scrollIntoView({ block: "start", behavior: "instant" }); found.tabIndex = -1; found.focus({ preventScroll: true }); }
    }
  };

  const go = () => {
    const hash = location.hash.slice(1);
    const place = /^s(\d+)(?:-m(\d+))?$/.exec(hash);
    if (place) return open(place[1] - 1, place[2] && +place[2]);
    if (hash.startsWith("q-")) {
      let name = hash.slice(2);
      try { name = decodeURIComponent(name); } catch { /* as it stands */ }
      const at = sessions.findIndex((session) => session[1] === name);
      if (at >= 0) return open(at);
    }
    return now < 0 ? open(order[0], 0, true) : undefined;
  };

  // ---- the list
  const day = (session) => session[5].slice(0, 10) || "no date";
  const fill = () => {
    if (sessions.length < 2) { one("#menu").hidden = true; return; }
    side.hidden = false;
    if (innerWidth < 768) side.classList.add("closed");
    list.textContent = "";
    let last = null;
    order.forEach((at) => {
      const session = sessions[at];
      if (day(session) !== last) { last = day(session); const head = document.createElement("h2"); head.textContent = last;
        const row = document.createElement("li"); row.className = "day"; row.append(head); list.append(row); }
      const row = document.createElement("li"), link = document.createElement("a"), small = document.createElement("small");
      link.href = "#s" + (at + 1);
      link.dataset.at = at;
      const title = document.createElement("bdi");
      title.textContent = session[0];
      small.textContent = [session[2], session[3] !== session[2] ? session[3] : "", session[4], session[COUNT] + " messages"].filter(Boolean).join(" · ");
      link.append(title, small);
      row.append(link);
      list.append(row);
    });
  };
  one("#pick").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    all("#list li").forEach((row) => { const link = one("a", row);
      row.hidden = link ? !words.every((word) => sessions[link.dataset.at].slice(0, 6).join(" ").toLowerCase().includes(word)) : words.length > 0; });
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const links = all("#list li:not([hidden]) a"), at = links.indexOf(document.activeElement) + step;
    links[Math.max(0, Math.min(links.length - 1, at))]?.focus();
    event.preventDefault();
  });

  // ---- search
  const bare = document.createElement("textarea");
  const words = (html) => { bare.innerHTML = html.replace(/<\/?(?:a|b|i|em|strong|code|span|bdi|ins|del)\b[^>]*>/g, "").replace(/<[^>]*>/g, " "); return bare.value; };
  const parts = async function* (number) {
    if (!packed) { for (const article of all("#s" + (number + 1) + " article")) yield [article.id, article.textContent]; return; }
    for (let part = 0; part < sessions[number][FIRST].length; part++)
      for (const piece of (await unpack(sessions[number][BLOB] + part)).split("<article ").slice(1))
        yield [/id="([^"]*)"/.exec(piece)[1], words("<a " + piece)];
  };
  let looking = 0;
  const look = async (wanted) => {
    const mine = ++looking;
    results.textContent = "";
    results.hidden = !wanted;
    CSS.highlights?.delete("found");
    if (!wanted) return;
    const told = document.createElement("p"), rows = document.createElement("ol");
    told.setAttribute("role", "status");
    results.append(told, rows);
    let hits = 0;
    const low = wanted.toLowerCase();
    for (let place = 0; place < sessions.length && hits < 500; place++) {
      const number = order[place];
      told.textContent = "Searching " + (place + 1) + " of " + sessions.length + " …";
      for await (const [id, text] of parts(number)) {
        if (mine !== looking) return;
        const at = text.toLowerCase().indexOf(low);
        if (at < 0) continue;
        hits += 1;
        const row = document.createElement("li"), link = document.createElement("a"), mark = document.createElement("mark");
        link.href = "#" + id;
        mark.textContent = text.slice(at, at + wanted.length);
        link.append(sessions[number][0].slice(0, 60) + " · " + id.split("-m")[1] + ": ", text.slice(Math.max(0, at - 50), at).replace(/\s+/g, " "), mark,
          text.slice(at + wanted.length, at + wanted.length + 80).replace(/\s+/g, " "));
        row.append(link);
        rows.append(row);
        if (hits >= 500) break;
      }
      if (place % 8 === 7) await new Promise((then) => setTimeout(then));
    }
    if (mine !== looking) return;
    told.textContent = hits ? hits + (hits >= 500 ? " messages or more" : hits === 1 ? " message" : " messages") + " with “" + wanted + "”" : "Nothing with “" + wanted + "”";
    light(low);
  };
  const light = (low) => {
    if (!CSS.highlights || !low) return;
    const ranges = [], walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    while (walk.nextNode() && ranges.length < 2000) {
      if (results.contains(walk.currentNode)) continue;
      const text = walk.currentNode.data.toLowerCase();
      for (let at = text.indexOf(low); at >= 0; at = text.indexOf(low, at + low.length)) {
        const range = new Range();
        range.setStart(walk.currentNode, at);
        range.setEnd(walk.currentNode, at + low.length);
        ranges.push(range);
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  };
  let waiting = 0;
  one("#find").addEventListener("input", (event) => { clearTimeout(waiting); waiting = setTimeout(() => look(event.target.value.trim()), 250); });
  one("#find").addEventListener("keydown", (event) => { if (event.key === "Escape") { event.target.value = ""; look(""); event.target.blur(); } });

  // ---- what is shown
  all("[data-part]").forEach((button) => button.addEventListener("click", () => {
    const gone = main.classList.toggle((button.dataset.part === "err" ? "only-" : "no-") + button.dataset.part);
    button.setAttribute("aria-pressed", String(button.dataset.part === "err" ? gone : !gone));
  }));
  let unfolded = false;
  const fold = () => { unfolded = !unfolded; all("details", main).forEach((part) => { part.open = unfolded; }); };
  addEventListener("beforeprint", () => all("details:not([open])", main).forEach((part) => { part.open = true; part.dataset.was = "1"; }));
  addEventListener("afterprint", () => all("details[data-was]", main).forEach((part) => { part.open = false; delete part.dataset.was; }));
  one("#fold").addEventListener("click", fold);
  one("#theme").addEventListener("click", other);
  one("#menu").addEventListener("click", () => side.classList.toggle("closed"));
  one("#keys").addEventListener("click", () => { one("#help").hidden = !one("#help").hidden; });

  // ---- keys
  const step = (by) => {
    const shown = all("article", main).filter((article) => article.offsetParent !== null);
    const top = 90, at = shown.findIndex((article) => article.getBoundingClientRect().bottom > top + 4);
    const next = by > 0 ? shown.findIndex((article) => article.getBoundingClientRect().top > top + 4) : Math.max(0, (at < 0 ? shown.length : at) - 1);
    const found = shown[next < 0 ? shown.length - 1 : next];
    if (found) { found.scrollIntoView({ block: "start", behavior: "instant" }); found.tabIndex = -1; found.focus({ preventScroll: true }); }
  };
  const turn = (by) => { const at = order[order.indexOf(now) + by]; if (at !== undefined) location.hash = "s" + (at + 1); };
  const keys = { j: () => step(1), k: () => step(-1), "[": () => turn(-1), "]": () => turn(1),
    "/": () => one("#find").focus(), "?": () => one("#keys").click(), t: other, e: fold,
    Escape: () => { one("#help").hidden = true; } };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(?:INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const what = keys[event.key];
    if (what) { what(); event.preventDefault(); }
  });

  addEventListener("hashchange", go);
  root.classList.add("live");
  one("#bar").hidden = false;
  fill();
  go();
})();
