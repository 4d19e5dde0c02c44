// Parts of the explorer: alpha, the numbers there, and cards. Each returns its element as `node`, and
// `show(...)` that brings it up to date.

const CORNERS = { 2: [[24, 24], [316, 24]], 3: [[40, 228], [280, 228], [160, 24]] };

/** Where alpha is moved: a segment, a triangle or, for more members, linked sliders.
 * @param {string} label for screen readers */
function alphaControl(tasks, alpha, onChange, label = "alpha") {
  const corners = CORNERS[alpha.length];
  if (!corners) return sliders(tasks, alpha, onChange);
  const isTriangle = alpha.length === 3;
  const box = isTriangle ? "0 0 320 256" : "0 0 340 48";
  const node = s("svg", { viewBox: box, role: "group", "aria-label": label });
  const track = s(isTriangle ? "polygon" : "polyline", { points: corners.join(" "),
    class: "pw-track" });
  node.append(track);
  track.addEventListener("click", (event) => {
    const point = planeToSimplex(corners, ...pointerIn(node, event));
    show(point);
    onChange(point);
  });
  const show = simplexHandle(node, corners, { alpha, label, text: (point) => sharesText(tasks, point),
    onChange });
  const names = alpha.map((_, k) => `member ${k + 1}: ${tasks[k]}`);
  const ends = isTriangle ? [] : [h("div", { class: "pw-ends" },
    ...names.map((name, k) => h("span", { class: `pw-task ${taskKind(k)}` }, name)))];
  if (isTriangle) node.prepend(...cornerNames(names));
  return { node: h("div", { class: `pw-control pw-control-${alpha.length}` }, node, ...ends), show };
}

/** "top-left 0.25, bottom-right 0.75" */
function sharesText(tasks, alpha) {
  return alpha.map((share, k) => `${tasks[k]} ${share.toFixed(2)}`).join(", ");
}

/** The names of a triangle's corners beside them. */
function cornerNames(names) {
  const places = [[4, 250, "start"], [316, 250, "end"], [160, 10, "middle"]];
  return places.map(([x, y, anchor], k) => s("text", { x, y, "text-anchor": anchor,
    class: `pw-task ${taskKind(k)}` }, names[k]));
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

/** A table of all quantities: a row for each task and a column for each metric, or, where tasks have
 * metrics of their own, a row for each quantity. */
function metricsTable(front, tasks) {
  const names = Object.keys(front.columns);
  const metrics = [...new Set(names.map((n) => n.split("/").pop()))];
  const cells = Object.fromEntries(names.map((name) => [name, h("td")]));
  const arrow = (name) => (isMaximised(front, name) ? "↑" : "↓");
  const row = (task, words, own) => h("tr", {},
    h("th", { scope: "row", class: `pw-task ${taskKind(tasks.indexOf(task))}` }, words), ...own);
  const isFull = tasks.every((task) => metrics.every((m) => `${task}/${m}` in cells));
  const head = isFull ? [headOf(["task", ...metrics.map((m) => `${m} ${arrow(names.find((n) => n.endsWith(`/${m}`)))}`)])]
    : [];
  const rows = isFull ? tasks.map((task) => row(task, task, metrics.map((m) => cells[`${task}/${m}`])))
    : names.map((name) => row(taskOf(name), `${inWords(name)} ${arrow(name)}`, [cells[name]]));
  const show = ({ values }) => Object.entries(cells).forEach(([name, cell]) => {
    cell.textContent = name in values ? values[name].toFixed(4) : "";
  });
  return { node: h("table", { class: "pw-table pw-numbers" },
    h("caption", { class: "pw-note" }, "↑ higher is better, ↓ lower is better"), ...head, h("tbody", {}, ...rows)), show };
}

/** One prediction: what is said, how sure, and whether it is right (by sign, word and weight), behind
 * a dot in the colour of its task `t`.
 * @param {{ text: string, share?: number, right?: boolean }} prediction */
function predictionLine(tasks, t, { text, share, right }) {
  const verdict = right === undefined || right === null ? "" : right ? "✓" : "✗";
  const sure = share === undefined || share === null ? "" : ` ${share.toFixed(3)}`;
  return h("div", { class: `pw-line ${right === false ? "pw-wrong" : ""}`, title: tasks[t] },
    h("span", { class: `pw-task ${taskKind(t)}`, "aria-hidden": "true" }, "● "),
    h("span", { "aria-hidden": "true" }, `${verdict} `),
    h("span", { class: "pw-hidden" }, `${tasks[t]}: ${verdict && (right ? "right, " : "wrong, ")}`),
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
    lines[i].replaceChildren(...ofTasks.map((p, t) => predictionLine(tasks, t, p)));
  });
  const kind = pictures.some(Boolean) ? "pw-cards" : "pw-cards pw-in-words";
  return { node: h("div", { class: kind }, ...nodes), show };
}

