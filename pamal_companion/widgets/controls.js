// Controls of the widgets that run by themselves or offer choices.

/** Options of a select, from numbers. */
function numbered(values) {
  return values.map((value) => [value, `${value}`]);
}

/** The first values of settings. @param {Object} choices { name: [label, options, value] } */
function firstOf(choices) {
  return Object.fromEntries(Object.entries(choices).map(([name, entry]) => [name, entry[2]]));
}

/** The settings that an address names, where it names one of the options.
 * @param {Object} choices { name: [label, options, value] } @param {Object<string, string>} state */
function settingsIn(choices, state) {
  const named = Object.entries(choices).map(([name, [, options]]) =>
    [name, options.find(([value]) => `${value}` === state[name])]);
  return Object.fromEntries(named.filter(([, option]) => option).map(([name, [value]]) => [name, value]));
}

/** The settings for an address: those that are not as they were first, nor made by hand. */
function settingsOut(choices, settings) {
  return Object.fromEntries(Object.entries(choices)
    .filter(([name, [,, first]]) => settings[name] !== first && settings[name] !== "own")
    .map(([name]) => [name, `${settings[name]}`]));
}

/** A value of a select: a number where it is one. */
function asNumber(value) {
  return Number.isNaN(Number(value)) ? value : Number(value);
}

/** A select with its label for each setting.
 * @param {Object} choices { name: [label, options, value] }, options with what is shown for them
 * @param {Object} settings by name; what the selects show
 * @param {(name: string, value: string) => void} onChange
 * @returns {{nodes: Node[], show: () => void}} `show` at first, and after settings have changed */
function selectsOf(choices, settings, onChange) {
  const selects = Object.entries(choices).map(([name, [label, options]]) => {
    const select = h("select", { change: () => onChange(name, select.value) },
      ...options.map(([value, text]) => h("option", { value }, text)));
    return { name, select, node: h("label", { class: "pw-choice" }, label, select) };
  });
  const show = () => selects.forEach(({ name, select }) => {
    select.value = `${settings[name]}`;
  });
  return { nodes: selects.map(({ node }) => node), show };
}

/** A button that plays and pauses: `onFrame` is called once a frame until it returns false. Nothing
 * plays before it is pressed.
 * @param {(time: number) => boolean} onFrame called with the milliseconds since the last frame
 * @param {(isPlaying: boolean) => void} onSwitch called after each switch
 * @returns {{button: HTMLButtonElement, set: (play: boolean) => void}} */
function player(onFrame, onSwitch = () => {}) {
  let request = null;
  let last = 0;
  const button = pressed("Play", () => set(request === null));
  const set = (play) => {
    if (play === (request !== null)) return;
    if (request !== null) cancelAnimationFrame(request);
    request = play ? requestAnimationFrame(frame) : null;
    last = performance.now();
    button.textContent = play ? "Pause" : "Play";
    onSwitch(play);
  };
  const frame = (now) => {
    const goesOn = button.isConnected && onFrame(now - last);
    last = now;
    if (goesOn) request = requestAnimationFrame(frame);
    else set(false);
  };
  return { button, set };
}

/** Controls beside each other. */
function controlsRow(nodes) {
  return h("div", { class: "pw-controls" }, ...nodes);
}

/** What the marks of a picture mean.
 * @param {[string, string][]} entries the class of a line, as a plot has it, and what it means */
function legend(entries) {
  return legendOf(...entries.map(([kind, text]) => [[s("path", { class: kind, d: "M2 6H26" })], text]));
}

/** The attribute `d` of a path through points [n][2], by the scales of a plot. */
function pathThrough(points, { x, y }) {
  return points.map(([a, b], n) => `${n ? "L" : "M"}${x(a).toFixed(2)} ${y(b).toFixed(2)}`).join("");
}

/** A mark that is moved in the two directions of a plot, called a slider to screen readers; its
 * steps are those of the axes' units.
 * @param {object} frame of `plot`
 * @param {{label: string, kind: string, text: string, step: [number, number],
 *   range: [number, number], onChange: (point: number[]) => void}} options
 *   `kind` is a class, `text` stands in the mark; with a step of 0 it does not move that way
 * @returns {(point: number[], words: string) => void} places it, without calling `onChange` */
function planeHandle(frame, { label, kind, text, step, range, onChange }) {
  let here = [0, 0];
  const grip = s("g", { role: "slider", "aria-label": label, class: kind,
    "aria-valuemin": range[0], "aria-valuemax": range[1] },
  s("circle", { r: 18, class: "pw-halo" }), s("circle", { r: 9, class: "pw-dot" }),
  s("text", { "text-anchor": "middle", y: 4 }, text));
  const free = (point) => point.map((v, i) => (step[i] > 0 ? v : here[i]));
  draggable(frame.node, grip,
    (px, py) => onChange(free([frame.x.invert(px), frame.y.invert(py)])),
    (dx, dy) => onChange([here[0] + dx * step[0], here[1] - dy * step[1]]
      .map((v) => Number(v.toFixed(12))))); // so that steps do not gather errors
  frame.layer.append(grip);
  return (point, words) => {
    here = point;
    const main = step[0] > 0 ? point[0] : point[1];
    fill(grip, { transform: `translate(${frame.x(point[0])} ${frame.y(point[1])})`,
      "aria-valuenow": Number(main.toFixed(3)), "aria-valuetext": words });
  };
}
