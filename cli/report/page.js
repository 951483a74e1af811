"use strict";
(() => {
  const $ = id => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const TASK = 6, COLOURS = 10;
  const STATES = ["other code", "a call of Team", "looking for work", "parked", "in no pool", "unknown: no event tells"];
  const STATE_COLOURS = ["code", "region", "looking", "parked", "away", "unknown"];
  const PHASES = ["minor GC", "major GC", "waits for all to stop"];
  const PHASE_COLOURS = ["minor", "major", "stop"];

  // ---- The data: differences become values ----

  const sums = (differences, from = 0) => { let at = from; return differences.map(d => at += d); };

  function spansOf({ gap, length, what }) {
    const start = new Float64Array(gap.length), stop = new Float64Array(gap.length);
    let at = 0;
    gap.forEach((g, i) => { start[i] = at + g; at = stop[i] = start[i] + length[i]; });
    return { start, stop, what: Int32Array.from(what) };
  }

  const tasks = data.tasks, sites = data.sites, duration = Math.max(1, data.duration);
  tasks.number = sums(tasks.number);
  const lanes = data.lanes.map(lane => ({ ...lane, spans: spansOf(lane.spans), gc: spansOf(lane.gc) }));
  const ran = new Float64Array(tasks.number.length);
  for (const { spans } of lanes)
    spans.what.forEach((w, i) => { if (w >= TASK) ran[w - TASK] += spans.stop[i] - spans.start[i]; });
  tasks.more.forEach((more, i) => ran[i] += more);

  const siteName = i => i < 0 ? "unknown site" : sites[i];
  const siteOf = what => what < TASK ? -1 : tasks.site[what - TASK];

  // The first span that ends after a time.
  function after(stop, time) {
    let low = 0, high = stop.length;
    while (low < high) { const mid = (low + high) >> 1; if (stop[mid] > time) high = mid; else low = mid + 1; }
    return low;
  }

  // ---- Texts ----

  const digits = x => x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
  function time(ns) {
    const n = Math.abs(ns);
    return n < 1e3 ? `${Math.round(ns)} ns` : n < 1e6 ? `${digits(ns / 1e3)} µs` : n < 1e9 ? `${digits(ns / 1e6)} ms` : `${digits(ns / 1e9)} s`;
  }

  // A moment, so exact that it differs from those so far away; in the unit of that greatest one.
  function moment(ns, apart, most = ns) {
    const [unit, name] = most < 1e3 ? [1, "ns"] : most < 1e6 ? [1e3, "µs"] : most < 1e9 ? [1e6, "ms"] : [1e9, "s"];
    const places = Math.ceil(Math.log10(unit / Math.max(1, apart)) - 1e-9);
    return `${(ns / unit).toFixed(Math.max(0, places))} ${name}`;
  }

  function describeTask(i) {
    const parent = tasks.number[i] - tasks.parent[i];
    const lines = [`task ${tasks.number[i]}: ${siteName(tasks.site[i])}`];
    lines.push(`ran ${time(ran[i])} in all` + (tasks.waited[i] > 0 ? `, not at work for ${time(tasks.waited[i])} between` : ""));
    lines.push(parent > 0 ? `parent: task ${parent}, ${siteName(tasks.of[i])}` : "parent: code that is no task");
    if (tasks.latency[i] >= 0) lines.push(`began ${time(tasks.latency[i])} after its fork` + (tasks.victim[i] >= 0 ? `, stolen from worker ${tasks.victim[i]}` : ""));
    return lines;
  }

  function describe({ lane, band, index, sum }) {
    const it = lanes[lane];
    if (sum) {
      const name = band === "gc" ? PHASES[sum.what] : sum.what >= TASK ? siteName(sum.what - TASK) : STATES[sum.what];
      return `${sum.count} spans below ${time(data.shortest)}, ${time(sum.ns)} in all\nmost of it: ${name}\n${it.name}`;
    }
    const { start, stop, what } = it[band];
    const w = what[index], length = stop[index] - start[index], when = `${time(length)}, from ${moment(start[index], length / 10)}`;
    const lines = band === "gc" ? [PHASES[w]] : w >= TASK ? describeTask(w - TASK) : [STATES[w]];
    return [lines[0], `this span: ${when}`, ...lines.slice(1), it.name].join("\n");
  }

  // ---- The view ----

  const box = $("timeline"), canvas = box.querySelector("canvas"), tip = $("tip"), pen = canvas.getContext("2d");
  const view = { from: 0, to: duration };
  let width = 300, colours = {}, chosen = 0, selected = null, wanted = null, due = false;
  const LOAD = 64, AXIS = 18, NAME = 16, BAND = 26, GC = 7, QUEUE = 4, LANE = NAME + BAND + GC + QUEUE + 8;
  const laneTop = i => AXIS + LOAD + 8 + i * LANE;
  const height = laneTop(lanes.length);
  const x = t => (t - view.from) / (view.to - view.from) * width;
  const timeAt = px => view.from + px / width * (view.to - view.from);

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of [...STATE_COLOURS, ...PHASE_COLOURS, ...Array(COLOURS).keys()].map(n => typeof n === "number" ? `c${n}` : n)
      .concat("other", "queue", "cpus", "busy", "text", "soft", "line", "page", "label", "select", "panel"))
      colours[name] = style.getPropertyValue(`--${name}`).trim();
  }

  const colourOf = (band, what) =>
    band === "gc" ? PHASE_COLOURS[what] : what < TASK ? STATE_COLOURS[what] :
      band === "site" ? (what - TASK < COLOURS ? `c${what - TASK}` : "other") :
        (s => s >= 0 && s < COLOURS ? `c${s}` : "other")(siteOf(what));

  function draw() {
    due = false;
    const ratio = window.devicePixelRatio || 1;
    width = box.clientWidth;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colours.page;
    pen.fillRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    drawAxis();
    drawLoad();
    lanes.forEach(drawLane);
    drawSelected();
    const whole = view.from <= 0 && view.to >= duration;
    const edge = t => moment(t, (view.to - view.from) / 100, view.to);
    const state = whole ? `whole run, ${time(duration)}` : `${edge(view.from)} to ${edge(view.to)} of ${time(duration)}`;
    $("status").textContent = wanted ? `${state}; ${found()}` : state;
  }

  const redraw = () => { if (!due) { due = true; requestAnimationFrame(draw); } };

  function drawAxis() {
    const length = view.to - view.from, least = length / Math.max(2, width / 100);
    const unit = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map(f => f * unit).find(s => s >= least);
    pen.fillStyle = colours.soft;
    pen.strokeStyle = colours.line;
    pen.lineWidth = 1;
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
      const at = x(t), text = moment(t, step, view.to);
      pen.beginPath(); pen.moveTo(at, AXIS); pen.lineTo(at, height); pen.stroke();
      if (at + pen.measureText(text).width + 4 < width) pen.fillText(text, at + 3, AXIS / 2);
    }
  }

  function drawLoad() {
    const { from, upto, cpus, busy } = data.load;
    const bottom = AXIS + LOAD, most = Math.max(1, ...cpus, ...busy), y = v => bottom - v / most * (LOAD - 16);
    const path = values => {
      pen.beginPath();
      values.forEach((v, i) => { if (upto[i] >= view.from && from[i] <= view.to) { pen.lineTo(x(from[i]), y(v)); pen.lineTo(x(upto[i]), y(v)); } });
    };
    const first = from.findIndex((_, i) => upto[i] >= view.from);
    if (first >= 0) {
      path(busy);
      pen.lineTo(x(Math.min(view.to, upto[upto.length - 1])), bottom);
      pen.lineTo(x(Math.max(view.from, from[first])), bottom);
      pen.fillStyle = colours.busy; pen.fill();
      path(cpus);
      pen.strokeStyle = colours.cpus; pen.lineWidth = 1.5; pen.stroke();
    }
    pen.fillStyle = colours.text;
    pen.fillText(from.length ? `CPUs used (line) of busy workers (area), up to ${digits(most)}` : "CPUs used: no samples", 4, AXIS + 8, width - 8);
  }

  // What is narrower than a pixel shares it: the most of it shows.
  function drawBand(spans, band, top, tall, fits) {
    const { start, stop, what } = spans, scale = width / (view.to - view.from);
    let column = -1, parts = new Map();
    const flush = () => {
      let best = null, most = 0, sum = 0;
      for (const [key, n] of parts) { sum += n; if (n > most) { most = n; best = key; } }
      if (best) paint(best, column, Math.min(1, sum), top, tall, 1);
      parts = new Map();
    };
    for (let i = after(stop, view.from); i < start.length && start[i] < view.to; i++) {
      const left = (start[i] - view.from) * scale, right = (stop[i] - view.from) * scale;
      const key = (fits(what[i]) ? "" : "-") + colourOf(band, what[i]);
      if (right - left >= 1.5) {
        if (column >= 0) { flush(); column = -1; }
        const l = Math.max(0, left), r = Math.min(width, right);
        paint(key, l, 1, top, tall, Math.max(0.5, r - l - (r - l > 4 ? 0.5 : 0)));
        if (band === "spans" && what[i] >= TASK && r - l > 44) label(siteName(siteOf(what[i])), l, r, top + tall / 2);
      } else {
        const c = Math.floor(left);
        if (c !== column) { if (column >= 0) flush(); column = c; }
        parts.set(key, (parts.get(key) || 0) + right - left);
      }
    }
    if (column >= 0) flush();
  }

  function paint(key, left, alpha, top, tall, wide) {
    const dim = key[0] === "-";
    pen.globalAlpha = (dim ? 0.18 : 1) * (0.2 + 0.8 * alpha);
    pen.fillStyle = colours[dim ? key.slice(1) : key];
    pen.fillRect(left, top, wide, tall);
    pen.globalAlpha = 1;
  }

  function label(text, left, right, y) {
    pen.save();
    pen.beginPath(); pen.rect(left + 3, y - 10, right - left - 6, 20); pen.clip();
    pen.fillStyle = colours.label;
    // The end of a place says most.
    pen.fillText(text, Math.min(left + 4, right - 4 - pen.measureText(text).width), y);
    pen.restore();
  }

  function drawSums(sums, band, top, tall, fits) {
    for (let i = after(sums.upto, view.from); i < sums.from.length && sums.from[i] < view.to; i++) {
      const left = x(sums.from[i]), wide = Math.max(1, x(sums.upto[i]) - left);
      const key = (fits(sums.what[i]) ? "" : "-") + colourOf(band, sums.what[i]);
      paint(key, left, 0.8 * sums.ns[i] / Math.max(1, sums.upto[i] - sums.from[i]), top, tall, wide);
    }
  }

  function drawQueue(lane, top) {
    const { from, upto } = data.load;
    pen.fillStyle = colours.queue;
    lane.queue.forEach((part, i) => {
      if (part <= 0 || upto[i] < view.from || from[i] > view.to) return;
      pen.globalAlpha = 0.25 + 0.75 * part;
      pen.fillRect(x(from[i]), top + QUEUE * (1 - part), Math.max(1, x(upto[i]) - x(from[i])), QUEUE * part);
    });
    pen.globalAlpha = 1;
  }

  function drawSteals({ spans: { start, stop, what } }, top) {
    pen.fillStyle = colours.text;
    let last = -10;
    for (let i = after(stop, view.from); i < start.length && start[i] < view.to; i++) {
      const at = x(start[i]);
      if (what[i] < TASK || tasks.victim[what[i] - TASK] < 0 || at < last + 5) continue;
      last = at;
      pen.beginPath(); pen.moveTo(at - 3, top); pen.lineTo(at + 3, top); pen.lineTo(at, top + 6); pen.fill();
    }
  }

  function drawLane(lane, i) {
    const top = laneTop(i), band = top + NAME, gc = band + BAND, any = () => true;
    pen.fillStyle = i === chosen ? colours.select : colours.soft;
    pen.font = i === chosen ? "600 12px system-ui, sans-serif" : "12px system-ui, sans-serif";
    pen.fillText((i === chosen ? "▸ " : "") + lane.name, 4, top + NAME / 2, width - 8);
    pen.font = "12px system-ui, sans-serif";
    pen.strokeStyle = colours.line;
    pen.strokeRect(0.5, band + 0.5, width - 1, BAND + GC - 1);
    const fits = wanted ? wanted.what : any, fitsSite = wanted ? wanted.kind : any;
    drawSums(lane.sums, "site", band, BAND, fitsSite);
    drawBand(lane.spans, "spans", band, BAND, fits);
    drawSums(lane.gcsums, "gc", gc, GC, wanted ? wanted.phase : any);
    drawBand(lane.gc, "gc", gc, GC, wanted ? wanted.phase : any);
    drawSteals(lane, band);
    drawQueue(lane, gc + GC);
  }

  function drawSelected() {
    if (!selected) return;
    const { start, stop } = lanes[selected.lane][selected.band], top = laneTop(selected.lane) + NAME;
    const left = x(start[selected.index]), right = x(stop[selected.index]);
    if (right < 0 || left > width) return;
    pen.strokeStyle = colours.select;
    pen.lineWidth = 2;
    const [y, tall] = selected.band === "gc" ? [top + BAND, GC] : [top, BAND];
    pen.strokeRect(left - 1, y, Math.max(3, right - left + 1), tall);
  }

  // ---- Moving ----

  const LEAST = 200;
  function show(from, to) {
    const length = Math.min(duration, Math.max(LEAST, to - from));
    view.from = Math.max(0, Math.min(duration - length, from));
    view.to = view.from + length;
    redraw();
  }
  const zoom = (factor, at = (view.from + view.to) / 2) => {
    const length = Math.min(duration, Math.max(LEAST, (view.to - view.from) / factor));
    const part = (at - view.from) / (view.to - view.from);
    show(at - part * length, at + (1 - part) * length);
  };
  const pan = part => { const d = part * (view.to - view.from); show(view.from + d, view.to + d); };

  function select(it, moves) {
    selected = it;
    chosen = it.lane;
    $("details").textContent = describe(it).replaceAll("\n", " · ");
    const { start, stop } = lanes[it.lane][it.band], from = start[it.index], to = stop[it.index];
    if (moves) {
      const length = view.to - view.from;
      if ((to - from) * 300 < length) show(from - (to - from) * 20, to + (to - from) * 20);
      else if (to < view.from || from > view.to) show((from + to - length) / 2, (from + to + length) / 2);
    }
    redraw();
  }

  // ---- Searching ----

  function search(text) {
    const query = text.trim().toLowerCase();
    if (!query) { wanted = null; redraw(); return; }
    const number = /^#?(\d+)$/.test(query) ? Number(query.replace("#", "")) : -1;
    const site = sites.map(name => name.toLowerCase().includes(query));
    const state = STATES.map(name => name.includes(query)), phase = PHASES.map(name => name.toLowerCase().includes(query));
    const unknown = "unknown site".includes(query);
    const ofSite = s => s < 0 ? unknown : site[s];
    wanted = {
      what: w => w < TASK ? state[w] : tasks.number[w - TASK] === number || ofSite(siteOf(w)),
      kind: w => w < TASK ? state[w] : ofSite(w - TASK),
      phase: p => phase[p],
    };
    wanted.count = 0;
    for (const lane of lanes) {
      lane.spans.what.forEach(w => { if (wanted.what(w)) wanted.count++; });
      lane.gc.what.forEach(w => { if (wanted.phase(w)) wanted.count++; });
    }
    redraw();
  }

  const found = () => wanted.count === 1 ? "1 span found" : `${wanted.count} spans found`;

  // In the order of time: in all lanes for a search, else in the chosen one.
  const order = (lane, band, start) => [start, lane, band === "gc" ? 1 : 0];
  function nearest(direction, from) {
    const now = from[0], compare = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
    let best = null, bestKey = null;
    lanes.forEach((it, lane) => {
      if (!wanted && lane !== chosen) return;
      for (const band of wanted ? ["spans", "gc"] : ["spans"]) {
        const { start, stop, what } = it[band], fits = !wanted ? () => true : band === "gc" ? wanted.phase : wanted.what;
        let i = Math.min(start.length - 1, after(stop, now));
        // Back to where all are before, or on to where they are behind.
        if (direction > 0) while (i > 0 && start[i - 1] >= now) i--;
        else while (i + 1 < start.length && start[i + 1] <= now) i++;
        for (; i >= 0 && i < start.length; i += direction) {
          const key = order(lane, band, start[i]);
          if (direction * compare(key, from) <= 0 || !fits(what[i])) continue;
          if (!best || direction * compare(key, bestKey) < 0) { best = { lane, band, index: i }; bestKey = key; }
          break;
        }
      }
    });
    return best;
  }

  // A search goes round.
  function step(direction) {
    const here = selected && (wanted || selected.lane === chosen) ? selected : null;
    const from = here ? order(here.lane, here.band, lanes[here.lane][here.band].start[here.index]) :
      [direction > 0 ? view.from - 1 : view.to + 1, -1, -1];
    const next = nearest(direction, from), other = !next && wanted && nearest(direction, [direction > 0 ? -1 : duration + 1, -1, -1]);
    if (next || other) select(next || other, true);
    if (other) $("details").prepend(direction > 0 ? "From the beginning: " : "From the end: ");
    else if (!next) $("details").textContent = direction > 0 ? "No further span." : "No span before that.";
  }

  // ---- What is at a point ----

  function at(px, py) {
    const lane = lanes.findIndex((_, i) => py >= laneTop(i) && py < laneTop(i + 1));
    if (lane < 0) return null;
    const y = py - laneTop(lane) - NAME, band = y > BAND ? "gc" : "spans";
    if (y < 0) return { lane };
    const t = timeAt(px), slack = 2 * (view.to - view.from) / width, { start, stop } = lanes[lane][band];
    const i = after(stop, t);
    if (i < start.length && start[i] <= t) return { lane, band, index: i };
    const all = band === "gc" ? lanes[lane].gcsums : lanes[lane].sums, s = after(all.upto, t);
    if (s < all.from.length && all.from[s] <= t) {
      const sum = { what: all.what[s], count: all.count[s], ns: all.ns[s] };
      return { lane, band, sum };
    }
    if (i < start.length && start[i] <= t + slack) return { lane, band, index: i };
    return { lane };
  }

  function hover(px, py) {
    const it = at(px, py);
    if (!it || !it.band) { tip.hidden = true; return; }
    tip.textContent = describe(it);
    tip.hidden = false;
    const left = px + 14 + tip.offsetWidth > width ? px - 14 - tip.offsetWidth : px + 14;
    tip.style.left = `${Math.max(0, Math.min(width - tip.offsetWidth, left))}px`;
    tip.style.top = `${py + 16}px`;
  }

  // ---- Hands ----

  const place = event => { const r = canvas.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
  const down = new Map();
  let moved = false;

  box.addEventListener("pointerdown", e => {
    if (e.button > 0) return;
    down.set(e.pointerId, place(e));
    box.setPointerCapture(e.pointerId);
    moved = false;
  });
  box.addEventListener("pointermove", e => {
    const now = place(e), before = down.get(e.pointerId);
    if (!before) { hover(...now); return; }
    const others = [...down.entries()].filter(([id]) => id !== e.pointerId);
    if (others.length) {
      const other = others[0][1][0], was = Math.abs(before[0] - other), is = Math.abs(now[0] - other);
      if (was > 10 && is > 10) zoom(is / was, timeAt((now[0] + other) / 2));
    } else if (moved || Math.abs(now[0] - before[0]) > 3) {
      moved = true;
      tip.hidden = true;
      pan((before[0] - now[0]) / width);
    } else return;
    down.set(e.pointerId, now);
  });
  const up = e => {
    const was = down.delete(e.pointerId);
    if (!was || moved || e.type === "pointercancel") return;
    const it = at(...place(e));
    if (it && it.sum) $("details").textContent = describe(it).replaceAll("\n", " · ");
    else if (it && it.band) select(it, false);
    else if (it) { chosen = it.lane; redraw(); }
  };
  box.addEventListener("pointerup", up);
  box.addEventListener("pointercancel", up);
  box.addEventListener("pointerleave", () => tip.hidden = true);
  box.addEventListener("dblclick", e => zoom(3, timeAt(place(e)[0])));
  box.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.metaKey && document.activeElement !== box) return;
    e.preventDefault();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) / width);
    else zoom(Math.exp(-e.deltaY / (e.deltaMode ? 20 : 400)), timeAt(place(e)[0]));
  }, { passive: false });

  const keys = {
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), PageUp: () => pan(-0.9), PageDown: () => pan(0.9),
    "+": () => zoom(1.6), "=": () => zoom(1.6), "-": () => zoom(1 / 1.6),
    "0": () => show(0, duration), Home: () => show(0, view.to - view.from), End: () => show(duration, duration + view.to - view.from),
    ArrowUp: () => choose(-1), ArrowDown: () => choose(1),
    n: () => step(1), p: () => step(-1), "/": () => $("query").focus(), Escape: () => { selected = null; tip.hidden = true; redraw(); },
  };
  function choose(d) {
    chosen = Math.max(0, Math.min(lanes.length - 1, chosen + d));
    if (lanes.length) $("details").textContent = lanes[chosen].name;
    redraw();
  }
  box.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || !Object.hasOwn(keys, e.key)) return;
    e.preventDefault();
    keys[e.key]();
  });

  $("in").addEventListener("click", () => zoom(1.6));
  $("out").addEventListener("click", () => zoom(1 / 1.6));
  $("whole").addEventListener("click", () => show(0, duration));
  $("query").addEventListener("input", e => search(e.target.value));
  $("previous").addEventListener("click", () => step(-1));
  $("find").addEventListener("submit", e => { e.preventDefault(); step(1); });
  for (const button of document.querySelectorAll("[data-find]"))
    button.addEventListener("click", () => {
      $("query").value = button.dataset.find;
      search(button.dataset.find);
      box.scrollIntoView({ block: "nearest" });
    });

  // One of the flame's buttons can be reached with Tab, the others with arrows.
  const flame = [...document.querySelectorAll("#flame button")];
  if (flame.length) flame[0].tabIndex = 0;
  flame.forEach((button, i) => button.addEventListener("keydown", e => {
    const to = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: flame.length - 1 }[e.key];
    if (to === undefined || !flame[to]) return;
    e.preventDefault();
    button.tabIndex = -1;
    flame[to].tabIndex = 0;
    flame[to].focus();
  }));

  readColours();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); redraw(); });
  new ResizeObserver(redraw).observe(box);
  draw();
})();
