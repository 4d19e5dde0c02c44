// The parts of the explorer. Each returns its element as `node`, and `show(...)` that brings it up
// to date.

const CORNERS = { 2: [[24, 24], [316, 24]], 3: [[40, 228], [280, 228], [160, 24]] };

/** Where alpha is moved: a segment, a triangle or, for more members, linked sliders. */
function alphaControl(tasks, alpha, onChange) {
  const corners = CORNERS[alpha.length];
  if (!corners) return sliders(tasks, alpha, onChange);
  const isTriangle = alpha.length === 3;
  const box = isTriangle ? "0 0 320 256" : "0 0 340 48";
  const node = s("svg", { viewBox: box, role: "group", "aria-label": "alpha" });
  const track = s(isTriangle ? "polygon" : "polyline", { points: corners.join(" "),
    class: "pw-track" });
  node.append(track);
  track.addEventListener("click", (event) => {
    const point = planeToSimplex(corners, ...pointerIn(node, event));
    show(point);
    onChange(point);
  });
  const text = (point) => point.map((v, k) => `${tasks[k]} ${v.toFixed(2)}`).join(", ");
  const show = simplexHandle(node, corners, { alpha, label: "alpha", text, onChange });
  const names = tasks.map((task, k) => `member ${k + 1}: ${task}`);
  const ends = isTriangle ? [] : [h("div", { class: "pw-ends" }, ...names.map((n) => h("span", {}, n)))];
  if (isTriangle) node.prepend(...cornerNames(names));
  return { node: h("div", { class: `pw-control pw-control-${alpha.length}` }, node, ...ends), show };
}

/** The names of a triangle's corners beside them. */
function cornerNames(names) {
  const places = [[4, 250, "start"], [316, 250, "end"], [160, 10, "middle"]];
  return places.map(([x, y, anchor], k) => s("text", { x, y, "text-anchor": anchor }, names[k]));
}

/** One slider for each member; moving one scales the others, so that all sum to 1. */
function sliders(tasks, alpha, onChange) {
  let here = alpha;
  const inputs = tasks.map((task, k) => h("input", {
    type: "range", min: 0, max: 1, step: 0.01, "aria-label": `alpha of ${task}`,
    input: (event) => {
      here = linked(here, k, Number(event.target.value));
      show(here);
      onChange(here);
    },
  }));
  const show = (point) => {
    here = point;
    inputs.forEach((input, k) => { input.value = point[k]; });
  };
  show(alpha);
  const rows = tasks.map((task, k) => h("label", { class: "pw-slider" }, `${task} `, inputs[k]));
  return { node: h("div", {}, ...rows), show };
}

/** `alpha` with entry `k` set to `value` and the others scaled to fill what is left. */
function linked(alpha, k, value) {
  const rest = 1 - alpha[k];
  const share = (v) => (rest > 0 ? (v / rest) * (1 - value) : (1 - value) / (alpha.length - 1));
  return alpha.map((v, j) => (j === k ? value : share(v)));
}

/** The measured points by two columns of the reader's choice, or three, and the point that is
 * looked at. */
function frontPanel(front) {
  const names = Object.keys(front.columns);
  const chosen = [0, 1, 2].map((t) => front.objectives[t]?.name ?? null);
  if (!chosen[1]) chosen[1] = names.find((name) => name !== chosen[0]) ?? chosen[0];
  const holder = h("div");
  let [marker, last, angle] = [null, null, 0.6];
  const show = (values) => {
    last = values;
    fill(marker.node, { transform: `translate(${marker.at(values)})` }, []);
  };
  const draw = () => {
    marker = chosen[2] ? drawTurned(front, chosen, angle) : drawFlat(front, chosen);
    holder.replaceChildren(marker.svg);
    turn.hidden = !chosen[2];
    if (last) show(last);
  };
  const choice = (t, label) => axisChoice(names, chosen[t], label, t === 2, (name) => {
    chosen[t] = name;
    draw();
  });
  const turn = h("input", { type: "range", min: 0.1, max: 1.47, step: 0.01, value: angle,
    "aria-label": "turn", input: () => { angle = Number(turn.value); draw(); } });
  const axes = chosen[2] ? ["x", "y", "z"].map((name, t) =>
    h("span", { class: "pw-pair" }, `${name} `, choice(t, `axis ${name}`)))
    : [choice(1, "vertical axis"), " against ", choice(0, "horizontal axis")];
  draw();
  return { node: h("div", {}, holder, h("div", { class: "pw-controls" }, ...axes, turn)), show };
}

