// Zoom, search and keyboard for a flame graph. Works on the boxes that are drawn; fetches nothing.
(() => {
  "use strict";
  const svg = document.currentScript.closest("svg");
  const header = svg.querySelector(".header");
  const isWholePage = svg === document.documentElement;

  // ---- What was drawn: boxes in the order outermost first, with their depth.

  const path = [];
  const frames = [...svg.querySelectorAll(".frames > g")].map((g, at) => {
    const rect = g.querySelector("rect");
    const [name, ...figures] = g.querySelector("title").textContent.split("\n");
    const number = (attribute) => Number(rect.getAttribute(attribute));
    const depth = Number(g.dataset.depth);
    const caller = depth > 0 ? path[depth - 1] : null;
    const frame = {
      at, g, rect, name, figures, depth, caller,
      text: g.querySelector("text"),
      x: number("x"), y: number("y"), width: number("width"),
      end: at + 1, // one after the last of all that it calls
    };
    path[depth] = frame;
    for (let outer = caller; outer; outer = outer.caller) outer.end = at + 1;
    g.addEventListener("click", () => zoomTo(frame));
    g.addEventListener("mouseenter", () => describe(frame));
    g.addEventListener("focus", () => describe(frame));
    return frame;
  });
  const all = frames[0];
  const margin = all.x;
  const padding = Number(all.text.getAttribute("x")) - all.x;
  const baseline = Number(all.text.getAttribute("y")) - all.y;
  const growsDown = frames.length < 2 || frames[1].y > all.y;
  let zoomed = all;
  let focused = all;

  // ---- Controls. Made here, so that without a script there are none that do nothing.

  const html = (tag, attributes, parent) => make("http://www.w3.org/1999/xhtml", tag, attributes, parent);
  const shape = (tag, attributes, parent) => make("http://www.w3.org/2000/svg", tag, attributes, parent);
  function make(space, tag, attributes, parent) {
    const element = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    parent.append(element);
    return element;
  }

  const controlsWidth = 560;
  const place = shape("foreignObject", { y: 6, width: controlsWidth, height: 30 }, header);
  const controls = html("div", { class: "controls" }, place);
  const found = html("span", { class: "found", role: "status" }, controls);
  const search = html("input", {
    type: "search", placeholder: "Search (regular expression)", title: "Search names; key: /",
    "aria-label": "Search names by regular expression",
  }, controls);
  const reset = html("button", { type: "button", title: "Show everything; key: Esc" }, controls);
  reset.textContent = "Reset zoom";

  const headerHeight = header.getBBox().height;
  const details = header.querySelector(".details");
  details.textContent = "";
  const detailsName = shape("tspan", { class: "name" }, details);
  const detailsFigures = shape("tspan", { dx: 10 }, details);

  function describe(frame) {
    detailsName.textContent = cut(frame.name, 90);
    detailsFigures.textContent = frame.figures.join("  ·  ");
  }

  // ---- Names that fit their box, by the same rule as when it was drawn (names.rs).

  const columnsOf = (char) => char >= "\u1100" && !(char >= "\u2000" && char <= "\u2fff") ? 2 : 1;
  const columnsIn = (text) => [...text].reduce((sum, char) => sum + columnsOf(char), 0);

  function cut(text, columns) {
    if (columnsIn(text) <= columns) return text;
    if (columns < 3) return "";
    let used = 1;
    const kept = [...text];
    const end = kept.findIndex((char) => (used += columnsOf(char)) > columns);
    return kept.slice(0, end).join("") + "…";
  }

  function shorten(name, columns) {
    if (columns < 1) return "";
    if (columnsIn(name) <= columns) return name;
    return cut(name.slice(name.indexOf(".") + 1), columns);
  }

  function measureChar() {
    const probe = shape("text", {}, all.g);
    probe.textContent = "m".repeat(50);
    const width = probe.getComputedTextLength() / 50;
    probe.remove();
    return width || 6.7;
  }

  // ---- Drawing.

  const charWidth = measureChar();

  function draw() {
    const width = svg.getBoundingClientRect().width;
    place.setAttribute("x", width - margin - controlsWidth);
    const room = width - 2 * margin;
    const scale = room / zoomed.width;
    const outer = new Set();
    for (let frame = zoomed.caller; frame; frame = frame.caller) outer.add(frame);
    for (const frame of frames) {
      const isOuter = outer.has(frame);
      const inside = frame.at >= zoomed.at && frame.at < zoomed.end;
      frame.g.classList.toggle("outer", isOuter);
      frame.shown = isOuter || inside;
      frame.g.style.display = frame.shown ? "" : "none";
      if (isOuter) drawFrame(frame, margin, room);
      else if (inside) drawFrame(frame, margin + (frame.x - zoomed.x) * scale, frame.width * scale);
    }
    reset.disabled = zoomed === all;
  }

  function drawFrame(frame, x, width) {
    frame.rect.setAttribute("x", x);
    frame.rect.setAttribute("width", width);
    frame.rect.classList.toggle("thin", width < 3);
    const name = shorten(frame.name, Math.floor((width - 2 * padding) / charWidth));
    if (name && !frame.text) frame.text = shape("text", { y: frame.y + baseline }, frame.g);
    if (!frame.text) return;
    frame.text.textContent = name;
    frame.text.setAttribute("x", x + padding);
  }

  function zoomTo(frame) {
    zoomed = frame;
    draw();
    focusOn(frame);
    describe(frame);
  }

  // ---- Search.

  function find() {
    let pattern = null;
    found.classList.remove("wrong");
    try {
      pattern = search.value && new RegExp(search.value, "i");
    } catch {
      found.classList.add("wrong");
      found.textContent = "not a regular expression";
    }
    svg.classList.toggle("searching", Boolean(pattern));
    let hits = 0;
    let width = 0;
    let counted = 0; // frames before this one lie in one that was counted
    for (const frame of frames) {
      const hit = Boolean(pattern) && frame !== all && pattern.test(frame.name);
      frame.g.classList.toggle("hit", hit);
      if (!hit) continue;
      hits += 1;
      if (frame.at >= counted) {
        width += frame.width;
        counted = frame.end;
      }
    }
    if (pattern) {
      const share = ((width / all.width) * 100).toFixed(2);
      found.textContent = `${share} % of all, in ${hits} drawn frame${hits === 1 ? "" : "s"}`;
    } else if (!search.value) {
      found.textContent = "";
    }
  }

  // ---- Keyboard: one frame at a time can be reached by Tab, the others from there by arrows.

  function focusOn(frame) {
    focused.g.removeAttribute("tabindex");
    focused = frame;
    frame.g.setAttribute("tabindex", "0");
    frame.g.setAttribute("role", "button");
    frame.g.focus({ preventScroll: true });
    // The header covers what is behind it.
    if (!isWholePage) return;
    const box = frame.rect.getBoundingClientRect();
    if (box.top < headerHeight) scrollBy(0, box.top - headerHeight);
    else if (box.bottom > innerHeight) scrollBy(0, box.bottom - innerHeight);
  }

  function neighbour(frame, step) {
    for (let at = frame.at + step; frames[at]; at += step) {
      if (frames[at].shown && frames[at].depth === frame.depth) return frames[at];
    }
    return null;
  }

  function follow(key) {
    const shownCallee = () => frames.slice(focused.at + 1, focused.end).find((frame) => frame.shown);
    switch (key) {
      case "ArrowLeft": return neighbour(focused, -1);
      case "ArrowRight": return neighbour(focused, 1);
      case growsDown ? "ArrowDown" : "ArrowUp": return shownCallee();
      case growsDown ? "ArrowUp" : "ArrowDown": return focused.caller;
      default: return null;
    }
  }

  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inFrames = event.target === focused.g;
    if (event.key === "Escape") {
      if (event.target === search && search.value) {
        search.value = "";
        find();
      } else {
        zoomTo(all);
      }
    } else if (event.key === "/" && event.target !== search) {
      search.focus();
    } else if (inFrames && (event.key === "Enter" || event.key === " ")) {
      zoomTo(focused);
    } else {
      const next = inFrames && follow(event.key);
      if (!next) return;
      focusOn(next);
    }
    event.preventDefault();
  });

  // ---- Start.

  search.addEventListener("input", find);
  reset.addEventListener("click", () => zoomTo(all));
  all.g.setAttribute("tabindex", "0");
  svg.classList.add("live");
  svg.removeAttribute("viewBox");
  svg.setAttribute("width", "100%");
  addEventListener("resize", draw);
  if (isWholePage) {
    addEventListener("scroll", () => header.setAttribute("transform", `translate(0 ${scrollY})`));
  }
  draw();
  if (isWholePage && !growsDown) scrollTo(0, all.y);
  describe(all);
})();
