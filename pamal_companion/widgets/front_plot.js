// The measured points by two or three quantities of the reader's choice, with a ring on them that is
// dragged, clicked to, or moved by keys.

/** The axes when the widget opens: the objectives, at most three. */
function firstAxes(front) {
  const names = Object.keys(front.columns);
  const axes = front.objectives.slice(0, 3).map(({ name }) => name);
  return axes.length > 1 ? axes : [axes[0], names.find((name) => name !== axes[0]) ?? axes[0]];
}

/** `axes` with `name` as axis `t`, or without a third one where it is empty. No quantity is on two
 * axes: where `name` is on another one, the two change places. */
function withAxis(axes, t, name, names) {
  if (!name) return axes.slice(0, 2);
  const next = [...axes];
  const other = axes.indexOf(name);
  if (other >= 0) next[other] = axes[t] ?? names.find((free) => !axes.includes(free));
  next[t] = name;
  return next;
}

/** The index of the place [P][2] nearest to (x, y). */
function nearestPlace(places, x, y) {
  const far = ([a, b]) => Math.hypot(a - x, b - y);
  return places.reduce((best, place, p) => (far(place) < far(places[best]) ? p : best), 0);
}

/** The indices of the points from the first member to the last. */
function alongAlpha({ alphas }) {
  return alphas.map((_, p) => p).sort((p, q) => alphas[q][0] - alphas[p][0]);
}

/** The point that a step of the arrow keys leads to from point `p`. With two members it goes along
 * the front, to the end that lies that way; else to the nearest point that way. */
function stepFrom(front, places, p, dx, dy) {
  if (front.alphas[0].length === 2) {
    const order = alongAlpha(front);
    const [first, last] = [places[order[0]], places[order.at(-1)]];
    const way = Math.sign(dx ? last[0] - first[0] : last[1] - first[1]) || 1;
    return order[clamp(order.indexOf(p) + way * (dx + dy), 0, order.length - 1)];
  }
  const size = Math.hypot(dx, dy);
  const cost = (q) => {
    const [x, y] = [0, 1].map((i) => places[q][i] - places[p][i]);
    const along = (x * dx + y * dy) / size;
    return along < 1 ? Infinity : along + 3 * Math.abs(x * dy - y * dx) / size;
  };
  return places.reduce((best, _, q) => (cost(q) < cost(best) ? q : best), p);
}

/** The ring: returns `place(at, p, words)`, which moves it to a place [2] without calling `onPoint`. */
function frontRing(svg, front, places, onPoint) {
  const order = alongAlpha(front);
  const grip = s("g", { class: "pw-here", role: "slider", "aria-label": "point of the front",
    "aria-valuemin": 1, "aria-valuemax": order.length },
  s("circle", { r: 20, class: "pw-halo" }), s("circle", { r: 9, class: "pw-ring" }));
  let here = 0;
  const toPoint = (x, y) => onPoint(nearestPlace(places, x, y));
  draggable(svg, grip, toPoint, (dx, dy) => onPoint(stepFrom(front, places, here, dx, dy)),
    (isEnd) => onPoint(order.at(isEnd ? -1 : 0)));
  svg.addEventListener("click", (event) => toPoint(...pointerIn(svg, event)));
  svg.append(grip);
  return (at, p, words) => {
    here = p;
    const isPlace = at.every(Number.isFinite);
    fill(grip, { transform: isPlace && `translate(${at})`, visibility: !isPlace && "hidden", "aria-valuenow": order.indexOf(p) + 1,
      "aria-valuetext": words });
  };
}

/** Selects of the axes: { nodes, show() }. */
function axisSelects(front, view, onAxes) {
  const names = Object.keys(front.columns);
  const labels = view.axes.length > 2 ? ["axis x", "axis y", "axis z"]
    : ["horizontal axis", "vertical axis"];
  const selects = labels.map((label, t) => h("select", { "aria-label": label,
    change: (event) => onAxes(withAxis(view.axes, t, event.target.value, names)) },
  ...names.map((name) => h("option", { value: name }, inWords(name))),
  ...(t === 2 ? [h("option", { value: "" }, "no third axis")] : [])));
  const show = () => selects.forEach((select, t) => { select.value = view.axes[t] ?? ""; });
  const nodes = labels.length > 2
    ? selects.map((select, t) => h("span", { class: "pw-pair" }, `${"xyz"[t]} `, select))
    : [selects[1], " against ", selects[0]];
  return { nodes, show };
}

/** The panel: { node, axes, draw(), show(known), hint() }. `view` is what it shows, see front_marks.js.
 * @param {(p: number) => void} onPoint @param {() => void} onAxes after `view.axes` has changed; it
 * draws */
function frontPanel(front, tasks, view, { beside, onPoint, onAxes }) {
  const holder = h("div");
  let [drawn, places, ring, last] = [null, null, null, null];
  const show = (known) => {
    last = known;
    ring(drawn.at(known.values), nearest(front, known.at), known.words);
  };
  const draw = () => {
    drawn = view.axes.length > 2 ? drawTurned(front, view, beside) : drawFlat(front, tasks, view, beside);
    places = front.alphas.map((_, p) => drawn.at(valuesAt(front, p)));
    drawn.layer.append(frontMarks(front, view, drawn, places));
    ring = frontRing(drawn.svg, front, places, onPoint);
    holder.replaceChildren(drawn.svg);
    turn.hidden = view.axes.length < 3;
    selects.show();
    if (last) show(last);
  };
  const turn = h("input", { type: "range", min: 0.1, max: 1.47, step: 0.01, value: view.angle,
    "aria-label": "turn", input: () => { view.angle = Number(turn.value); draw(); } });
  const selects = axisSelects(front, view, (axes) => { view.axes = axes; onAxes(); });
  const hint = () => showHand(drawn.svg, handsWay(front, places, nearest(front, last.at)));
  return { node: h("div", {}, holder, frontLegend()), draw, show, hint,
    axes: h("div", { class: "pw-controls" }, ...selects.nodes, turn) };
}

/** The places that the hand of the hint passes: from point `p` along the front and back. */
function handsWay(front, places, p) {
  const order = alongAlpha(front);
  const from = order.indexOf(p);
  const far = Math.ceil(order.length / 6) * (from > order.length / 2 ? -1 : 1);
  const way = Array.from({ length: 7 }, (_, n) => Math.round(from + (far * n) / 6));
  return [...way, ...way.toReversed()].map((n) => places[order[clamp(n, 0, order.length - 1)]]);
}
