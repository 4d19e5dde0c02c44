// A bound on one of the quantities in view: its line is drawn, and the best point that meets it found.

const RULE = "“Best” and “balanced” mean that the worst of the quantities shown is as good as can be, each "
  + "scaled to 0 at its worst and 1 at its best filled point; Front.choose in Python does the same.";

/** A number that is suggested as a bound: the median of the column. */
function suggested(front, name) {
  const values = [...front.columns[name]].sort((a, b) => a - b);
  return Number(values[Math.floor(values.length / 2)].toPrecision(4));
}

/** What the bound leaves, in words, and the best point of that. */
function boundWords(front, view) {
  const goals = goalsOf(front, view.axes);
  const [met, p] = [feasible(front, view.bound).filter(Boolean).length, choose(front, goals, view.bound)];
  if (p === null) {
    const t = view.axes.indexOf(view.bound.name);
    const best = front.columns[view.bound.name][bestFor(front, goals, t)];
    return { p, text: `No measured point does. The best is ${best.toFixed(4)}.` };
  }
  const same = p === choose(front, goals) ? ", which is the best without the bound, too" : "";
  return { p, text: `${met} of ${front.alphas.length} points do; the others are pale. The best of them `
    + `is at α = ${bracketed(front.alphas[p])}${same}.` };
}

/** { node, show() }. @param {() => void} onBound after `view.bound` has changed
 * @param {(p: number) => void} onPoint */
function askPanel(front, view, onBound, onPoint) {
  const said = h("p", { class: "pw-note pw-said", role: "status" });
  const word = h("span");
  const select = h("select", { "aria-label": "quantity of the bound", change: () => set(true) });
  const input = h("input", { type: "number", step: 0.001, "aria-label": "bound", input: () => set(false),
    keydown: ({ key }) => { if (key === "Enter") best(); } });
  let last = null;
  const set = (isNew) => {
    if (isNew) input.value = suggested(front, select.value);
    const value = input.value === "" ? null : Number(input.value);
    view.bound = value === null ? null : { name: select.value, value };
    onBound();
  };
  const best = () => {
    set(false);
    const found = view.bound && boundWords(front, view).p;
    if (found !== null) onPoint(found);
  };
  const drop = pressed("Remove the bound", () => { view.bound = null; onBound(); });
  const show = () => {
    const name = view.bound?.name ?? (view.axes.includes(select.value) ? select.value : view.axes[0]);
    select.replaceChildren(...view.axes.map((axis) => h("option", { value: axis }, inWords(axis))));
    select.value = name;
    word.textContent = isMaximised(front, name) ? "at least" : "at most";
    if (view.bound && Number(input.value) !== view.bound.value) input.value = view.bound.value;
    else if (name !== last) input.value = suggested(front, name);
    last = name;
    drop.disabled = !view.bound;
    said.textContent = view.bound ? boundWords(front, view).text : "";
  };
  return { show, node: askLayout([select, word, input], [pressed("Find the best α", best), drop], said) };
}

function askLayout(bound, buttons, said) {
  return h("div", {}, h("p", { class: "pw-head" }, "Set a bound"),
    ...[bound, buttons].map((row) => h("div", { class: "pw-controls" }, ...row)),
    h("p", { class: "pw-note" }, RULE), said);
}

/** Buttons for the best point by each quantity in view and for the balanced one: { node, show() }. */
function presets(front, view, onPoint) {
  const node = h("div", { class: "pw-controls pw-presets" });
  const show = () => {
    const goals = goalsOf(front, view.axes);
    const tasks = view.axes.map(taskOf);
    const isByTask = new Set(tasks).size === tasks.length;
    const button = (text, find, title) => pressed(text, () => onPoint(find()), title);
    const best = view.axes.map((name, t) => button(`Best for ${isByTask ? tasks[t] : inWords(name)}`,
      () => bestFor(front, goals, t), `${goals[t].maximise ? "highest" : "lowest"} ${inWords(name)}`));
    const balanced = button("Balanced", () => choose(front, goals), RULE);
    node.replaceChildren(best[0], balanced, ...best.slice(1));
  };
  return { node, show };
}
