// Every run of a folder in one picture: choose settings, seeds, a split and two metrics; what is near
// the pointer says what it is, and which command makes it again.
//
// Values of the model: records (see runs_data.py); in JupyterLab also selection, the address as text.
// In a page the address is the page's own.

/** The choices above the picture: data set, split and axes, and which seeds. */
function choicesPanel(atlas, change, toStart) {
  const [selects, seeds] = [h("div", { class: "pw-controls" }), h("div", { class: "pw-controls" })];
  const show = (state) => {
    const { experiment } = state;
    const numbers = (texts) => texts.map((text, k) => [k, text]);
    const metrics = numbers(experiment.metrics.map((_, m) => metricText(experiment, m)));
    const pick = (label, options, name) =>
      choice(label, options, state[name], (value) => change({ [name]: Number(value), zoom: null }));
    selects.replaceChildren(
      choice("Data", numbers(atlas.experiments.map(({ title }) => title)),
        atlas.experiments.indexOf(experiment), (value) => toStart(startOf(atlas.experiments[value]))),
      pick("Split", numbers(experiment.splits), "split"),
      pick("Horizontal", metrics, "x"), pick("Vertical", metrics, "y"));
    const all = state.seeds.length === experiment.seeds.length;
    const chip = (text, isOn, next) => h("button", { type: "button", class: "pw-chip",
      "aria-pressed": `${isOn}`, click: () => change({ seeds: next }) }, text);
    seeds.replaceChildren("Seeds", ...experiment.seeds.map((seed) => {
      const isOn = state.seeds.includes(seed);
      const next = experiment.seeds.filter((one) => (one === seed) !== state.seeds.includes(one));
      return chip(h("span", {}, seedSample(seed), ` ${seed}`), isOn, next);
    }), chip("all", all, all ? experiment.seeds.slice(0, 3) : experiment.seeds));
  };
  return { nodes: [selects, seeds], show };
}

/** The mark of a seed, as in the picture. */
function seedSample(seed) {
  return s("svg", { viewBox: "0 0 12 12", class: "pw-seed", "aria-hidden": "true" },
    s("path", { d: seedMark(seed, 6, 6, 4) }));
}

/** How many records there are, which are damaged, and what of an address means nothing here. */
function notesPanel({ records, count, damaged }) {
  const node = h("div", { class: "pw-note" });
  const show = (ignored) => node.replaceChildren(
    h("div", {}, `${count} runs, in ${records} records: two tables that share a run have a record each. `
      + "Filled marks: no other network of the run is better on both axes. The shape of a mark is its seed; ten seeds apart they are alike. "
      + "HV is the mean hypervolume of the shown seeds."),
    ...(damaged.length ? [h("details", {}, h("summary", {}, `${damaged.length} damaged record`
      + `${damaged.length > 1 ? "s are" : " is"} left out.`), ...damaged.map((why) => h("div", {}, why)))] : []),
    ...(ignored.length ? [h("div", { role: "status", class: "pw-ignored" },
      `The address names what is not here, and that was ignored: ${ignored.join("; ")}.`)] : []));
  return { node, show };
}

/** The address of the widget: `write(text)`, and `onChange` when another is given. A page has it in
 * its own, where a reader can copy it; JupyterLab in the model. */
function addressIn(model, el, onChange) {
  if (model.get("selection") !== undefined) {
    let sent = null;
    model.on("change:selection", () => { if (model.get("selection") !== sent) onChange(model.get("selection")); });
    return { read: () => model.get("selection"), write: (text) => {
      sent = text;
      model.set("selection", text);
      model.save_changes();
    } };
  }
  const read = () => [location.hash, location.search].find((text) => text.includes("="))?.slice(1) ?? "";
  let timer; // browsers are slow to change an address, and refuse to do it too often
  const write = (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => history.replaceState(history.state, "", `#${text}`), 100);
  };
  const take = (text) => {
    onChange(text);
    el.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", () => location.hash.includes("=") && take(read()));
  // Links of the page are written "?data=...", as the book's theme takes each "#..." for a heading.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="?"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    take(link.search.slice(1));
    write(link.search.slice(1));
  });
  return { read, write };
}

