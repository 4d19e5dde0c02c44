// The explorer of a trained ensemble: move alpha, see what the network there achieves and says.
//
// Values of the model: tasks [T], alpha [M], points (a front, see fronts.js), gram [M][M], about.
// With a kernel: pictures, names, predictions [inputs][T], measured { alpha, metrics }.
// In a page: network (stacked, layers), images (pixels, range, labels), drawing; alpha then moves on
// the measured points, so that every number shown was measured.

const SHOWN = 8;

/** The images of a page as the network reads them: Float32Array[n], [side * side] each. */
function imagesOf({ pixels, range: [low, high], labels }) {
  const all = bytes(pixels);
  const size = all.length / labels.length;
  return labels.map((_, i) => Float32Array.from(all.subarray(i * size, (i + 1) * size),
    (v) => low + (v / 255) * (high - low)));
}

/** An image as a data URI, dark below 0 and white above 1. @param {Float32Array} image */
function pictureOf(image) {
  const side = Math.sqrt(image.length);
  const canvas = h("canvas", { width: side, height: side });
  const context = canvas.getContext("2d");
  const data = context.createImageData(side, side);
  image.forEach((v, i) => data.data.set([0, 0, 0, 255].map((d, c) => (c < 3 ? v * 255 : d)), 4 * i));
  context.putImageData(data, 0, 0);
  return canvas.toDataURL();
}

/** @param {number[][]} shares [T][classes] @param {number[]} [labels] [T] */
function verdicts(shares, labels) {
  return shares.map((ofTask, t) => {
    const best = ofTask.indexOf(Math.max(...ofTask));
    const known = labels ? { right: best === labels[t] } : {};
    return { text: `${best}`, share: ofTask[best], ...known };
  });
}

/** Pages of eight test images, and the drawing field: `show(alpha)` runs the network on them. */
function inPagePanel(model) {
  const [tasks, images, drawing] = ["tasks", "images", "drawing"].map((name) => model.get(name));
  const predict = inPage(model.get("network"));
  const all = imagesOf(images);
  const drawn = h("div", { class: "pw-answer", "aria-live": "polite" }, "Draw two digits.");
  const holder = h("div");
  let [start, grid, image, alpha] = [0, null, null, model.get("alpha")];
  const answer = () => drawn.replaceChildren(...(image
    ? [...verdicts(predict(alpha, image)).map((v, t) => h("div", {}, `${tasks[t]}: `,
      predictionLine(tasks[t], v))), h("img", { src: pictureOf(image), alt: "as the network sees it", class: "dark-light" })]
    : ["Draw two digits."]));
  const show = (point) => {
    alpha = point;
    grid.show(Array.from({ length: SHOWN }, (_, i) =>
      verdicts(predict(alpha, all[start + i]), images.labels[start + i])));
    if (image) answer();
  };
  const turn = (pages) => {
    start = (start + pages * SHOWN + all.length) % all.length;
    const names = images.labels.slice(start).map((l) => l.join(" and "));
    grid = cards(all.slice(start, start + SHOWN).map(pictureOf), names, tasks);
    holder.replaceChildren(grid.node);
    show(alpha);
  };
  turn(0);
  const field = drawingField(drawing, tasks, (input) => { image = input; answer(); });
  const more = h("button", { type: "button", click: () => turn(1) }, "Eight others");
  return { node: inPageLayout(holder, more, field, drawn, tasks), show };
}

function inPageLayout(holder, more, field, drawn, tasks) {
  const order = `Under each image what it shows, ${tasks.join(", then ")}; the answers in this order; `
    + "and how sure they are.";
  return h("div", {},
    h("p", { class: "pw-head" }, "What it says of images that it has never seen"),
    h("p", { class: "pw-note" }, `${order} Half of the images were picked because the answer `
      + "changes on the way."),
    holder, h("div", { class: "pw-controls" }, more),
    h("p", { class: "pw-head" }, "And of yours"),
    h("p", { class: "pw-note" }, "Draw one digit in each frame, large and thin; they overlap."),
    h("div", { class: "pw-panels pw-draw" }, field, drawn));
}

/** The chosen inputs, whose predictions come from the kernel. */
function kernelPanel(model) {
  const grid = cards(model.get("pictures"), model.get("names"), model.get("tasks"));
  const show = () => grid.show(model.get("predictions"));
  model.on("change:predictions", show);
  show();
  const head = h("p", { class: "pw-head" }, "What it says of the chosen inputs");
  const order = `In each the answers for ${model.get("tasks").join(", then ")}.`;
  return { node: h("div", {}, head, h("p", { class: "pw-note" }, order), grid.node), show: () => {} };
}

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