/** A choice of a column; an empty one where `isOptional`. */
function axisChoice(names, chosen, label, isOptional, onChange) {
  const all = isOptional ? [...names, ""] : names;
  return h("select", { "aria-label": label, change: (event) => onChange(event.target.value) },
    ...all.map((value) => h("option", { value, selected: value === chosen },
      value ? inWords(value) : "no third axis")));
}

/** Draws all points at `places` [P][2] into `layer`, and what moves among them. */
function drawPoints(front, layer, places) {
  const [dominated, kept, ends] = [s("g"), s("g"), s("g")]; // what is kept lies on top
  front.alphas.forEach((alpha, p) => {
    const [cx, cy] = places[p];
    const isKept = dominators(front, better(front, p)) === 0;
    (isKept ? kept : dominated).append(s("circle", { cx, cy, r: isKept ? 3.5 : 2.5,
      class: isKept ? "pw-kept" : "pw-dominated" }));
    if (Math.max(...alpha) < 1) return;
    ends.append(s("text", { x: cx + 7, y: cy + 4 }, `${alpha.indexOf(1) + 1}`));
  });
  const ring = s("g", { class: "pw-here" }, s("circle", { r: 9 }), s("circle", { r: 2.5 }));
  layer.append(dominated, kept, ends, ring);
  return ring;
}

/** The values of every point by name: Object[P]. */
function rowsOf({ alphas, columns }) {
  return alphas.map((_, p) =>
    Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[p]])));
}

/** A plot of two columns: its <svg>, the marker, and `at(values)`, where the marker belongs. */
function drawFlat(front, [first, second]) {
  const { node, layer, x, y } = plot({
    label: `${inWords(second)} against ${inWords(first)}`,
    x: extent(front.columns[first]), y: extent(front.columns[second]),
    titles: [titled(front, first), titled(front, second)],
  });
  const at = (values) => [x(values[first]), y(values[second])];
  return { svg: node, node: drawPoints(front, layer, rowsOf(front).map(at)), at };
}

/** The same for three columns, x, y (upwards) and z, seen from `angle` (radians) and from above. */
function drawTurned(front, names, angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const ranges = names.map((name) => extent(front.columns[name]));
  const scales = ranges.map((range) => linear(range, [0, 1]));
  const flat = ([u, v, w]) => [54 + 165 * (u * cos + (1 - w) * sin),
    205 - 140 * v + 60 * (u * sin - (1 - w) * cos)];
  const at = (values) => flat(scales.map((scale, t) => scale(values[names[t]])));
  const svg = s("svg", { class: "pw-plot", viewBox: "0 0 340 290", role: "group",
    "aria-label": names.map(inWords).join(", "), style: "max-width: 340px" });
  svg.append(s("g", { class: "pw-axes", "aria-hidden": "true" },
    ...[0, 1, 2].flatMap((t) => [...edgesAlong(t, flat), ...ticksAlong(t, flat, ranges[t])])));
  return { svg, node: drawPoints(front, svg, rowsOf(front).map(at)), at };
}

/** `corner` of a square, with `value` put in as coordinate `t`: a point of a cube. */
function pointAt(t, value, corner) {
  return [...corner.slice(0, t), value, ...corner.slice(t)];
}

/** The four edges of a cube along axis `t`. */
function edgesAlong(t, flat) {
  return [[0, 0], [0, 1], [1, 0], [1, 1]].map((corner) => s("polyline", { class: "pw-edge",
    points: [0, 1].map((end) => flat(pointAt(t, end, corner))).join(" ") }));
}

/** The numbers of axis `t` beside the edge of the cube that nothing hides, and its letter. */
function ticksAlong(t, flat, range) {
  const [corner, dx, dy, anchor] = [[[0, 1], -3, 14, "end"], [[0, 1], -5, 4, "end"],
    [[1, 0], 3, 14, "start"]][t];
  const scale = linear(range, [0, 1]);
  const text = (share, words, far, kind) => {
    const [x, y] = flat(pointAt(t, share, corner));
    return s("text", { x: x + dx * far, y: y + dy * (t === 1 ? 1 : far), "text-anchor": anchor,
      class: kind }, words);
  };
  const letter = text(t === 1 ? 1.08 : 0.5, "xyz"[t], t === 1 ? 1 : 2.4, "pw-title");
  return [...tickTexts(...range).map(([value, words]) => text(scale(value), words, 1, "")), letter];
}