/** The buttons that zoom. */
function zoomButtons(onZoom) {
  return [["+", "Zoom in", 2], ["−", "Zoom out", 0.5], ["Reset", "Reset zoom", 0]].map(([text, label, factor]) =>
    h("button", { type: "button", "aria-label": label, click: () => onZoom(factor) }, text));
}

/** All parts in their places. */
function placeRuns(el, { choices, plot, readout, shown, list, notes }, zoom) {
  el.classList.add("pw", "pw-runs");
  el.dataset.lmSuppressShortcuts = "true"; // arrow keys are ours, also inside JupyterLab
  el.append(...choices.nodes, h("div", { class: "pw-panels" },
    h("div", { class: "pw-main" }, plot.node, h("div", { class: "pw-controls" }, ...zoom)),
    h("div", { class: "pw-side" }, shown.node, readout.node)),
  notes.node, h("p", { class: "pw-head" }, "More runs"), list.node);
  return liveRegion(el);
}

const NOTHING_SOUGHT = { text: "", method: "", order: "method" };

/** Shows a state in all parts but the list. */
function showRuns({ parts, state, ignored }) {
  [parts.choices, parts.shown, parts.readout, parts.plot].forEach((part) => part.show(state));
  parts.plot.mark(state);
  parts.notes.show(ignored);
}

/** Goes to a state as a whole, of another data set perhaps. */
function goTo(widget, state, ignored = []) {
  const isOther = state.experiment !== widget.state?.experiment;
  if (isOther) widget.sought = { ...NOTHING_SOUGHT, order: widget.sought.order };
  Object.assign(widget, { state, ignored });
  showRuns(widget);
  widget.parts.list.show(state, widget.sought);
}

/** Changes a part of the state. @param {Object} patch */
function changeRuns(widget, patch) {
  const before = widget.state;
  const state = { ...before, ...patch };
  if (state.at && !isShown(state.at, state)) Object.assign(state, { at: null, isHeld: false });
  Object.assign(widget, { state, ignored: [] });
  showRuns(widget);
  const { list } = widget.parts;
  if (before.split !== state.split || before.seeds !== state.seeds) list.show(state, widget.sought);
  else list.tick(state);
  widget.address.write(selectionText(state));
}

/** Looks at a network; without one at the last. One that is held stays while the mouse moves. */
function lookAt(widget, at, isHeld) {
  const state = { ...widget.state, at: at ?? widget.state.at, isHeld };
  const wasHeld = widget.state.isHeld;
  widget.state = state;
  widget.parts.plot.mark(state);
  widget.parts.readout.show(state);
  if (state.at) widget.say(networkText(state.at));
  if (isHeld || wasHeld) widget.address.write(selectionText(state));
}

/** Whether the network that is looked at is still among those that are shown. */
function isShown({ run }, state) {
  return state.show.includes(run.setting) && state.seeds.includes(run.seed)
    && run.points[state.split] !== null;
}

/** All parts of the widget. */
function partsOfRuns(widget, zoom) {
  const change = (patch) => changeRuns(widget, patch);
  const without = (setting) => widget.state.show.filter((one) => one !== setting);
  const find = (patch) => {
    widget.sought = { ...widget.sought, ...patch };
    widget.parts.list.show(widget.state, widget.sought);
  };
  return {
    choices: choicesPanel(widget.atlas, change, (state) => {
      goTo(widget, state);
      widget.address.write(selectionText(state));
    }),
    plot: runsPlot((at, isHeld) => lookAt(widget, at, isHeld), zoom),
    readout: readout(),
    shown: shownPanel({ hide: (setting) => change({ show: without(setting) }),
      look: (run) => lookAt(widget, { run, point: 0 }, true) }),
    list: listPanel({ change, find }),
    notes: notesPanel(widget.atlas),
  };
}

export default {
  render({ model, el }) {
    const widget = { atlas: atlasOf(model.get("records")), sought: NOTHING_SOUGHT };
    const zoom = (factor) => changeRuns(widget, { zoom: widget.parts.plot.zoomed(factor) });
    const restore = (text) => {
      const { state, unknown } = selectedBy(text, widget.atlas);
      goTo(widget, state, unknown);
    };
    widget.parts = partsOfRuns(widget, zoom);
    widget.address = addressIn(model, el, restore);
    widget.say = placeRuns(el, widget.parts, zoomButtons(zoom));
    restore(widget.address.read());
  },
};
