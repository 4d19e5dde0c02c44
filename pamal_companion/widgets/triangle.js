// The front of three tasks: a triangle for each task, a cell for each network, and one alpha in all.
//
// Values of the model: tasks [3], points (a front on a lattice, see fronts.js), about.

const TRIANGLE = [[150, 30], [30, 238], [270, 238]]; // with equal sides
const { stops: STOPS } = PALETTE.map;

/** The colour of a share, from 0 for the worst to 1 for the best. */
function shade(share) {
  const at = share * (STOPS.length - 1);
  const k = Math.min(Math.floor(at), STOPS.length - 2);
  return `rgb(${STOPS[k].map((v, i) => Math.round(v + (at - k) * (STOPS[k + 1][i] - v))).join(" ")})`;
}

/** A hexagon around (x, y); those of a lattice touch. */
function hexagon([x, y], radius) {
  return [0, 1, 2, 3, 4, 5].map((k) => [x + radius * Math.sin((k * Math.PI) / 3),
    y + radius * Math.cos((k * Math.PI) / 3)].map((v) => v.toFixed(1)).join(" ")).join(",");
}

/** How good each point is in a goal, from 0 to 1. */
function sharesOf({ columns }, { name, maximise }) {
  const [low, high] = [Math.min(...columns[name]), Math.max(...columns[name])];
  return columns[name].map((v) => (high === low ? 1 : (maximise ? v - low : high - v) / (high - low)));
}

/** All networks in the colours of task `t`: { node, show(alpha) }. */
function trianglePanel({ points, tasks, isKept, t, alpha }, onChange) {
  const goal = points.objectives[t];
  const shares = sharesOf(points, goal);
  const places = points.alphas.map((one) => simplexToPlane(TRIANGLE, one));
  const edge = (Math.sqrt(8 * places.length + 1) - 1) / 2; // points along a side
  const radius = (TRIANGLE[2][0] - TRIANGLE[1][0]) / (edge - 1) / Math.sqrt(3);
  const node = s("svg", { class: "pw-plot", viewBox: "0 0 300 276", role: "group", style: "max-width: 300px",
    "aria-label": inWords(goal.name) });
  const cells = places.map((place, p) => s("polygon", { class: "pw-cell", points: hexagon(place, radius),
    fill: shade(shares[p]), click: () => onChange(points.alphas[p]) }));
  const dots = places.filter((_, p) => isKept[p]).map(([x, y]) => s("circle", { class: "pw-cell-kept", cx: x,
    cy: y, r: 3 }));
  const [x, y] = places[shares.indexOf(1)];
  const names = [[150, 12, "middle"], [4, 270, "start"], [296, 270, "end"]].map(([a, b, anchor], k) => s("text",
    { x: a, y: b, "text-anchor": anchor, class: `pw-tip pw-task ${taskKind(k)}` }, `● ${tasks[k]}`));
  node.append(...cells, ...dots, s("text", { class: "pw-cell-best", x, y: y + 5, "text-anchor": "middle" }, "★"),
    ...names);
  const show = simplexHandle(node, TRIANGLE, { alpha, label: `alpha, in the colours of ${inWords(goal.name)}`,
    text: (point) => sharesText(tasks, point), step: 1 / (edge - 1), onChange });
  const title = h("p", { class: "pw-head" }, `${inWords(goal.name)} (${goal.maximise ? "higher" : "lower"} is better)`);
  return { node: h("div", {}, title, node), show };
}

/** What the network at point `p` achieves, beside the best of each task: a table. */
function trianglesTable(points, p) {
  const rows = points.objectives.map(({ name, maximise }) => {
    const best = (maximise ? Math.max : Math.min)(...points.columns[name]);
    return h("tr", {}, h("th", { scope: "row" }, inWords(name)),
      ...[points.columns[name][p], best].map((v) => h("td", {}, v.toFixed(4))));
  });
  return h("table", { class: "pw-table pw-numbers" }, headOf(["", "this network", "best of all"]),
    h("tbody", {}, ...rows));
}

/** What the marks are. */
function trianglesLegend() {
  const circle = (kind, r) => [s("circle", { class: kind, cx: 14, cy: 6, r })];
  const stripes = STOPS.map((_, k) => s("rect", { x: 5.6 * k, width: 5.7, height: 12, fill: shade(k / 4) }));
  return legendOf([stripes, "from the worst to the best of a task"], [circle("pw-cell-kept", 4), "not dominated"],
    [[s("text", { x: 14, y: 11, "text-anchor": "middle" }, "★")], "the best of a task"],
    [circle("pw-dot", 5), "where you are"]);
}

/** All parts in their places. */
function placeTriangles(el, { quick, words, numbers, panels }, about) {
  el.append(hintLine("Every cell is one network. ", "Drag the ring",
    ", or click a cell: what one task gains, the others pay for."), quick.node, words, numbers,
  h("div", { class: "pw-panels pw-triangles" }, ...panels.map(({ node }) => node)), trianglesLegend(),
  h("p", { class: "pw-note" }, about));
  const svg = panels[0].node.querySelector("svg");
  showHand(svg, [[150, 60], [150, 60], [120, 150], [120, 150], [150, 60]]);
}

/** Where point `p` is, and whether another is better in all. */
function pointWords({ points, tasks }, p) {
  const above = dominators(points, points.objectives, valuesAt(points, p)).length;
  const rank = above ? `Dominated by ${above} of ${points.alphas.length} networks.` : "Not dominated.";
  return `${sharesText(tasks, points.alphas[p])}. ${rank}`;
}

export default {
  render({ model, el, address = NO_ADDRESS }) {
    const [points, tasks] = [model.get("points"), model.get("tasks")];
    const goals = points.objectives;
    const isKept = keptOf(points, goals);
    const opened = choose(points, goals);
    let here = nearest(points, parsedAlpha(address.read().alpha ?? "", 3) ?? points.alphas[opened]);
    const show = () => {
      const alpha = points.alphas[here];
      parts.panels.forEach((panel) => panel.show(alpha));
      parts.numbers.replaceChildren(trianglesTable(points, here));
      parts.words.textContent = pointWords({ points, tasks }, here);
      say(`${parts.words.textContent} ${goals.map(({ name }) =>
        `${inWords(name)} ${points.columns[name][here].toFixed(4)}`).join(", ")}`);
      address.write(here === opened ? {} : { alpha: alpha.map((v) => Number(v.toFixed(6))).join(",") });
    };
    const move = (alpha) => { here = nearest(points, alpha); show(); };
    const parts = { words: h("p", { class: "pw-note" }), numbers: h("div"),
      quick: presets(points, { axes: goals.map(({ name }) => name) }, (p) => move(points.alphas[p])),
      panels: tasks.map((_, t) =>
        trianglePanel({ points, tasks, isKept, t, alpha: points.alphas[here] }, move)) };
    parts.quick.show();
    placeTriangles(el, parts, model.get("about"));
    const say = liveRegion(el);
    show();
  },
};