/** A table with a row for each task and a column for each of its metrics. */
function metricsTable(front, tasks) {
  const cells = {};
  const metrics = [...new Set(Object.keys(front.columns).map((n) => n.split("/").pop()))];
  const arrow = (m) => (isMaximised(front, Object.keys(front.columns)
    .find((n) => n.endsWith(`/${m}`))) ? "↑" : "↓");
  const head = h("tr", {}, h("th", { scope: "col" }, "task"),
    ...metrics.map((m) => h("th", { scope: "col" }, `${m} ${arrow(m)}`)));
  const rows = tasks.map((task) => h("tr", {}, h("th", { scope: "row" }, task),
    ...metrics.map((m) => (cells[`${task}/${m}`] = h("td")))));
  const show = (values) => Object.entries(cells).forEach(([name, cell]) => {
    cell.textContent = name in values ? values[name].toFixed(4) : "";
  });
  const table = h("table", { class: "pw-table pw-numbers" }, h("thead", {}, head),
    h("tbody", {}, ...rows));
  return { node: table, show };
}

/** One prediction: what is said, how sure, and whether it is right (by sign, word and weight).
 * @param {{ text: string, share?: number, right?: boolean }} prediction */
function predictionLine(task, { text, share, right }) {
  const verdict = right === undefined || right === null ? "" : right ? "✓" : "✗";
  const sure = share === undefined || share === null ? "" : ` ${share.toFixed(3)}`;
  return h("div", { class: `pw-line ${right === false ? "pw-wrong" : ""}`, title: task },
    h("span", { "aria-hidden": "true" }, `${verdict} `),
    h("span", { class: "pw-hidden" }, `${task}: ${verdict && (right ? "right, " : "wrong, ")}`),
    h("b", {}, text), h("span", { class: "pw-numbers pw-sure" }, sure));
}

/** Cards with the chosen inputs, what they are, and what the network says of them. The book's theme
 * leaves images of class "dark-light" as they are when it is dark.
 * @param {string[]} pictures data URIs, or "" @param {string[]} names */
function cards(pictures, names, tasks) {
  const lines = pictures.map(() => h("figcaption"));
  const nodes = pictures.map((picture, i) => h("figure", { class: "pw-card" },
    ...(picture ? [h("img", { src: picture, alt: "", class: "dark-light" })] : []),
    h("div", { class: "pw-name" }, names[i]), lines[i]));
  const show = (predictions) => predictions.forEach((ofTasks, i) => {
    lines[i].replaceChildren(...ofTasks.map((p, t) => predictionLine(tasks[t], p)));
  });
  return { node: h("div", { class: "pw-cards" }, ...nodes), show };
}

/** A condition on one objective; `onChoose(p)` gets the index of the best point that meets it. */
function condition(front, onChoose) {
  const said = h("output", { class: "pw-note" });
  const select = h("select", { "aria-label": "objective of the condition" },
    ...front.objectives.map((o, t) => h("option", { value: t }, inWords(o.name))));
  const word = h("span");
  const bound = h("input", { type: "number", step: 0.001, "aria-label": "bound of the condition" });
  const best = (t) => (front.objectives[t].maximise ? Math.max : Math.min)(
    ...front.columns[front.objectives[t].name]);
  const suggest = () => {
    const [t] = [Number(select.value)];
    const values = [...front.columns[front.objectives[t].name]].sort((a, b) => a - b);
    bound.value = values[Math.floor(values.length / 2)].toFixed(3);
    word.textContent = front.objectives[t].maximise ? "at least" : "at most";
  };
  const apply = () => {
    const t = Number(select.value);
    const p = choose(front, t, Number(bound.value));
    said.textContent = p === null ? `No measured point does. The best is ${best(t).toFixed(4)}.`
      : `Best compromise of those that do: alpha ${alphaText(front.alphas[p])}.`;
    if (p !== null) onChoose(p);
  };
  select.addEventListener("change", suggest);
  suggest();
  return { node: h("div", {}, h("div", { class: "pw-controls" }, select, word, bound,
    h("button", { type: "button", click: apply }, "Find the best α")), said) };
}
