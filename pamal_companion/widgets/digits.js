// What the network says of inputs: of images and drawings in a page, or of what a kernel has chosen.

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

/** Pages of eight test images, and the drawing field `below`: `show(alpha)` runs the network on them. */
function inPagePanel(model, control) {
  const [tasks, images, drawing] = ["tasks", "images", "drawing"].map((name) => model.get(name));
  const predict = inPage(model.get("network"));
  const all = imagesOf(images);
  const drawn = h("div", { class: "pw-answer", "aria-live": "polite" });
  const holder = h("div");
  let [start, grid, image, alpha] = [0, null, null, model.get("alpha")];
  const answer = () => drawn.replaceChildren(...(image
    ? answers(tasks, verdicts(predict(alpha, image)), image) : [EMPTY]));
  const show = (point) => {
    alpha = point;
    grid.show(Array.from({ length: SHOWN }, (_, i) =>
      verdicts(predict(alpha, all[start + i]), images.labels[start + i])));
    if (image) answer();
    control.show(alpha);
  };
  const turn = (pages) => {
    start = (start + pages * SHOWN + all.length) % all.length;
    const names = images.labels.slice(start).map((l) => l.join(" and "));
    grid = cards(all.slice(start, start + SHOWN).map(pictureOf), names, tasks);
    holder.replaceChildren(grid.node);
    show(alpha);
  };
  turn(0);
  answer();
  const field = drawingField(drawing, tasks, (input) => { image = input; answer(); });
  const more = pressed("Eight others", () => turn(1));
  return { show, below: yourDigits(field, h("div", {}, drawn, control.node)),
    node: answersLayout(tasks, holder, h("p", { class: "pw-note" }, "Images that it has never seen, what they "
      + "show, its answers, and how sure they are. Half were picked because an answer changes with α."),
    h("div", { class: "pw-controls" }, more)) };
}

const EMPTY = "Nothing is drawn yet.";

/** The answers to a drawing, and the drawing as the network sees it. */
function answers(tasks, found, image) {
  const picture = h("img", { src: pictureOf(image), alt: "as the network sees it", class: "dark-light" });
  return [...found.map((one, t) => h("div", {}, `${tasks[t]}: `, predictionLine(tasks, t, one))), picture];
}

/** The answers under a line that names the tasks. */
function answersLayout(tasks, ...nodes) {
  return h("div", { class: "pw-answers" }, h("p", {}, h("b", {}, "Its answers:"), ...taskNames(tasks)), ...nodes);
}

function yourDigits(field, beside) {
  return [h("p", { class: "pw-head" }, "Its answers to your digits"),
    h("p", { class: "pw-note" }, "Draw one digit in each frame, large and thin; the frames overlap."),
    h("div", { class: "pw-panels pw-draw" }, field, beside)];
}

/** The chosen inputs with their predictions, from the kernel or of each measured point; above them
 * what the point does, where the model tells it, and below them what the inputs are. */
function cardsPanel(model) {
  const tasks = model.get("asked") ?? model.get("tasks");
  const [answers, points, told] = ["answers", "points", "told"].map((name) => model.get(name));
  const grid = cards(model.get("pictures"), model.get("names"), tasks);
  const words = h("p", { class: "pw-told" });
  const show = (alpha) => {
    grid.show(answers ? answers[nearest(points, alpha)] : model.get("predictions"));
    if (told) words.textContent = told[nearest(points, alpha)];
  };
  model.on("change:predictions", show);
  const notes = model.get("shown") ? [h("p", { class: "pw-note" }, model.get("shown"))] : [];
  const node = h("div", {}, ...(told ? [words] : []), answersLayout(tasks, grid.node, ...notes));
  return { node, below: [], show, what: "the answers to the inputs" };
}

/** A picture of what each measured point says. */
function viewsPanel(model) {
  const [views, points] = [model.get("views"), model.get("points")];
  const picture = h("img", { class: "pw-view dark-light" });
  const show = (alpha) => fill(picture, { src: views[nearest(points, alpha)],
    alt: `Its answers at α = ${bracketed(alpha)}` });
  return { node: h("div", {}, picture, h("p", { class: "pw-note" }, model.get("viewed"))), below: [], show,
    what: "its answers" };
}

/** What the networks say of inputs, as far as the model has it: { node, below, show(alpha), what }. */
function inputsPanel(model, control) {
  if (model.get("network")) return { ...inPagePanel(model, control()), what: "the answers to the digits" };
  if (model.get("views")) return viewsPanel(model);
  if (model.get("names")) return cardsPanel(model);
  return { node: h("div"), below: [], show: () => {}, what: "the numbers" };
}
