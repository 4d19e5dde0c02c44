// What is drawn of a front: the axes, flat or turned, the points, a bound, and what others achieve.
// A view is { axes: names of two or three columns, bound: { name, value } or null, angle }.

const FLAT = { width: 360, height: 300, top: 18 };

/** The intervals that hold the columns of the axes, and what others achieve there. */
function rangesOf(front, { axes }, beside, share) {
  return axes.map((name) => extent([...front.columns[name],
    ...beside.map(({ values }) => values[name]).filter(Number.isFinite)], share));
}

/** A plot of two columns with what others achieve: { svg, layer, at(values), frame, marks }.
 * @param {{ label: string, values: Object<string, number> }[]} beside */
function drawFlat(front, tasks, view, beside) {
  const { axes } = view;
  const [x, y] = rangesOf(front, view, beside, 0.08);
  const frame = plot({ label: `${inWords(axes[1])} against ${inWords(axes[0])}`, x, y, ...FLAT,
    titles: axes.map((name) => titled(front, name)),
    kinds: axes.map((name) => `pw-task ${taskKind(tasks.indexOf(taskOf(name)))}`) });
  const marks = [...beside.flatMap((other) => besideMarks(other, tasks, axes, frame)),
    ...boundMarks(front, view, frame)];
  return { svg: frame.node, layer: frame.layer, frame: { ...frame.box, top: 0, right: FLAT.width }, marks,
    at: (values) => [frame.x(values[axes[0]]), frame.y(values[axes[1]])] };
}

/** A mark with its name, in the colour of its method, which is that of which its name speaks. A mark is { nodes, label, box, isThin }: no label may lie on the box, or
 * where it is thin, none should. */
function diamond([x, y], text, method = text) {
  return { nodes: [s("path", { class: `pw-other ${methodKind(method)}`, d: `M${x} ${y}m0 -7l6 7l-6 7l-6 -7Z` })],
    label: { text, kind: "", places: placesAround([x, y], 10) }, box: boxAround([x, y], 7) };
}

/** A line across a plot, along which its name stands: at `value` of axis 0 or 1. */
function lineAcross(t, at, { left, right, top, bottom }, kind, text) {
  const ends = t === 0 ? { x1: at, x2: at, y1: top, y2: bottom } : { x1: left, x2: right, y1: at, y2: at };
  return { nodes: [s("line", { class: kind, ...ends })], isThin: true,
    label: { text, kind, places: placesAlong(ends) },
    box: { left: ends.x1 - 1, right: ends.x2 + 1, top: ends.y1 - 1, bottom: ends.y2 + 1 } };
}

/** What one other network achieves: a diamond, or a line across where it has only one of the two. */
function besideMarks({ label, method, values }, tasks, axes, { x, y, box }) {
  const at = [x(values[axes[0]]), y(values[axes[1]])];
  const known = [0, 1].filter((t) => Number.isFinite(at[t]));
  if (known.length === 2) return [diamond(at, label, method)];
  return known.map((t) => lineAcross(t, at[t], box,
    `pw-alone ${taskKind(tasks.indexOf(taskOf(axes[t])))}`, label));
}

/** The line of a bound, and a shade over what misses it. */
function boundMarks(front, { axes, bound }, { x, y, box }) {
  if (!bound) return [];
  const isUp = isMaximised(front, bound.name);
  const { left, right, top, bottom } = box;
  const t = axes.indexOf(bound.name);
  const at = t === 0 ? clamp(x(bound.value), left, right) : clamp(y(bound.value), top, bottom);
  const line = lineAcross(t, at, box, "pw-bound", `${isUp ? "at least" : "at most"} ${bound.value}`);
  const [from, to] = t === 0 ? (isUp ? [left, at] : [at, right]) : (isUp ? [at, bottom] : [top, at]);
  const shade = t === 0 ? { x: from, width: to - from, y: top, height: bottom - top }
    : { x: left, width: right - left, y: from, height: to - from };
  return [{ ...line, label: { ...line.label, kind: "" },
    nodes: [s("rect", { class: "pw-missed", ...shade }), ...line.nodes] }];
}

/** The same for three columns, x, y (upwards) and z, seen from an angle (radians) and from above. */
function drawTurned(front, view, beside) {
  const { axes, angle } = view;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const ranges = rangesOf(front, view, beside, 0.06);
  const scales = ranges.map((range) => linear(range, [0, 1]));
  const flat = ([u, v, w]) => [54 + 165 * (u * cos + (1 - w) * sin),
    205 - 140 * v + 60 * (u * sin - (1 - w) * cos)];
  const at = (values) => flat(scales.map((scale, t) => scale(values[axes[t]])));
  const svg = s("svg", { class: "pw-plot", viewBox: "0 0 340 290", role: "group",
    "aria-label": axes.map(inWords).join(", "), style: "max-width: 400px" });
  const layer = s("g");
  const marks = beside.filter(({ values }) => axes.every((name) => name in values))
    .map(({ label, method, values }) => diamond(at(values), label, method));
  svg.append(s("g", { class: "pw-axes", "aria-hidden": "true" },
    ...[0, 1, 2].flatMap((t) => [...edgesAlong(t, flat), ...ticksAlong(t, flat, ranges[t])])), layer);
  return { svg, layer, at, marks, frame: { left: 0, right: 340, top: 0, bottom: 290 } };
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

/** The points at their places [P][2]: filled where none dominates them in what is shown, pale where
 * they miss the bound. */
function pointMarks(front, view, places) {
  const kept = keptOf(front, goalsOf(front, view.axes));
  const isMet = feasible(front, view.bound);
  const order = front.alphas.map((_, p) => p).sort((p, q) => kept[p] - kept[q]);
  return order.map((p) => s("circle", { cx: places[p][0], cy: places[p][1], r: kept[p] ? 4 : 2.8,
    class: `${kept[p] ? "pw-kept" : "pw-dominated"}${isMet[p] ? "" : " pw-out"}` }));
}

/** The names of all marks, and the numbers of the members beside their points. */
function labelsOf(front, { marks, frame }, places) {
  const members = front.alphas.map((alpha, p) => [alpha.indexOf(1), places[p]])
    .filter(([k]) => k >= 0)
    .map(([k, place]) => ({ text: `${k + 1}`, kind: `pw-task ${taskKind(k)}`, places: placesAround(place, 12) }));
  const [firm, thin] = [false, true].map((isThin) => marks.filter((mark) => Boolean(mark.isThin) === isThin));
  // What the ring covers, as wide as it is, cannot be read.
  const inTheWay = [...thin.map(({ box }) => box), ...places.map((place) => boxAround(place, 11))];
  const named = marks.map(({ label }) => label).filter(({ text }) => text);
  return placedLabels([...members, ...named], frame, firm.map(({ box }) => box),
    inTheWay);
}

/** What is drawn on the axes of `drawFlat` or `drawTurned`. */
function frontMarks(front, view, drawn, places) {
  return s("g", { "aria-hidden": "true" }, ...drawn.marks.flatMap(({ nodes }) => nodes),
    ...pointMarks(front, view, places), ...labelsOf(front, drawn, places));
}

/** What the marks are. */
function frontLegend() {
  const circle = (kind, r) => [s("circle", { class: kind, cx: 14, cy: 6, r })];
  return legendOf([circle("pw-kept", 4), "not dominated"], [circle("pw-dominated", 2.8), "dominated"],
    [circle("pw-ring", 5), "where you are"]);
}
