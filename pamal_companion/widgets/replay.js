// The subspace over the epochs of a training run: the front of each, and its hypervolume.

const SECONDS = 0.7; // an epoch of a replay

/** The fronts up to an epoch, those past paler: returns `draw(epoch)`. */
function frontMarks(frame, frames) {
  const places = frames.map(({ values }) => values.map((v) => v.map(nines)));
  const groups = frames.map(({ non_dominated: kept }, epoch) => {
    const dots = places[epoch].map(([a, b], n) => s("circle", { r: 4, cx: frame.x(a), cy: frame.y(b),
      class: kept[n] ? "pw-kept-point" : "pw-lost-point" }));
    const ends = [places[epoch][0], places[epoch].at(-1)].map(([a, b], k) => s("text", {
      class: "pw-tip", x: frame.x(a) + 8, y: frame.y(b) + (k ? -6 : 14) }, `${k + 1}`));
    return s("g", {}, s("path", { d: pathThrough(places[epoch], frame) }), ...dots, ...ends);
  });
  frame.layer.append(...groups);
  return (now) => groups.forEach((group, epoch) => fill(group, {
    class: epoch === now ? "pw-epoch pw-now-epoch" : "pw-epoch pw-past-epoch",
    style: `opacity: ${epoch > now ? 0 : Math.max(0.3, 1 - 0.3 * (now - epoch))}`,
  }));
}

/** The hypervolume over the epochs: { node, draw(epoch) }. */
function volumePlot(frames) {
  const epochs = frames.map(({ epoch }) => epoch);
  const frame = plot({ label: "The hypervolume after each epoch", x: [epochs[0], epochs.at(-1)],
    y: extent(frames.map(({ hypervolume }) => hypervolume)), height: 330,
    titles: ["epoch", "hypervolume (higher is better →)"] });
  const points = frames.map(({ hypervolume }, n) => [epochs[n], hypervolume]);
  const [line, dot] = [s("path", { class: "pw-now" }), s("circle", { r: 6, class: "pw-dot" })];
  frame.layer.append(s("path", { class: "pw-past", d: pathThrough(points, frame) }), line, dot);
  const draw = (now) => {
    fill(line, { d: pathThrough(points.slice(0, now + 1), frame) });
    fill(dot, { cx: frame.x(points[now][0]), cy: frame.y(points[now][1]) });
  };
  return { node: frame.node, draw };
}

/** An epoch in words. @param {object} frame one of the data's */
function epochWords({ epoch, values, hypervolume, non_dominated: kept }, names) {
  const best = names.map((name, t) => `${name} ${Math.max(...values.map((v) => v[t])).toFixed(4)}`);
  return `After epoch ${epoch}: hypervolume ${hypervolume.toFixed(4)}, ${kept.filter(Boolean).length} of `
    + `${kept.length} points not dominated; best ${best.join(", best ")}.`;
}

/** Plays epoch by epoch, from the first where the last is shown. @param {number => void} go */
function replayPlayer(slider, go) {
  const isLast = () => slider.value === slider.max;
  let elapsed = 0;
  return player((milliseconds) => {
    elapsed += milliseconds / 1000;
    if (elapsed > SECONDS) {
      elapsed = 0;
      go(Number(slider.value) + 1);
    }
    return !isLast();
  }, (isPlaying) => { if (isPlaying && isLast()) go(0); });
}

/** @param {{model: object, el: HTMLElement}} host `model` has the values that
 *   pamal_companion.demos.replay makes */
function render({ model, el, address = NO_ADDRESS }) {
  const frames = model.get("frames").slice(1); // before training all points are those of guessing
  const names = model.get("objectives");
  const plane = accuracyPlot("The front of each epoch", names.map((name) => `${name} (higher is better →)`),
    frames.flatMap(({ values }) => values));
  const drawFronts = frontMarks(plane, frames);
  const volume = volumePlot(frames);
  const words = h("p", { class: "pw-numbers pw-words" });
  const say = liveRegion(el);
  const last = frames.length - 1;
  const first = frames.findIndex(({ epoch }) => `${epoch}` === address.read().epoch);
  const slider = h("input", { type: "range", min: 0, max: last, step: 1, value: first < 0 ? last : first,
    input: () => { play.set(false); show(); } });
  const show = () => {
    const now = Number(slider.value);
    drawFronts(now);
    volume.draw(now);
    words.textContent = epochWords(frames[now], names);
    slider.setAttribute("aria-valuetext", `epoch ${frames[now].epoch}`);
    say(words.textContent);
    address.write(now === last ? {} : { epoch: `${frames[now].epoch}` });
  };
  const go = (to) => { slider.value = to; show(); };
  const play = replayPlayer(slider, go);
  const hint = hintLine("", "Press Play", ", or move the slider: the front after each epoch of training.");
  el.append(hint, h("div", { class: "pw-controls" }, play.button,
    h("label", { class: "pw-choice pw-wide" }, "epoch", slider)), words,
  h("div", { class: "pw-panels pw-pair" }, plane.node, volume.node), replayLegend(), source(model));
  show();
}

/** What the marks are. */
function replayLegend() {
  const now = "the front of the epoch, from member 1 to member 2; hollow points are dominated";
  return legend([["pw-now-sample", now],
    ["pw-past-sample", "fronts of epochs before"]]);
}

/** Where the numbers are from. */
function source(model) {
  const { W, lam, p } = model.get("options");
  const [seed, epochs] = ["seed", "epochs"].map((name) => model.get(name));
  return h("p", { class: "pw-note" }, `PaMaL, W = ${W}, λ = ${lam}, p = ${p}, seed ${seed}, `
    + `${epochs} epochs. ${model.get("description")} Measured on ${model.get("examples")}. Made by `,
  h("code", {}, model.get("command")), ".");
}

export default { render };
