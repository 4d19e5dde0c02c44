// The graphs of multi-forward training (section 3.3, Figure 3, appendix B1), with draws of alpha
// and losses that can be moved.

const HIGHEST = 1.8; // of the losses
const SIGNS = { ordered: "ordered, as the text has it", printed: "as Eq. 3 is printed" };
const FORWARD_CHOICES = { // name of the setting: label, options, first value
  numTasks: ["Tasks", numbered([2, 3]), 2],
  count: ["Draws W", numbered([2, 3, 4, 5, 6]), 5],
  situation: ["Losses", [["ordered", "in order"], ["one", "one draw off the front"],
    ["reversed", "reversed"], ["off", "in order, all off"], ["own", "by hand"]], "one"],
  edges: ["Edges", [["lex", "between neighbours"], ["full", "all"]], "lex"],
  sign: ["Mark what costs by the sign", Object.entries(SIGNS), "ordered"],
};
const FORWARD_HINT = " along α, or its loss up and down: an edge costs where the draw that weighs a task more "
  + "has the higher loss.";

/** An arrow between two points, bent to one side.
 * @param {string} kind its class @param {string} tag what stands beside its middle */
function arrow([x1, y1], [x2, y2], bend, kind, tag = "") {
  const middle = [(x1 + x2) / 2 + bend * (y2 - y1), (y1 + y2) / 2 - bend * (x2 - x1)];
  const away = Math.hypot(x2 - middle[0], y2 - middle[1]) || 1;
  const [ux, uy] = [(x2 - middle[0]) / away, (y2 - middle[1]) / away];
  const [tx, ty] = [x2 - 10 * ux, y2 - 10 * uy]; // ends beside the mark
  const head = `M${tx - 8 * ux - 4 * uy} ${ty - 8 * uy + 4 * ux}L${tx} ${ty}`
    + `L${tx - 8 * ux + 4 * uy} ${ty - 8 * uy - 4 * ux}`;
  return s("g", { class: kind },
    s("path", { d: `M${x1} ${y1}Q${middle[0]} ${middle[1]} ${tx} ${ty}` }),
    s("path", { class: "pw-arrow", d: head }),
    s("text", { class: "pw-tag", x: (x1 + x2) / 4 + middle[0] / 2,
      y: (y1 + y2) / 4 + middle[1] / 2 + 4 }, tag));
}

/** The class of an edge. */
function edgeKind(violation, t) {
  return violation > 0 ? `pw-edge-broken ${taskKind(t)}` : "pw-edge-kept";
}

/** The alphas on a segment or in a triangle: { node, draw(graphs) }. */
function alphaPanel(state, onChange) {
  const corners = state.numTasks === 2 ? [[300, 80], [40, 80]] : [[170, 36], [30, 250], [310, 250]];
  const node = s("svg", { class: "pw-plot pw-chosen", role: "group", "aria-label": "The draws of alpha",
    style: "max-width: 340px",
    viewBox: `0 0 340 ${state.numTasks === 2 ? 150 : 290}` });
  const edges = s("g");
  node.append(s("path", { class: "pw-track", d: `M${corners.map((c) => c.join(" ")).join("L")}Z` }));
  corners.forEach(([x, y], t) => node.append(s("text", { "text-anchor": "middle", x,
    y: state.numTasks === 3 && t === 0 ? y - 20 : y + 34 }, `task ${t + 1}`)));
  node.append(edges);
  const handles = state.alphas.map((alpha, w) => simplexHandle(node, corners, { alpha, step: 0.02,
    label: `alpha of draw ${w + 1}`, onChange: (point) => onChange(w, point) }));
  const names = state.alphas.map((_, w) => s("text", { class: "pw-number" }, `${w + 1}`));
  node.append(...names);
  const draw = (graphs) => {
    const places = state.alphas.map((alpha) => simplexToPlane(corners, alpha));
    edges.replaceChildren(...graphs.flatMap((graph, t) => graph.map(({ i, j, violation }) =>
      arrow(places[i], places[j], state.numTasks === 2 ? 0.45 : 0.15, edgeKind(violation, t),
        state.numTasks === 2 ? "" : `${t + 1}`))));
    handles.forEach((place, w) => place(state.alphas[w]));
    names.forEach((name, w) => fill(name, { x: places[w][0], y: places[w][1] + 4 }));
  };
  return { node: h("div", { class: state.numTasks === 2 && "pw-row" }, node), draw };
}

