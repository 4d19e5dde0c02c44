// The toy problem of section 3 and appendix B2, and a run of Algorithm 1 that can be watched.

const TOY_STEPS = 50000; // as long as the paper's runs
const TOY_PAIRS = TOY_STARTS.flatMap((_, i) => TOY_STARTS.map((__, j) =>
  [`${i}${j}`, `points ${i + 1} and ${j + 1}`]));
const TOY_CHOICES = { // name of the setting: label, options, first value
  pair: ["Start", [...TOY_PAIRS, ["own", "where dragged"]], "03"],
  speed: ["Steps a frame", numbered([1, 20, 100, 400]), 100],
  scale: ["c, scale of loss 1", numbered([1, 0.1]), 1],
  balancing: ["Balancing", [["none", "none"], ["gradient", "gradient"], ["loss", "loss"]], "none"],
  W: ["W, draws a step", numbered([1, 2, 4, 8]), 1],
  p: ["p, Dirichlet", numbered([0.2, 1, 5]), 1],
  lam: ["λ, penalty", numbered([0, 1, 5, 10]), 0],
  sign: ["Sign of it", [["ordered", "as described"], ["printed", "as printed"]], "ordered"],
};
const TOY_SIMPLE = 2; // so many are in view at first
const TOY_HINT = ", or drag a member, 1 or 2, to a start of your own: the segment between them falls onto the thick line.";

/** Within what distance the segment counts as covering the front, as on the toy problem's page. */
function toyWithin({ scale, balancing }) {
  if (scale === 1) return 0.1;
  return balancing === "gradient" ? 0.5 : 1;
}

/** A run that can go on: { settings, start, state, trails, draws, restart(), advance(count) }.
 * @param {number} seed of its draws */
function toyRun(seed) {
  const settings = firstOf(TOY_CHOICES);
  const run = { settings, start: toyPair(settings.pair), share: 0.5 };
  let random;
  run.restart = () => {
    random = seededRandom(seed);
    Object.assign(run, { state: toyStart(run.start), draws: [] });
    run.trails = run.start.map((member) => [[...member]]);
  };
  run.advance = (count) => {
    const last = Math.min(TOY_STEPS, run.state.count + count);
    while (run.state.count < last) {
      run.draws = drawAlphas(settings.W, settings.p, random);
      toyStep(run.state, run.draws, settings);
    }
    run.trails.forEach((trail, k) => trail.push([...run.state.stacked[k]]));
    if (run.trails[0].length > 1000) {
      run.trails = run.trails.map((trail) => trail.filter((_, n) => n % 2 === 0));
    }
  };
  run.restart();
  return run;
}

/** The members at the start that a select names. */
function toyPair(name) {
  return [...name].map((n) => [...TOY_STARTS[Number(n)]]);
}

/** Set one setting. A penalty needs two draws: returns what else that has changed, in words. */
function toySet(run, name, value) {
  const { settings } = run;
  let said = "";
  settings[name] = name === "pair" ? value : asNumber(value);
  if (settings.lam > 0 && settings.W === 1) {
    if (name === "W") settings.lam = 0;
    else settings.W = 2;
    said = name === "W" ? "The penalty compares draws, and one draw has none to compare with: λ is 0 now."
      : "The penalty compares draws, so it needs two of them: W is 2 now.";
  }
  if (name === "pair" && value !== "own") run.start = toyPair(value);
  if (name !== "speed") run.restart();
  return said;
}

/** What the run has reached, in words. @param {object} run @param {number[][]} front [K][2] */
function toyWords({ state, share, settings }, front) {
  const { scale } = settings;
  const point = (values) => `(${values.map((v) => v.toFixed(2).replace("-", "−")).join(", ")})`;
  const here = toyLosses(toyBetween([share, 1 - share], state.stacked), scale).losses;
  const gap = toyGap(front, toyImage(state.stacked, scale, 401));
  const covered = gap <= toyWithin(settings) ? "covers it" : "does not cover it";
  return [
    `Step ${state.count.toLocaleString("en")} of ${TOY_STEPS.toLocaleString("en")}.`,
    `Members at ${point(state.stacked[0])} and ${point(state.stacked[1])}.`,
    `Losses at α₁ = ${share.toFixed(2)}: ${point(here)}.`,
    `The segment misses the front by up to ${gap.toFixed(2)} in loss, and ${covered}.`,
  ].join(" ");
}