/** The tasks with their dots, as the lines of the cards have them. */
function taskNames(tasks) {
  return tasks.flatMap((task, t) =>
    [" ", h("span", { class: `pw-task pw-pair ${taskKind(t)}` }, `● ${task}`)]);
}

/** The numbers of an alpha that was typed, or null: of two members one number is enough. */
function parsedAlpha(text, num) {
  const numbers = text.split(/[\s,;[\]()]+/).filter(Boolean).map(Number);
  const alpha = num === 2 && numbers.length === 1 ? [numbers[0], 1 - numbers[0]] : numbers;
  const sum = alpha.reduce((a, b) => a + b, 0);
  const fits = alpha.length === num && alpha.every((v) => v >= 0) && Math.abs(sum - 1) < 1e-3;
  return fits ? alpha.map((v) => Number((v / sum).toFixed(12))) : null;
}

/** alpha in numbers, to be typed and copied; `onChange(alpha)` for one that is typed. */
function alphaRow(num, onChange) {
  const said = h("span", { class: "pw-note pw-wrong", role: "alert" });
  const wrong = (text) => { said.textContent = text; input.setAttribute("aria-invalid", text !== ""); };
  let last = null;
  const typed = () => {
    const alpha = parsedAlpha(input.value, num);
    wrong(alpha ? "" : `Expected ${num} numbers, none below 0, that sum to 1. Found ${input.value}.`);
    last = null;
    if (alpha) onChange(alpha);
  };
  const input = h("input", { "aria-label": "alpha in numbers", class: "pw-alpha", spellcheck: "false",
    autocomplete: "off", change: typed,
    keydown: ({ key }) => { if (key === "Enter") typed(); } }); // in JupyterLab Enter changes nothing
  const show = (alpha) => { // what is being typed stays where only an answer has come
    if (last && isSame(alpha, last) && input.getRootNode().activeElement === input) return;
    last = alpha;
    input.value = bracketed(alpha);
    input.size = Math.max(12, input.value.length);
    wrong("");
  };
  return { node: h("div", { class: "pw-controls" }, h("label", { class: "pw-choice" }, "α =", input),
    copyButton("Copy α", () => input.value, input), said), show };
}

/** What is known of `alpha` beside its metrics, with the way to a better point where it is dominated
 * in what the view shows. @param {{ values: Object, at: number[] }} known */
function facts(model, view, alpha, { values, at }, onPoint) {
  const front = model.get("points");
  const goals = goalsOf(front, view.axes);
  const isKnown = goals.every(({ name }) => Number.isFinite(values[name]));
  const above = dominators(front, goals, values);
  const found = above.length ? choose(front, goals, null, above) : null;
  const gram = model.get("gram"); // a record has no weights
  const far = gram ? distances(gram, alpha).map((d, k) => `${d.toFixed(1)} to member ${k + 1}`) : [];
  const line = (...children) => h("div", {}, ...children);
  const none = "Not dominated in the quantities shown.";
  return [
    found === null ? line(isKnown ? none : "The network here has no finite numbers.") : line(`Dominated by ${above.length} of ${front.alphas.length} measured points. Better in what is `
      + "shown: ", h("button", { type: "button", class: "pw-link", click: () => onPoint(found) },
      `α = ${bracketed(front.alphas[found])}`)),
    ...(gram ? [line(`Distance of the weights: ${far.join(", ")}.`)] : []),
    ...(isSame(at, alpha) ? [] : [line(`Measured at the nearest point, ${bracketed(at)}.`)]),
  ];
}
