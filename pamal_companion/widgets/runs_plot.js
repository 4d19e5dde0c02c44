// The picture of the widget over all records: fronts and single networks, by two metrics.

const [NEAR, LABELLED] = [30, 8]; // pixels to a pointer; so many settings have their names beside them
const SEED_CORNERS = [[0, 0], [4, 45], [3, 0], [4, 0], [3, 180], [5, 0], [3, 90], [3, 270], [6, 0], [8, 22]];
/** The corners of each seed's mark on a circle: none for a circle, a square, a triangle, ... */
const SEED_SHAPES = SEED_CORNERS.map(([corners, turn]) => Array.from({ length: corners }, (_, k) => {
  const angle = ((turn - 90 + (360 * k) / corners) * Math.PI) / 180;
  return [1.2 * Math.cos(angle), 1.2 * Math.sin(angle)];
}));

/** The path of a seed's mark with this radius about a point. */
function seedMark(seed, x, y, r) {
  const shape = SEED_SHAPES[seed % SEED_SHAPES.length];
  if (!shape.length) return `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
  return `M${shape.map(([dx, dy]) => `${(x + dx * r).toFixed(1)} ${(y + dy * r).toFixed(1)}`).join("L")}z`;
}

/** What is drawn of each shown setting: { setting, nth, traces }, a trace for each of its runs; it is
 * the `nth` of its method. */
function tracesOf(state) {
  const seen = {};
  return state.show.map((setting) => {
    const { name } = setting.method;
    seen[name] = (seen[name] ?? -1) + 1;
    const traces = chosenRuns(setting, state).filter((run) => run.points[state.split]).map((run) =>
      ({ run, xs: run.points[state.split][state.x], ys: run.points[state.split][state.y] }));
    return { setting, nth: seen[name], traces: traces.filter(({ xs, ys }) => xs || ys) };
  });
}

/** Which points of a trace no other of it is better than, by the two metrics of the axes. */
function keptIn({ xs, ys }, { experiment: { higher }, x, y }) {
  if (!xs || !ys) return [];
  const [a, b] = [[xs, x], [ys, y]].map(([values, metric]) =>
    values.map((value) => (higher[metric] ? value : -value)));
  return a.map((u, p) => !a.some((v, q) =>
    v >= u && b[q] >= b[p] && (v > u || b[q] > b[p])));
}

/** Some traces of one setting in pixels, as SVG: few long paths, which browsers draw faster than many
 * short ones. Where a task was not measured a network is a line across. */
function tracesSvg(traces, frame, state) {
  const { x, y, box } = frame;
  const d = { across: "", line: "", better: "", worse: "" };
  traces.forEach((trace) => {
    const { run, xs, ys } = trace;
    if (!ys) d.across += xs.map((v) => `M${x(v).toFixed(1)} ${box.top}V${box.bottom}`).join("");
    else if (!xs) d.across += ys.map((v) => `M${box.left} ${y(v).toFixed(1)}H${box.right}`).join("");
    else {
      const radius = xs.length > 1 ? 3.2 : 5;
      const isLine = xs.length > 1 && run.alphas[0].length === 2;
      if (isLine) d.line += pathThrough(xs.map((v, p) => [v, ys[p]]), frame);
      keptIn(trace, state).forEach((isKept, p) => {
        d[isKept ? "better" : "worse"] += seedMark(run.seed, x(xs[p]), y(ys[p]), radius);
      });
    }
  });
  const kinds = { across: "pw-trace pw-across", line: "pw-trace", better: "pw-better", worse: "pw-worse" };
  return Object.entries(d).map(([kind, path]) => (path ? `<path class="${kinds[kind]}" d="${path}"/>` : ""))
    .join("");
}

/** Where the pointer can find a network: { run, point, px, py }, null along a line across. */
function hitsOf(items, { x, y }) {
  return items.flatMap(({ traces }) => traces.flatMap(({ run, xs, ys }) =>
    (xs ?? ys).map((_, point) =>
      ({ run, point, px: xs ? x(xs[point]) : null, py: ys ? y(ys[point]) : null }))));
}

/** How far, in pixels, a point is from a hit. */
function farFrom({ px, py }, x, y) {
  return Math.hypot(px === null ? 0 : px - x, py === null ? 0 : py - y);
}

/** The names of the shown settings beside their marks, where they hide least, as SVG. */
function labelsSvg(items, hits, { box }) {
  const placed = [];
  return items.map(({ setting, nth }) => {
    const most = Math.floor((box.right - box.left) / 13);
    const text = setting.label.length > most ? `${setting.label.slice(0, most - 1)}…` : setting.label;
    const size = [text.length * 6.9, 13]; // a bold letter takes about so much of 12 pixels
    const places = placesOf(hits.filter(({ run }) => run.setting === setting), size, box);
    const cost = ([left, top]) => {
      const covers = (px, py, margin) => px > left - margin && px < left + size[0] + margin
        && py > top - margin && py < top + size[1] + margin;
      const hidden = hits.filter(({ px, py }) => covers(px ?? left, py ?? top, 2)).length;
      const clash = placed.some(([l, t, w]) => left < l + w && l < left + size[0] && Math.abs(top - t) < 14);
      return hidden + (clash ? 1000 : 0);
    };
    const costs = places.map(cost);
    const [left, top] = places[costs.indexOf(Math.min(...costs))] ?? [];
    if (left === undefined) return "";
    placed.push([left, top, size[0]]);
    const safe = text.replace(/[&<]/g, (sign) => `&#${sign.charCodeAt(0)};`);
    return `<text class="pw-run-label ${lookOf(nth)}" style="${colourOf(setting)}" x="${left.toFixed(1)}" `
      + `y="${(top + 10).toFixed(1)}">${safe}</text>`;
  }).join("");
}

