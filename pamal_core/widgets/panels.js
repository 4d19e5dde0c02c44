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

/** The measured points by two columns of the reader's choice, and the point that is looked at. */
function frontPanel(front) {
  const names = Object.keys(front.columns);
  const chosen = [0, 1].map((t) => (front.objectives[t] ?? front.objectives[0]).name);
  const holder = h("div");
  let marker;
  let last = null;
  const show = (values) => {
    last = values;
    const [x, y] = [marker.x(values[chosen[0]]), marker.y(values[chosen[1]])];
    fill(marker.node, { transform: `translate(${x} ${y})` }, []);
  };
  const draw = () => {
    marker = drawFront(front, chosen, holder);
    if (last) show(last);
  };
  const select = (t) => h("select", { "aria-label": `${t ? "vertical" : "horizontal"} axis`,
    change: (event) => { chosen[t] = event.target.value; draw(); } },
    ...names.map((name) => h("option", { value: name, selected: name === chosen[t] }, inWords(name))));
  const axes = names.length > 2
    ? [h("div", { class: "pw-controls" }, select(1), " against ", select(0))] : [];
  draw();
  return { node: h("div", {}, holder, ...axes), show };
}

/** Draws all points into `holder`; returns the marker and the scales that place it. */
function drawFront(front, [first, second], holder) {
  const { node, layer, x, y } = plot({
    label: `${inWords(second)} against ${inWords(first)}`,
    x: extent(front.columns[first]), y: extent(front.columns[second]),
    titles: [titled(front, first), titled(front, second)],
  });
  const [dominated, kept] = [s("g"), s("g")]; // what is kept lies on top
  layer.append(dominated, kept);
  front.alphas.forEach((alpha, p) => {
    const isKept = dominators(front, better(front, p)) === 0;
    (isKept ? kept : dominated).append(s("circle", { cx: x(front.columns[first][p]), cy: y(front.columns[second][p]),
      r: isKept ? 3.5 : 2.5, class: isKept ? "pw-kept" : "pw-dominated" }));
    if (Math.max(...alpha) < 1) return;
    layer.append(s("text", { x: x(front.columns[first][p]) + 7, y: y(front.columns[second][p]) + 4 },
      `${alpha.indexOf(1) + 1}`));
  });
  const ring = s("g", { class: "pw-here" }, s("circle", { r: 9 }), s("circle", { r: 2.5 }));
  layer.append(ring);
  holder.replaceChildren(node);
  return { node: ring, x, y };
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

/** Cards with the chosen inputs, what they are, and what the network says of them.
 * @param {string[]} pictures data URIs, or "" @param {string[]} names */
function cards(pictures, names, tasks) {
  const lines = pictures.map(() => h("figcaption"));
  const nodes = pictures.map((picture, i) => h("figure", { class: "pw-card" },
    ...(picture ? [h("img", { src: picture, alt: "" })] : []),
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
