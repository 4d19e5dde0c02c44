// The dial of conflict: with fewer features between encoder and heads the tasks compete for them.
//
// Values of the model: objectives [2], about, opened (a k), and steps, one for each number of features k:
// { k, values: { pamal, five, one }, hypervolume: the same names }; values are accuracies
// [seeds][networks][2], and hypervolumes means over the seeds.

const SIDES = {
  pamal: { kind: "pw-pamal", name: "one run of PaMaL", shape: "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z" },
  five: { kind: "pw-sweep", name: "five short runs of LS", shape: "m-1.5 -5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5Z" },
  one: { kind: "pw-ls", name: "one run of LS", shape: "m0 -5l5 5l-5 5l-5 -5Z" },
};

/** The mark of a network of a side, at a place. */
function networkMark({ kind, shape }, x, y) {
  return s("path", { class: `pw-network ${kind}`, d: `M${x} ${y}${shape}` });
}

/** The networks of a side, each seed's joined by a line. @param {number[][][]} seeds */
function sideMarks(frame, side, seeds) {
  const places = seeds.map((values) => values.map((accuracies) => accuracies.map(nines)));
  return s("g", {}, ...places.map((one) => s("path", { class: `pw-trail ${side.kind}`, d: pathThrough(one, frame) })),
    ...places.flat().map(([a, b]) => networkMark(side, frame.x(a), frame.y(b))));
}

/** What the marks are, and which side has how much of the plot below it. */
function dialWords({ k, values, hypervolume }) {
  const each = Object.entries(SIDES).map(([side, { name }]) => `${hypervolume[side].toFixed(3)} for ${name}`);
  return `k = ${k}. Hypervolume: ${each.join(", ")}, means of ${values.pamal.length} seeds.`;
}

/** A slider over the steps: { node, input }. */
function stepSlider(steps, at, onChange) {
  const input = h("input", { type: "range", min: 0, max: steps.length - 1, step: 1, value: at, input: onChange,
    "aria-label": "number of features k" });
  const ends = h("div", { class: "pw-ends", "aria-hidden": "true" }, ...steps.map(({ k }) => h("span", {}, `${k}`)));
  return { input, node: h("div", { class: "pw-dial" }, input, ends) };
}

export default {
  render({ model, el, address = NO_ADDRESS }) {
    const [steps, names] = [model.get("steps"), model.get("objectives")];
    const at = (k) => steps.findIndex((step) => `${step.k}` === `${k}`);
    const opened = at(model.get("opened"));
    const read = at(address.read().k);
    const frame = accuracyPlot("The fronts of all runs", names.map((name) => `${name} (higher is better →)`),
      steps.flatMap(({ values }) => Object.values(values).flat(2)));
    const words = h("p", { class: "pw-numbers pw-words" });
    const show = () => {
      const step = steps[Number(slider.input.value)];
      frame.layer.replaceChildren(...Object.keys(SIDES).map((side) => sideMarks(frame, SIDES[side], step.values[side])));
      words.textContent = dialWords(step);
      slider.input.setAttribute("aria-valuetext", `${step.k} features`);
      say(words.textContent);
      address.write(step === steps[opened] ? {} : { k: `${step.k}` });
    };
    const slider = stepSlider(steps, read < 0 ? opened : read, show);
    const legends = Object.values(SIDES).map((side) => [[networkMark(side, 14, 6)], side.name]);
    el.append(hintLine("", "Move the slider", ": fewer features k between encoder and heads, more conflict between "
      + "the tasks."), slider.node, words, frame.node, legendOf(...legends),
    h("p", { class: "pw-note" }, model.get("about")));
    const say = liveRegion(el);
    show();
  },
};
