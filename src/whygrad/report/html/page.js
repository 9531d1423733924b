"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const all = (selector, root) => [...(root || document).querySelectorAll(selector)];
  const read = (id) => (find(id) ? JSON.parse(find(id).textContent) : null);
  const show = (id) => { if (find(id)) find(id).hidden = false; };

  // Copying

  async function copy(words) {
    if (navigator.clipboard) {
      try { await navigator.clipboard.writeText(words); return; } catch { /* not allowed here: the old way */ }
    }
    const area = document.createElement("textarea");
    area.value = words;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    await copy(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // The path from a parameter to a loss

  const chosen = { row: 0, module: "", chain: 0 };

  function fill(select, options, value) {
    select.replaceChildren(...options.map(([key, label]) => new Option(label, key, false, String(key) === String(value))));
  }

  function paths() {
    const data = read("path-data");
    if (!data) return;
    show("path-view");
    const told = ["missing", "leaking", "consumed"].map((state) => Object.keys(data.states).find((key) => data.states[key] === state));
    const wanted = told.find((key) => key && data.chains.some((c) => key === `${c.row} ${c.module}`));
    const first = data.chains.find((c) => `${c.row} ${c.module}` === wanted) || data.chains[0];
    const kept = data.chains.some((c) => c.row === chosen.row && c.module === chosen.module);
    if (!kept) Object.assign(chosen, { row: first.row, module: first.module, chain: 0 });
    choose(data);
    find("path-term").onchange = (e) => { chosen.row = Number(e.target.value); chosen.chain = 0; choose(data); };
    find("path-module").onchange = (e) => { chosen.module = e.target.value; chosen.chain = 0; choose(data); };
    find("path-parameter").onchange = (e) => { chosen.chain = Number(e.target.value); choose(data); };
    all(".matrix a[data-row]").forEach((link) => {
      link.onclick = () => {
        Object.assign(chosen, { row: Number(link.dataset.row), module: link.dataset.module, chain: 0 });
        choose(data);
      };
    });
  }

  function choose(data) {
    const rows = [...new Set(data.chains.map((c) => c.row))];
    const modules = [...new Set(data.chains.filter((c) => c.row === chosen.row).map((c) => c.module))];
    if (!modules.includes(chosen.module)) chosen.module = modules[0];
    const chains = data.chains.filter((c) => c.row === chosen.row && c.module === chosen.module);
    const leak = chains.findIndex((c) => c.code);
    const index = chosen.chain || (data.states[`${chosen.row} ${chosen.module}`] === "leaking" && leak > 0 ? leak : 0);
    fill(find("path-term"), rows.map((r) => [r, data.rows[r]]), chosen.row);
    fill(find("path-module"), modules.map((m) => [m, m]), chosen.module);
    const label = (c) => c.parameter + (c.code ? ` (${c.code})` : "");
    fill(find("path-parameter"), chains.map((c, i) => [i, label(c)]), index);
    all(".matrix a[data-row]").forEach((link) => {
      const current = Number(link.dataset.row) === chosen.row && link.dataset.module === chosen.module;
      current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
    });
    draw(data, chains[index]);
  }

  function draw(data, chain) {
    // What one expression of the user's does in several operations is written once.
    const stops = chain.stops.map((number, i) => {
      const stop = data.stops[number], before = data.stops[chain.stops[i - 1]];
      return before && before.text === stop.text && before.place === stop.place ? { ...stop, text: "" } : stop;
    });
    find("path-said").textContent = sentence(data, chain, stops);
    find("path-drawing").replaceChildren(picture(chain, stops));
  }

  function sentence(data, chain, stops) {
    const loss = data.rows[chain.row];
    const between = Math.max(stops.length - 2, 0);
    const passed = between === 1 ? "1 operation" : `${between} operations`;
    if (!chain.gets_to && data.states[`${chain.row} ${chain.module}`] === "zero") {
      return `${chain.parameter} is connected with ${loss}, and the gradient is exactly zero.`;
    }
    if (!chain.gets_to) {
      const leak = stops.find((s) => s.role === "leak");
      return leak ? `Gradient of ${loss} arrives at ${chain.parameter}, and should not by this way: ${leak.why}.`
        : `Gradient of ${loss} arrives at ${chain.parameter}, through ${passed}.`;
    }
    const cut = stops.find((s) => s.role === "cut") || [...stops].reverse().find((s) => s.role === "meant");
    const where = cut && cut.place ? ` at ${cut.place}` : "";
    return `Gradient of ${loss} does not arrive at ${chain.parameter}: it ends${where}${cut && cut.why ? `, ${cut.why}` : ""}.`;
  }

  const SPINE = 34, LEFT = 56;

  function svg(name, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function short(words, most) {
    return words.length > most ? words.slice(0, Math.max(most - 1, 1)) + "…" : words;
  }

  function picture(chain, stops) {
    const width = Math.max(find("path-drawing").clientWidth || 600, 280);
    const heights = stops.map((s) => 26 + (s.text ? 16 : 0) + (s.why ? 17 : 0));
    const tops = heights.map((_, i) => 6 + heights.slice(0, i).reduce((a, b) => a + b, 0));
    const middle = (i) => tops[i] + 12;
    const whole = tops[tops.length - 1] + heights[heights.length - 1] + 4;
    const image = svg("svg", { width, height: whole, viewBox: `0 0 ${width} ${whole}`, role: "group",
      "aria-label": `Operations from ${chain.parameter} to the loss` });
    for (let i = 0; i + 1 < stops.length; i++) image.append(...edge(chain, stops, i, middle));
    stops.forEach((stop, i) => image.append(node(chain, stop, i, tops[i], width)));
    return image;
  }

  function edge(chain, stops, i, middle) {
    const carries = i >= chain.gets_to;
    const line = svg("path", { class: carries ? "edge carries" : "edge", d: `M${SPINE} ${middle(i)}V${middle(i + 1)}` });
    if (i + 1 !== chain.gets_to) return [line];
    const cut = stops.findIndex((s) => s.role === "cut");
    const y = (middle(i) + middle(i + 1)) / 2;
    const out = [line, svg("path", { class: cut >= 0 ? "bar cut" : "bar", d: `M${SPINE - 8} ${y}H${SPINE + 8}` })];
    if (cut > 0) {
      const from = middle(cut - 1), to = middle(Math.min(cut + 1, stops.length - 1));
      const arc = svg("path", { class: "should", d: `M${SPINE - 5} ${from}C6 ${from} 6 ${to} ${SPINE - 5} ${to}` });
      arc.append(svg("title", {}, "gradient should pass here"));
      out.push(arc);
    }
    return out;
  }

  function node(chain, stop, i, top, width) {
    const group = svg("g", { class: `${stop.role || "plain"}${i >= chain.gets_to ? " reached" : ""}` });
    const room = Math.floor((width - LEFT - 8) / 7.4);
    group.append(svg("circle", { cx: SPINE, cy: top + 12, r: stop.role === "cut" || stop.role === "leak" ? 6 : 4.5 }));
    const title = svg("text", { x: LEFT, y: top + 16 }, svg("tspan", { class: "op" }, short(stop.name, room)));
    const aside = [stop.role === "folded" ? "" : stop.shape, stop.place,
      i === chain.stops.length - 1 ? "loss term" : ""].filter(Boolean).join("  ");
    if (aside) title.append(svg("tspan", { class: "aside", dx: 10 }, short(aside, room - stop.name.length - 2)));
    let y = top + 32;
    const body = [title];
    if (stop.text) { body.push(svg("text", { class: "expression", x: LEFT, y }, short(stop.text, room))); y += 17; }
    group.append(stop.href ? linked(stop.href, `${stop.name} at ${stop.place}`, body) : svg("g", {}, ...body));
    if (stop.why) {
      const why = svg("text", { class: "why", x: LEFT, y }, short(stop.code ? `${stop.code}: ${stop.why}` : stop.why, room));
      group.append(stop.finding ? linked(stop.finding, `${stop.code}: ${stop.why}`, [why]) : why);
    }
    return group;
  }

  function linked(href, label, body) {
    return svg("a", { href, "aria-label": label }, ...body);
  }

  // Phases of the run

  function phases() {
    const data = read("flow-data");
    const slider = find("phase");
    if (!data || !slider) return;
    show("slider");
    const bars = all("#flow tr[data-layer]"), figures = all("#flow figure[data-module]");
    const rects = bars.map((row) => all("rect", row)), cells = bars.map((row) => all("td.number", row));
    const first = rects.map((row) => row.map((r) => [r.getAttribute("width"), r.getAttribute("x")]));
    const words = cells.map((row) => row.map((cell) => cell.textContent));
    const outlines = figures.map((figure) => all("path", figure)), drawn = outlines.map((o) => o.map((p) => p.getAttribute("d")));
    slider.oninput = () => {
      const phase = data[Number(slider.value) - 1];
      find("phase-said").textContent = phase ? phase.said : "whole run";
      rects.forEach((row, i) => {
        const levels = phase ? phase.layers[i] : null;
        row.forEach((rect, k) => {
          const level = levels && levels[k >> 1];
          const [width, x] = !phase ? first[i][k] : !level ? [k % 2 ? 1.2 : 0, k % 2 ? -5 : 0] : k % 2 ? [1.2, level[1] - 0.6] : [level[0], 0];
          rect.setAttribute("width", width);
          if (x !== null) rect.setAttribute("x", x);
        });
        const level = levels && (levels[0] || levels[1]);
        cells[i].forEach((cell, k) => { cell.textContent = !phase ? words[i][k] : level ? level[2 + k] : "–"; });
      });
      outlines.forEach((pair, i) => pair.forEach((path, k) => path.setAttribute("d", phase ? phase.modules[i][k] : drawn[i][k])));
    };
    slider.oninput();
  }

  // The table of parameters

  function table() {
    const whole = find("parameter-table");
    if (!whole) return;
    show("filtering");
    const body = whole.tBodies[0], rows = [...body.rows];
    const heads = all("thead th", whole);
    heads.forEach((head, column) => {
      if (!head.hasAttribute("data-sort")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.onclick = () => {
        const rising = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const value = (row) => { const c = row.cells[column]; return c.dataset.value !== undefined ? Number(c.dataset.value) : c.textContent; };
        const order = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
        rows.sort((a, b) => (rising ? 1 : -1) * order(value(a), value(b)));
        body.append(...rows);
      };
    });
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
    const filter = () => {
      const words = find("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      rows.forEach((row) => { row.hidden = !words.every((w) => texts.get(row).includes(w)); left += row.hidden ? 0 : 1; });
      find("filtered").textContent = `${left} of ${rows.length}`;
    };
    find("filter").oninput = filter;
    filter();
  }

  // Raw data

  function download() {
    const button = find("download");
    if (!button || !window.DecompressionStream) return;
    button.hidden = false;
    button.onclick = async () => {
      const packed = Uint8Array.from(atob(find("raw").textContent), (c) => c.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await new Response(stream).blob());
      link.download = "report.json";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
  }

  // Where the reader is

  function following() {
    const links = new Map(all(".contents a").map((a) => [a.getAttribute("href").slice(1), a]));
    const seen = new IntersectionObserver((entries) => {
      entries.filter((e) => e.isIntersecting).forEach((e) => {
        links.forEach((a) => a.removeAttribute("aria-current"));
        const link = links.get(e.target.id);
        if (link) link.setAttribute("aria-current", "true");
      });
    }, { rootMargin: "-10% 0px -80% 0px" });
    all("main > section").forEach((section) => seen.observe(section));
  }

  // A run that is going on

  function live() {
    const address = document.documentElement.dataset.live;
    if (!address) return;
    const state = document.createElement("p");
    state.id = "live";
    state.setAttribute("role", "status");
    document.querySelector("header").append(state);
    const events = new EventSource(address);
    events.onopen = () => { state.textContent = "live: the run is going on"; };
    events.onerror = () => { state.textContent = "not connected: the run may have ended; this is the last that was seen"; };
    events.addEventListener("parts", (event) => {
      for (const [id, markup] of Object.entries(JSON.parse(event.data))) replace(id, markup);
      document.querySelector("header").append(state);
      everything();
    });
    events.addEventListener("end", () => { events.close(); state.textContent = "the run has ended"; });
  }

  function replace(id, markup) {
    const old = id === "head" ? document.querySelector("header") : find(id);
    const kept = { filter: find("filter") && find("filter").value, phase: find("phase") && find("phase").value };
    const open = all("details", old).map((d) => d.open);
    const fresh = document.createElement("template");
    fresh.innerHTML = markup;
    all("details", fresh.content).forEach((d, i) => { if (open[i] !== undefined) d.open = open[i]; });
    old.replaceWith(fresh.content);
    if (kept.filter && find("filter")) find("filter").value = kept.filter;
    if (kept.phase && find("phase")) find("phase").value = kept.phase;
  }

  function everything() {
    all("button.copy").forEach((button) => { button.hidden = false; });
    paths();
    phases();
    table();
    download();
    following();
  }

  everything();
  live();
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (window.innerWidth !== width) { width = window.innerWidth; paths(); } });
})();