/** alpha in numbers, to be copied. */
function alphaRow() {
  const input = h("input", { readonly: true, "aria-label": "alpha in numbers", class: "pw-alpha" });
  const copy = async () => {
    input.select();
    try {
      await navigator.clipboard.writeText(input.value);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Selected: copy it";
    }
    setTimeout(() => { button.textContent = "Copy α"; }, 1500);
  };
  const button = h("button", { type: "button", click: copy }, "Copy α");
  const show = (alpha) => {
    input.value = `[${alpha.map((v) => Number(v.toFixed(6))).join(", ")}]`;
    input.size = Math.max(12, input.value.length);
  };
  return { node: h("div", { class: "pw-controls" }, "α =", input, button), show };
}

/** What is known at `alpha`: the values of the metrics, and where they were measured. */
function knownAt(model, alpha) {
  const front = model.get("points");
  const measured = model.get("measured");
  if (measured && isSame(measured.alpha, alpha)) {
    return { values: measured.metrics, at: measured.alpha };
  }
  const p = nearest(front, alpha);
  const values = Object.fromEntries(Object.entries(front.columns).map(([n, c]) => [n, c[p]]));
  return { values, at: front.alphas[p] };
}

/** The lines under the metrics: distances, domination, and where the numbers come from. */
function facts(model, alpha, { values, at }) {
  const front = model.get("points");
  const far = distances(model.get("gram"), alpha).map((d, k) => `${d.toFixed(1)} to ${k + 1}`);
  const signed = front.objectives.map(({ name, maximise }) => (maximise ? 1 : -1) * values[name]);
  const count = dominators(front, signed);
  return [
    `Distance in weight space: ${far.join(", ")}.`,
    count ? `Dominated by ${count} of the ${front.alphas.length} measured points.`
      : "Not dominated by any measured point.",
    ...(isSame(at, alpha) ? [] : [`Measured at the nearest point, ${alphaText(at)}.`]),
  ];
}

/** All panels in their places; returns what speaks to screen readers. */
function place(model, el, { control, row, bound, front, table, notes, inputs }) {
  const isWide = control.node.matches(".pw-control-2"); // it stays in sight above the rest
  const left = h("div", {}, ...(isWide ? [] : [control.node]), row.node, table.node, notes,
    h("p", { class: "pw-head" }, "Ask for a minimum"), bound.node);
  const right = h("div", {}, front.node, h("p", { class: "pw-note" },
    "Filled: not dominated. Ring: where you are. ", model.get("about")));
  el.classList.add("pw");
  el.append(...(isWide ? [control.node] : []), h("div", { class: "pw-panels" }, left, right),
    inputs.node);
  return liveRegion(el);
}

export default {
  render({ model, el }) {
    const [points, tasks] = [model.get("points"), model.get("tasks")];
    const isPage = Boolean(model.get("network"));
    const [front, table] = [frontPanel(points), metricsTable(points, tasks)];
    const [row, notes] = [alphaRow(), h("div", { class: "pw-note pw-facts" })];
    const inputs = isPage ? inPagePanel(model) : kernelPanel(model);
    let alpha = model.get("alpha");
    const show = () => {
      const known = knownAt(model, alpha);
      const lines = facts(model, alpha, known);
      [front, table].forEach((part) => part.show(known.values));
      [control, row, inputs].forEach((part) => part.show(alpha));
      notes.replaceChildren(...lines.map((line) => h("div", {}, line)));
      say(`alpha ${alphaText(alpha)}; ${Object.entries(known.values).map(([name, value]) =>
        `${inWords(name)} ${value.toFixed(3)}`).join(", ")}. ${lines[1]}`);
    };
    const to = (point) => {
      alpha = point;
      show();
    };
    const send = isPage ? () => {} : sender(model, to);
    const move = (point) => {
      to(isPage ? points.alphas[nearest(points, point)] : tidy(point));
      send(alpha);
    };
    const control = alphaControl(tasks, alpha, move);
    const bound = condition(points, (p) => move(points.alphas[p]));
    const say = place(model, el, { control, row, bound, front, table, notes, inputs });
    model.on("change:measured", show);
    show();
  },
};
