
"use strict";
// Text of a report is hostile: it reaches the page by textContent alone.
(() => {
  const cases = [...document.querySelectorAll("details.case")];
  const chunks = [...document.querySelectorAll("script.chunk")];
  const stories = [...document.querySelectorAll("script.story")];
  const search = document.getElementById("search");
  const selects = [...document.querySelectorAll("select[data-key]")];
  const tiles = [...document.querySelectorAll("button.tile")];
  const count = document.getElementById("count");

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined && text !== null) made.textContent = text;
    return made;
  }

  // ---- data: base64 of zlib of JSON

  const unpacked = new Map();
  function unpack(script) {
    if (!unpacked.has(script)) unpacked.set(script, inflate(script));
    return unpacked.get(script);
  }
  async function inflate(script) {
    const text = atob(JSON.parse(script.textContent));
    const bytes = Uint8Array.from(text, letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  // ---- details of a case

  const ready = new Map(); // sections by case, once they are there
  async function sectionsOf(one) {
    if (!ready.has(one)) {
      const chunk = chunks[Number(one.dataset.chunk)];
      ready.set(one, (await unpack(chunk))[Number(one.dataset.at)]);
    }
    return ready.get(one);
  }
  async function fill(one) {
    if (one.dataset.filled) return;
    if (one.dataset.chunk === undefined) {
      one.dataset.filled = "yes";
      one.append(element("p", "body", "The details of this case are left out to keep this page small."));
      return;
    }
    await sectionsOf(one);
    fillNow(one);
  }
  function fillNow(one) {
    if (one.dataset.filled || !ready.has(one)) return;
    one.dataset.filled = "yes";
    const body = element("div", "body");
    for (const section of ready.get(one)) {
      body.append(element("h4", "", section.title));
      for (const block of section.blocks) body.append(shown(block));
    }
    one.append(body);
  }

  const tellings = new Map(); // what each place of a whole story would show
  const blocks = {
    text: block => element("p", "", block.text),
    code: block => labelled(block.label, element("pre", "", block.text)),
    quote: block => {
      const pre = element("pre");
      pre.append(block.before, element("mark", "", block.mark), block.after);
      return labelled(block.label, pre);
    },
    pairs: block => {
      const list = element("dl", "pairs");
      for (const [name, text] of block.pairs) list.append(element("dt", "", name), element("dd", "", text));
      return list;
    },
    attempts: block => {
      const box = element("div");
      const list = element("ul", "attempts");
      const place = element("div");
      for (const row of block.rows) {
        const item = element("li");
        const words = `${row.number} ${row.result}${row.failure ? ": " + row.failure : ""}${row.task === false ? ", task not done" : ""}`;
        const mark = element(row.story === null ? "span" : "button", known(row.result), words);
        if (row.trace) mark.title = row.trace;
        if (row.story !== null) {
          mark.type = "button";
          mark.addEventListener("click", () => place.replaceChildren(
            element("p", "label", `Attempt ${row.number}: ${row.trace}`), story(row.story, [])));
        }
        item.append(mark);
        list.append(item);
      }
      box.append(list, place);
      return box;
    },
    story: block => {
      const box = element("div", "whole");
      const more = element("button", "more", "Show every message");
      more.type = "button";
      more.addEventListener("click", () => box.replaceChildren(story(block.story, block.marks)));
      box.append(more, element("p", "label unprinted", "The messages are not printed. Open them in the page, and print again."));
      tellings.set(box, block);
      return box;
    },
  };
  function shown(block) {
    return Object.hasOwn(blocks, block.is) ? blocks[block.is](block) : element("p", "", "?");
  }
  function labelled(label, child) {
    const box = element("div");
    box.append(element("div", "label", label), child);
    return box;
  }
  function known(word) {
    return /^[a-z_]+$/.test(word) ? word : "";
  }

  // ---- a trace, message by message

  const told = new Map(); // stories by number, once they are there
  async function readStory(number) {
    if (!told.has(number)) told.set(number, await unpack(stories[number]));
    return told.get(number);
  }
  function story(number, marks) {
    const box = element("div", "story", "…");
    if (told.has(number)) {
      tell(box, told.get(number), marks);
    } else {
      readStory(number).then(read => tell(box, read, marks), error => { box.textContent = `The trace cannot be shown: ${error}`; });
    }
    return box;
  }
  function tell(box, read, marks) {
    box.replaceChildren();
    for (const line of read.lines) box.append(turn(line, marks.filter(mark => mark.seq === line.seq)));
    for (const note of read.notes || []) box.append(element("p", "label", note));
    if (!printing) box.querySelector(".marked")?.scrollIntoView({ block: "nearest" });
  }
  function turn(line, marks) {
    const head = `${line.seq}  ${line.at}  ${line.head}`;
    if (line.text === undefined) return element("div", "turn note", head);
    const box = element("details", `turn ${known(line.side)}${marks.length ? " marked" : ""}`);
    const summary = element("summary", "", head);
    for (const mark of marks) summary.append(" ", element("span", "chip", mark.why));
    const pre = element("pre");
    box.append(summary, pre);
    box.open = marks.length > 0;
    marking(pre, line.text, marks.map(mark => mark.text).filter(Boolean));
    return box;
  }
  function marking(pre, text, wanted) {
    const found = wanted.map(part => [text.indexOf(part), part.length]).filter(([at]) => at >= 0);
    found.sort((one, other) => one[0] - other[0]);
    let done = 0;
    for (const [at, length] of found) {
      if (at < done) continue;
      pre.append(text.slice(done, at), element("mark", "", text.slice(at, at + length)));
      done = at + length;
    }
    pre.append(text.slice(done));
  }

  // ---- filters and search

  const searched = new Map();
  function textOf(one) {
    if (!searched.has(one)) searched.set(one, one.querySelector("summary").textContent.toLowerCase());
    return searched.get(one);
  }
  function addDetails(one) {
    const texts = [];
    const walk = value => {
      if (typeof value === "string") texts.push(value);
      else if (value && typeof value === "object") Object.values(value).forEach(walk);
    };
    walk(ready.get(one));
    searched.set(one, textOf(one) + " " + texts.join(" ").toLowerCase());
  }
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const one of cases) {
      const fits = selects.every(select => !select.value || one.dataset[select.dataset.key] === select.value)
        && words.every(word => textOf(one).includes(word));
      if (one.hidden === fits) one.hidden = !fits;
      left += fits ? 1 : 0;
    }
    const all = cases.length === 1 ? "1 case" : `${cases.length} cases`;
    count.textContent = left === cases.length ? all : `${left} of ${all}`;
    const standing = selects.find(select => select.dataset.key === "standing")?.value;
    for (const tile of tiles) tile.setAttribute("aria-pressed", String(tile.dataset.standing === standing));
  }
  function reset() {
    search.value = "";
    for (const select of selects) select.value = "";
    filter();
  }
  let waiting = 0;
  search.addEventListener("input", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(filter);
  });
  for (const select of selects) select.addEventListener("change", filter);
  for (const tile of tiles) tile.addEventListener("click", () => {
    const select = selects.find(select => select.dataset.key === "standing");
    select.value = select.value === tile.dataset.standing ? "" : tile.dataset.standing;
    filter();
    document.getElementById("section-cases").scrollIntoView();
  });

  // ---- links to cases

  function go(id) {
    const one = cases.find(one => one.dataset.id === id);
    if (!one) return false;
    if (one.hidden) reset();
    one.open = true;
    fill(one).then(() => {
      one.scrollIntoView();
      one.querySelector("summary").focus({ preventScroll: true });
    });
    return true;
  }
  function follow() {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* a hash that is no encoded text is taken as it is */ }
    go(id);
  }
  function address(id) {
    try { history.replaceState(null, "", "#" + encodeURIComponent(id)); } catch { /* not everywhere from disk */ }
  }
  for (const link of document.querySelectorAll("a.to")) {
    link.href = "#" + encodeURIComponent(link.dataset.to);
  }
  addEventListener("hashchange", follow);
  document.addEventListener("toggle", event => {
    const one = event.target;
    if (!one.classList.contains("case") || !one.open) return;
    fill(one);
    if (!printing) address(one.dataset.id);
  }, true);

  // ---- keyboard

  function step(by) {
    const seen = cases.filter(one => !one.hidden);
    const at = seen.findIndex(one => one.contains(document.activeElement));
    const next = seen[at < 0 ? (by > 0 ? 0 : seen.length - 1) : Math.min(Math.max(at + by, 0), seen.length - 1)];
    next?.querySelector("summary").focus();
    next?.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input, select");
    if (event.key === "Escape") {
      const inside = document.activeElement?.closest?.("details.case[open]");
      if (!typing && inside) {
        inside.open = false;
        inside.querySelector("summary").focus();
      } else {
        reset();
        document.activeElement?.blur();
      }
    } else if (typing) {
      if (event.key === "ArrowDown" && event.target === search) { step(1); event.preventDefault(); }
    } else if (event.key === "/") {
      search.focus();
      event.preventDefault();
    } else if (event.key === "j" || event.key === "k") {
      step(event.key === "j" ? 1 : -1);
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.matches(".case > summary")) {
      step(event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
    }
  });

  // ---- dark and light

  const theme = document.getElementById("theme");
  const root = document.documentElement;
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("sortie-theme", root.dataset.theme); } catch { /* not everywhere from disk */ }
  });
  try {
    const kept = localStorage.getItem("sortie-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch { /* not everywhere from disk */ }

  // ---- print: everything that is listed is open, and so are the messages of stories

  let printing = null;
  addEventListener("beforeprint", () => {
    printing = cases.filter(one => !one.hidden && !one.open);
    for (const one of printing) { fillNow(one); one.open = true; }
    for (const [box, block] of tellings) {
      if (told.has(block.story) && !box.closest(".case[hidden]")) {
        box.replaceChildren(story(block.story, block.marks));
        tellings.delete(box);
      }
    }
    const turns = [...document.querySelectorAll("details.turn:not([open])")];
    for (const one of turns) one.open = true;
    printing.push(...turns);
  });
  addEventListener("afterprint", () => {
    const opened = printing || [];
    printing = null;
    for (const one of opened) one.open = false;
  });

  // ---- start

  document.getElementById("tools").hidden = false;
  theme.hidden = false;
  filter();
  follow();
  // Search and print need all details. They are read a chunk at a time, when nothing else is to do.
  const idle = window.requestIdleCallback || (next => setTimeout(next, 50));
  const byChunk = new Map();
  for (const one of cases) {
    if (one.dataset.chunk === undefined) continue;
    if (!byChunk.has(one.dataset.chunk)) byChunk.set(one.dataset.chunk, []);
    byChunk.get(one.dataset.chunk).push(one);
  }
  const left = [...byChunk.values()];
  async function readAhead() {
    const next = left.shift();
    if (!next) {
      root.dataset.ready = "yes";
      if (search.value) filter();
      idle(readStories);
      return;
    }
    for (const one of next) { await sectionsOf(one); addDetails(one); }
    idle(readAhead);
  }
  idle(readAhead);
  // A print cannot wait, so the stories of the worst cases are read before somebody wants one.
  let room = 2_000_000;
  const wanted = cases.values();
  async function readStories() {
    const { value: one, done } = wanted.next();
    const block = (ready.get(one) || []).flatMap(section => section.blocks).find(block => block.is === "story");
    if (block) room -= stories[block.story].textContent.length;
    if (done || room < 0) {
      root.dataset.printable = "yes";
      return;
    }
    if (block) await readStory(block.story).catch(() => {});
    idle(readStories);
  }
})();
