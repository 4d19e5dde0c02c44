// The explorer of a trained ensemble: move alpha, see what the network there achieves and says.
//
// Values of the model: tasks [T], alpha [M], points (a front, see fronts.js), gram [M][M], about, and
// beside, what others achieve: { label, values by column }[], and of nameless ones the method.
// With a kernel: pictures, names, predictions [inputs][T], measured { alpha, metrics }.
// In a page alpha moves on the measured points, so that every number shown was measured. It may have
// network (stacked, layers), images (pixels, range, labels) and drawing; or pictures, names and
// answers, the predictions by point, with asked, the tasks that they are of, told, what each point
// does, and shown, what the inputs are; or views, a picture for each point, and viewed, what it shows.

/** Sends alpha to the kernel, but no second one before the first is answered, or five seconds.
 * `adopt(alpha)` is called when Python, or another view, has moved it. */
function sender(model, adopt) {
  let [since, next, sent] = [-Infinity, null, model.get("alpha")];
  const send = (alpha) => {
    if (isSame(alpha, model.get("alpha"))) return; // there would be no answer
    [since, sent] = [performance.now(), alpha];
    model.set("alpha", alpha);
    model.save_changes();
  };
  model.on("change:alpha", () => {
    if (!isSame(model.get("alpha"), sent)) adopt(sent = model.get("alpha"));
  });
  model.on("change:measured", () => {
    const waiting = next;
    [since, next] = [-Infinity, null];
    if (waiting) send(waiting);
  });
  return (alpha) => {
    if (performance.now() - since < 5000) next = alpha;
    else send(alpha);
  };
}

/** What is known at `alpha`: the values of the metrics, and where they were measured. */
function knownAt(model, alpha) {
  const [front, measured] = [model.get("points"), model.get("measured")];
  const isHere = measured && isSame(measured.alpha, alpha);
  const p = nearest(front, alpha);
  const values = isHere ? measured.metrics : valuesAt(front, p);
  const words = Object.entries(values).map(([name, v]) => `${inWords(name)} ${v.toFixed(3)}`).join(", ");
  return { values, at: isHere ? measured.alpha : front.alphas[p],
    words: `${sharesText(model.get("tasks"), alpha)}; ${words}` };
}

/** The state of the widget as its address has it; what is as when it opened is left out. */
function explorerState(alpha, view, opened) {
  const axes = view.axes.join("|");
  return {
    ...(isSame(alpha, opened.alpha) ? {} : { alpha: alpha.map((v) => Number(v.toFixed(6))).join(",") }),
    ...(axes === opened.axes ? {} : { axes }),
    ...(view.bound ? { bound: `${view.bound.name}|${view.bound.value}` } : {}),
  };
}

/** The same, read: { alpha, view }. What does not fit is left out. */
function explorerRead(state, front, alpha) {
  const view = { axes: firstAxes(front), bound: null, angle: 0.6 };
  const axes = (state.axes ?? "").split("|");
  const fits = axes.length <= view.axes.length && axes.every((name) => name in front.columns);
  if (fits && axes.length > 1 && new Set(axes).size === axes.length) view.axes = axes;
  const [name, value] = (state.bound ?? "").split("|");
  if (view.axes.includes(name) && Number.isFinite(Number(value))) view.bound = { name, value: Number(value) };
  return { view, alpha: parsedAlpha(state.alpha ?? "", alpha.length) ?? alpha };
}

/** All panels in their places; returns what speaks to screen readers. Plot, slider and answers come
 * first, so that a phone shows them at once. */
function place(model, el, { control, row, ask, quick, front, table, notes, inputs }) {
  el.classList.add("pw", "pw-explorer");
  el.setAttribute("data-lm-suppress-shortcuts", "true"); // else JupyterLab takes arrow keys and Enter
  el.append(hintLine("Every point is one network. ", "Drag the ring", ` or the slider: ${inputs.what} change.`), quick.node,
    h("div", { class: "pw-panels" }, h("div", {}, front.node, control.node), h("div", {}, inputs.node, table.node, notes)),
    h("div", { class: "pw-panels" }, h("div", {}, row.node, front.axes, h("p", { class: "pw-note" }, model.get("about"))),
      h("div", {}, ask.node)), ...inputs.below);
  return liveRegion(el);
}

export default {
  render({ model, el, address = NO_ADDRESS }) {
    const [points, tasks] = [model.get("points"), model.get("tasks")];
    const isPage = !model.get("measured");
    const opened = { alpha: model.get("alpha"), axes: firstAxes(points).join("|") };
    const read = explorerRead(address.read(), points, opened.alpha);
    const view = read.view;
    let alpha = isPage ? points.alphas[nearest(points, read.alpha)] : read.alpha;
    const show = () => {
      const known = knownAt(model, alpha);
      [parts.front, parts.table].forEach((part) => part.show(known));
      [parts.control, parts.row, parts.inputs].forEach((part) => part.show(alpha));
      parts.notes.replaceChildren(...facts(model, view, alpha, known, toPoint));
      say(`${known.words}. ${parts.notes.firstChild.textContent}`);
      address.write(explorerState(alpha, view, opened));
    };
    const to = (point) => { alpha = point; show(); };
    const send = isPage ? () => {} : sender(model, to);
    const move = (point) => {
      to(isPage ? points.alphas[nearest(points, point)] : point);
      send(alpha);
    };
    const toPoint = (p) => move(points.alphas[p]);
    const parts = explorerParts(model, view, alpha, { move, toPoint, show });
    const say = place(model, el, parts);
    model.on("change:measured", show);
    parts.front.draw();
    show();
    if (!isPage) el.append(h("div", { class: "pw-foot" }, fullScreenButton(el)));
    parts.front.hint();
  },
};

/** The panels by name. */
function explorerParts(model, view, alpha, { move, toPoint, show }) {
  const [points, tasks] = [model.get("points"), model.get("tasks")];
  const control = (label) => alphaControl(tasks, alpha, (point) => move(tidy(point)), label);
  const onAxes = () => {
    if (!view.axes.includes(view.bound?.name)) view.bound = null;
    [ask, quick].forEach((part) => part.show());
    front.draw();
    show();
  };
  const front = frontPanel(points, tasks, view, { beside: model.get("beside") ?? [], onPoint: toPoint,
    onAxes });
  const ask = askPanel(points, view, onAxes, toPoint);
  const quick = presets(points, view, toPoint);
  const inputs = inputsPanel(model, () => control("alpha for your digits"));
  [ask, quick].forEach((part) => part.show());
  return { front, ask, quick, inputs, control: control("alpha"), row: alphaRow(alpha.length, move),
    table: metricsTable(points, tasks), notes: h("div", { class: "pw-note pw-facts" }) };
}