/** The pictures: { nodes, draw(), rescale(), shade(), frame }; a member that is moved calls `onMember`. */
function toyPictures(run, onMember) {
  const plane = toyPlane();
  const marks = toyMarks(plane.frame);
  const alpha = toyPlaces(plane.frame, [["pw-chosen", "α"]]);
  const members = [0, 1].map((k) => planeHandle(plane.frame, { label: `member ${k + 1}`,
    kind: ["pw-one", "pw-two"][k], text: `${k + 1}`, step: [0.1, 0.1], range: TOY_PLANE[0],
    onChange: (point) => onMember(k, point.map((v, d) => clamp(v, ...TOY_PLANE[d]))) }));
  const holder = h("div");
  let losses;
  const shade = () => plane.paint(run.share, run.settings.scale);
  const rescale = () => {
    losses = toyObjectives(run.settings.scale);
    holder.replaceChildren(losses.frame.node);
    shade();
  };
  const draw = () => {
    const { state: { stacked }, start, share, draws, trails, settings: { scale } } = run;
    const image = (theta) => toyLosses(theta, scale).losses;
    const here = toyBetween([share, 1 - share], stacked);
    const thetas = draws.map((point) => toyBetween(point, stacked));
    marks({ trails, first: start, now: stacked, draws: thetas });
    alpha([here]);
    members.forEach((place, k) => place(stacked[k],
      `θ₁ = ${stacked[k][0].toFixed(2)}, θ₂ = ${stacked[k][1].toFixed(2)}`));
    losses.marks({ trails: trails.map((trail) => trail.map(image)), draws: thetas.map(image),
      first: toyImage(start, scale, 201), now: toyImage(stacked, scale, 201) });
    losses.places([...stacked, here].map(image));
    return losses.front;
  };
  rescale();
  return { nodes: [plane.node, holder], draw, rescale, shade, frame: plane.frame };
}

/** The slider of alpha. */
function toySlider(run, onChange) {
  const input = h("input", { type: "range", min: 0, max: 1, step: 0.01, value: run.share,
    input: () => onChange(Number(input.value)) });
  return h("label", { class: "pw-choice pw-wide" }, "α₁, the share of member 1", input);
}

/** A run with the settings that an address names. */
function toyRead(state) {
  const run = toyRun(0);
  Object.entries(settingsIn(TOY_CHOICES, state)).forEach(([name, value]) => toySet(run, name, value));
  return run;
}

/** Plays to the last step, and from the first one where that is shown. */
function toyPlayer(run, advance, restart) {
  const isOver = () => run.state.count >= TOY_STEPS;
  return player(() => { advance(run.settings.speed); return !isOver(); },
    (isPlaying) => { if (isPlaying && isOver()) restart(); });
}

/** @param {{el: HTMLElement, address?: object}} host the widget needs no values */
function render({ el, address = NO_ADDRESS }) {
  const run = toyRead(address.read());
  const words = h("p", { class: "pw-numbers pw-words" });
  const said = h("p", { class: "pw-note pw-said", role: "status" });
  const say = liveRegion(el, 700);
  const pictures = toyPictures(run, (k, point) => {
    play.set(false);
    run.start = run.state.stacked.with(k, point);
    change("pair", "own");
  });
  const show = () => say(words.textContent = toyWords(run, pictures.draw()));
  const change = (name, value) => {
    said.textContent = toySet(run, name, value);
    if (name === "scale") pictures.rescale();
    selects.show();
    address.write(settingsOut(TOY_CHOICES, run.settings));
    show();
  };
  const advance = (count) => { run.advance(count); show(); };
  const selects = selectsOf(TOY_CHOICES, run.settings, change);
  const restart = () => { run.restart(); show(); };
  const play = toyPlayer(run, advance, restart);
  const slider = toySlider(run, (share) => { run.share = share; pictures.shade(); show(); });
  const paused = (text, f) => pressed(text, () => { play.set(false); f(); });
  const buttons = [play.button, paused("Step", () => advance(1)), paused("Reset", restart)];
  el.append(hintLine("", "Press Play", TOY_HINT), controlsRow(buttons), h("div", { class: "pw-panels pw-pair" }, ...pictures.nodes),
    words, toyLegend(), slider, toySettings(run.settings, selects.nodes), said);
  selects.show();
  show();
  showHand(pictures.frame.node, thereAndBack(pictures.frame, run.start[0], [60, 50]));
}

/** The selects; those of Algorithm 1 beyond the start are folded, unless the address sets one. */
function toySettings(settings, nodes) {
  const own = Object.entries(TOY_CHOICES).slice(TOY_SIMPLE);
  const open = own.some(([name, [, , first]]) => settings[name] !== first);
  return h("div", {}, controlsRow(nodes.slice(0, TOY_SIMPLE)),
    h("details", { class: "pw-more", open }, h("summary", {}, "More settings: scale, balancing, draws, penalty"),
      controlsRow(nodes.slice(TOY_SIMPLE))));
}

export default { render };