/** The places [left, top] for a text of this size about some hits, all within the box. */
function placesOf(hits, [width, height], { left, right, top, bottom }) {
  const every = Math.ceil(hits.length / 60);
  const around = hits.filter((_, k) => k % every === 0).flatMap(({ px, py }) => {
    const xs = px === null ? [left + 4, right - width - 4] : [px + 8, px - width - 8, px - width / 2];
    const ys = py === null ? [top + 2, top + 20, bottom - 20, bottom - 38] : [py - height / 2, py - 20, py + 8];
    return xs.flatMap((x) => ys.map((y) => [x, y]));
  });
  return around.filter(([x, y]) => x >= left && x + width <= right && y >= top && y + height <= bottom);
}

/** The colour of a setting's method, as a style. */
function colourOf(setting) {
  return `--pw-method: ${setting.method.colour}`;
}

/** The class by which one tells settings of one method apart. */
function lookOf(nth) {
  return `pw-run pw-look-${nth % 4}`;
}

/** The range of an axis over what is shown, or as it is zoomed. */
function rangeOf(items, name, zoom) {
  const values = items.flatMap(({ traces }) => traces.flatMap((trace) => trace[name] ?? []));
  return zoom ?? (values.length ? extent(values) : [0, 1]);
}

/** The picture of a state: its <svg> `node`, what can be hit, and scales. */
function drawRuns(state, width) {
  const items = tracesOf(state);
  const flat = items.flatMap(({ traces }) => traces);
  const titled = (metric) => metricText(state.experiment, metric)
    .replace(/.$/, (arrow) => (arrow === "↑" ? "(higher is better)" : "(lower is better)"));
  const frame = plot({ label: "", x: rangeOf(items, "xs", state.zoom?.x),
    y: rangeOf(items, "ys", state.zoom?.y), titles: [titled(state.x), titled(state.y)],
    width, height: Math.round(clamp(width * 0.72, 290, 470)) });
  const hits = hitsOf(items, frame);
  const seen = hits.filter((hit) => isInside(hit, frame.box));
  const groups = items.map(({ setting, nth, traces }) => `<g class="${lookOf(nth)}" `
    + `style="${colourOf(setting)}">${tracesSvg(traces, frame, state)}</g>`);
  const labels = items.length <= LABELLED ? labelsSvg(items, seen, frame) : "";
  const clip = `pw-clip-${Math.random().toString(36).slice(2)}`;
  const { left, right, top, bottom } = frame.box;
  frame.layer.innerHTML = `<clipPath id="${clip}"><rect x="${left}" y="${top}" width="${right - left}" `
    + `height="${bottom - top}"/></clipPath><g ${state.zoom ? `clip-path="url(#${clip})"` : ""}>${groups.join("")}</g>${labels}`;
  const mark = s("g", { class: "pw-at" });
  frame.layer.append(mark);
  fill(frame.node, { "aria-hidden": "true", role: null, "aria-label": null }, []);
  return { ...frame, items, hits: seen, mark };
}

/** Whether a hit lies in the box of a plot. */
function isInside({ px, py }, { left, right, top, bottom }) {
  return (px === null || (px >= left - 1 && px <= right + 1))
    && (py === null || (py >= top - 1 && py <= bottom + 1));
}

/** Marks the network that is looked at, and its front, over all others. */
function markAt({ items, mark, ...frame }, state) {
  const { at } = state;
  const item = at && items.find(({ setting }) => setting === at.run.setting);
  const trace = item?.traces.find(({ run }) => run === at.run);
  mark.innerHTML = "";
  if (!trace) return;
  const { box } = frame;
  const px = trace.xs ? frame.x(trace.xs[at.point]) : (box.left + box.right) / 2;
  const py = trace.ys ? frame.y(trace.ys[at.point]) : (box.top + box.bottom) / 2;
  const isIn = isInside({ px, py }, box);
  mark.innerHTML = `<g class="${lookOf(item.nth)}" style="${colourOf(item.setting)}">`
    + `${tracesSvg([trace], frame, state)}</g>`
    + (isIn ? `<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="9"/>` : "");
}

/** The network that an arrow key leads to: along its front, or to the next front. */
function stepFrom({ items }, { run, point }, dx, dy) {
  const flat = items.flatMap(({ traces }) => traces);
  const place = flat.findIndex((trace) => trace.run === run);
  const to = flat[clamp(place + dy, 0, flat.length - 1)] ?? null;
  return to && { run: to.run, point: clamp(point + dx, 0, to.run.alphas.length - 1) };
}