/** One task: its weight against its loss: { node, draw(graph, slopes), frame }. */
function taskPanel(state, t, onChange) {
  const frame = plot({ label: `Task ${t + 1}: the weight and the loss of each draw`, x: [-0.08, 1.08],
    y: [-0.1, HIGHEST], titles: [`α of task ${t + 1}`, `loss ${t + 1} (← lower is better)`] });
  const edges = s("g");
  frame.layer.append(edges);
  const handles = state.alphas.map((_, w) => planeHandle(frame, { kind: taskKind(t), text: `${w + 1}`,
    label: `loss ${t + 1} of draw ${w + 1}`, step: [0, 0.02], range: [0, HIGHEST],
    onChange: (point) => onChange(w, clamp(point[1], 0, HIGHEST)) }));
  const draw = (graph, slopes) => {
    const points = state.alphas.map((alpha, w) => [alpha[t], state.losses[w][t]]);
    const places = points.map(([a, b]) => [frame.x(a), frame.y(b)]);
    const pulls = places.map(([x, y], w) => [[x, y], [x, y + 60 * slopes[w][t]]]);
    edges.replaceChildren(
      ...graph.map(({ i, j, violation }) => arrow(places[i], places[j], 0, edgeKind(violation, t))),
      ...pulls.filter(([[, a], [, b]]) => Math.abs(a - b) > 1).map(([from, to]) =>
        s("path", { class: "pw-pull", d: `M${from.join(" ")}L${to.join(" ")}` })),
    );
    handles.forEach((place, w) => place(points[w], `${points[w][1].toFixed(2)} at alpha `
      + points[w][0].toFixed(2)));
  };
  return { node: frame.node, draw, frame };
}

/** The penalty by both signs, task by task. @param {Object} found of `multiForward`, by sign */
function penaltyTable(found) {
  const signs = Object.keys(SIGNS);
  const cells = (pick) => signs.map((sign) => h("td", {}, pick(found[sign])));
  const costly = (graph) => graph.filter(({ violation }) => violation > 0).length;
  const rows = found.ordered.terms.map((_, t) => h("tr", {}, h("th", { scope: "row" }, `task ${t + 1}`),
    ...cells(({ terms, edges }) =>
      `${terms[t].toFixed(4)} (${costly(edges[t])} of ${edges[t].length} edges)`)));
  return h("table", { class: "pw-penalty pw-numbers" },
    h("caption", {}, "The penalty R, and the edges that cost"),
    headOf(["", ...Object.values(SIGNS)]), h("tbody", {}, ...rows,
      h("tr", {}, h("th", { scope: "row" }, "R"), ...cells(({ value }) => value.toFixed(4)))));
}

/** New alphas where their number changed, and the losses of the situation. */
function settle(state) {
  const { alphas, numTasks, count, situation } = state;
  if (!alphas || alphas.length !== count || alphas[0].length !== numTasks) {
    state.alphas = evenAlphas(numTasks, count);
    if (situation === "own") state.situation = "ordered";
  }
  if (state.situation !== "own") state.losses = situationLosses(state.situation, state.alphas);
}

/** What `multiForward` finds, by sign. */
function bothSigns({ losses, alphas, edges }) {
  return Object.fromEntries(Object.keys(SIGNS).map((sign) =>
    [sign, multiForward(losses, alphas, { sign, edges })]));
}

/** A panel of the alphas and one of each task, which call `show` when they have moved something. */
function forwardPanels(state, show) {
  const move = (w, alpha) => { state.alphas[w] = alpha; show(); };
  const lose = (t) => (w, loss) => { state.losses[w][t] = loss; state.situation = "own"; show(); };
  return { alphas: alphaPanel(state, move),
    tasks: state.alphas[0].map((_, t) => taskPanel(state, t, lose(t))) };
}

/** @param {{el: HTMLElement, address?: object}} host the widget needs no values */
function render({ el, address = NO_ADDRESS }) {
  const state = { ...firstOf(FORWARD_CHOICES), ...settingsIn(FORWARD_CHOICES, address.read()) };
  const panels = h("div", { class: "pw-panels pw-pair" });
  const result = h("div");
  const say = liveRegion(el, 700);
  let parts;
  const show = () => {
    settle(state);
    const found = bothSigns(state);
    const { edges, slopes } = found[state.sign];
    parts.alphas.draw(edges);
    parts.tasks.forEach((panel, t) => panel.draw(edges[t], slopes));
    result.replaceChildren(penaltyTable(found));
    selects.show();
    address.write(settingsOut(FORWARD_CHOICES, state));
    say(Object.keys(SIGNS).map((k) => `Penalty ${k} ${found[k].value.toFixed(3)}.`).join(" "));
  };
  const build = () => {
    settle(state);
    parts = forwardPanels(state, show);
    panels.replaceChildren(parts.alphas.node, ...parts.tasks.map(({ node }) => node));
    show();
  };
  const selects = selectsOf(FORWARD_CHOICES, state, (name, value) => {
    state[name] = asNumber(value);
    (name === "numTasks" || name === "count" ? build : show)();
  });
  el.append(hintLine("", "Drag a draw", FORWARD_HINT), controlsRow(selects.nodes), panels, forwardLegend(), result);
  build();
  const { frame } = parts.tasks[0];
  showHand(frame.node, thereAndBack(frame, [state.alphas[1][0], state.losses[1][0]], [0, -60]));
}

/** What the lines are. */
function forwardLegend() {
  return legend([["pw-edge-kept", "edge that costs nothing"], ["pw-edge-broken", "edge that costs"],
    ["pw-pull", "where a step of descent pulls a loss"]]);
}

export default { render };
