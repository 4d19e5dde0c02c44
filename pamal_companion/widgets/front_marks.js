// What is drawn of a front: the axes, flat or turned, the points, a bound, and what others achieve.
// A view is { axes: names of two or three columns, bound: { name, value } or null, angle }.

const FLAT = { width: 360, height: 300 };

/** The intervals that hold the columns of the axes, and what others achieve there. */
function rangesOf(front, { axes }, beside, share) {
  return axes.map((name) => extent([...front.columns[name],
    ...beside.map(({ values }) => values[name]).filter(Number.isFinite)], share));
}

/** A plot of two columns with what others achieve: { svg, layer, at(values) }.
 * @param {{ label: string, values: Object<string, number> }[]} beside */
function drawFlat(front, tasks, view, beside) {
  const { axes } = view;
  const [x, y] = rangesOf(front, view, beside, 0.08);
  const frame = plot({ label: `${inWords(axes[1])} against ${inWords(axes[0])}`, x, y, ...FLAT,
    titles: axes.map((name) => titled(front, name)),
    kinds: axes.map((name) => `pw-task ${taskKind(tasks.indexOf(taskOf(name)))}`) });
  frame.layer.append(...boundMarks(front, view, frame),
    ...beside.flatMap((other) => besideMarks(other, tasks, axes, frame)));
  return { svg: frame.node, layer: frame.layer,
    at: (values) => [frame.x(values[axes[0]]), frame.y(values[axes[1]])] };
}

/** A mark with its name. */
function diamond([x, y], label) {
  return [s("path", { class: "pw-other", d: `M${x} ${y}m0 -7l6 7l-6 7l-6 -7Z` }),
    s("text", { class: "pw-tip", x: x - 10, y: y + 4, "text-anchor": "end" }, label)];
}

/** What one other network achieves: a diamond, or a line across where it has only one of the two. */
function besideMarks({ label, values }, tasks, axes, { x, y, box }) {
  const [a, b] = axes.map((name) => values[name]);
  const [hasA, hasB] = [Number.isFinite(a), Number.isFinite(b)];
  if (hasA && hasB) return diamond([x(a), y(b)], label);
  if (!hasA && !hasB) return [];
  const kind = `pw-alone ${taskKind(tasks.indexOf(taskOf(hasA ? axes[0] : axes[1])))}`;
  const ends = hasA ? { x1: x(a), x2: x(a), y1: box.top, y2: box.bottom }
    : { x1: box.left, x2: box.right, y1: y(b), y2: y(b) };
  const place = hasA ? { x: box.right + 8, y: box.top - 3, "text-anchor": "end" }
    : { x: box.left + 4, y: y(b) - 4 };
  return [s("line", { class: kind, ...ends }), s("text", { class: `${kind} pw-tip`, ...place }, label)];
}

/** The line of a bound, and a shade over what misses it. */
function boundMarks(front, { axes, bound }, { x, y, box }) {
  if (!bound) return [];
  const isUp = isMaximised(front, bound.name);
  const text = `${isUp ? "at least" : "at most"} ${bound.value}`;
  const { left, right, top, bottom } = box;
  if (axes.indexOf(bound.name) === 0) {
    const at = clamp(x(bound.value), left, right);
    const [from, to] = isUp ? [left, at] : [at, right];
    return [s("rect", { class: "pw-missed", x: from, width: to - from, y: top, height: bottom - top }),
      s("line", { class: "pw-bound", x1: at, x2: at, y1: top, y2: bottom }),
      s("text", { class: "pw-tip", x: at + (at > 200 ? -5 : 5), y: bottom - 6,
        "text-anchor": at > 200 ? "end" : "start" }, text)];
  }
  const at = clamp(y(bound.value), top, bottom);
  const [from, to] = isUp ? [at, bottom] : [top, at];
  return [s("rect", { class: "pw-missed", x: left, width: right - left, y: from, height: to - from }),
    s("line", { class: "pw-bound", x1: left, x2: right, y1: at, y2: at }),
    s("text", { class: "pw-tip", x: left + 5, y: at + (isUp ? 15 : -6) }, text)];
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
  const layer = s("g", {}, ...beside.filter(({ values }) => axes.every((name) => name in values))
    .flatMap(({ label, values }) => diamond(at(values), label)));
  svg.append(s("g", { class: "pw-axes", "aria-hidden": "true" },
    ...[0, 1, 2].flatMap((t) => [...edgesAlong(t, flat), ...ticksAlong(t, flat, ranges[t])])), layer);
  return { svg, layer, at };
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
 * they miss the bound; those of one member have its number beside them. */
function pointMarks(front, view, places) {
  const kept = keptOf(front, goalsOf(front, view.axes));
  const isMet = feasible(front, view.bound);
  const order = front.alphas.map((_, p) => p).sort((p, q) => kept[p] - kept[q]);
  const circles = order.map((p) => s("circle", { cx: places[p][0], cy: places[p][1], r: kept[p] ? 4 : 2.8,
    class: `${kept[p] ? "pw-kept" : "pw-dominated"}${isMet[p] ? "" : " pw-out"}` }));
  const members = front.alphas.map((alpha, p) => [alpha.indexOf(1), places[p]])
    .filter(([k]) => k >= 0);
  const names = members.map(([k, [x, y]]) => s("text", { x: x + (x < 200 ? -8 : 8), y: y + 4,
    "text-anchor": x < 200 ? "end" : "start", class: `pw-tip pw-task ${taskKind(k)}` }, `${k + 1}`));
  return s("g", { "aria-hidden": "true" }, ...circles, ...names);
}

/** What the marks are. */
function frontLegend(view) {
  const sample = (...marks) => s("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" }, ...marks);
  const circle = (kind, r) => s("circle", { class: kind, cx: 14, cy: 6, r });
  const shown = view.axes.length > 2 ? "the three quantities" : "the two quantities";
  return h("p", { class: "pw-legend" },
    h("span", {}, sample(circle("pw-kept", 4)), `not dominated in ${shown} shown`),
    h("span", {}, sample(circle("pw-dominated", 2.8)), "dominated"),
    h("span", {}, sample(circle("pw-ring", 5)), "where you are"));
}
