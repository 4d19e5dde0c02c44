// The panels of the widget over all records: what is looked at, what is shown, what there is.

/** What is known of the network that is looked at, and the command that makes it again. */
function readout() {
  const node = h("div", { class: "pw-readout" });
  const show = (state) => {
    const { at } = state;
    node.replaceChildren(...(at ? [
      h("p", { class: "pw-head" }, networkText(at), state.isHeld ? " (held)" : ""),
      numbersTable(at, state), h("p", { class: "pw-note" }, recordsText(at.run)), commandRow(at.run),
    ] : [h("p", { class: "pw-note" }, "Point at a mark to read its numbers. A click or a touch holds it; "
      + "arrow keys go along a front and from front to front.")]));
  };
  return { node, show };
}

function recordsText({ records }) {
  const others = records.length > 1 ? `, the same as ${records.slice(1).join(", ")}` : "";
  return `Record ${records[0]}${others}.`;
}

/** Metrics here, the best of the run, the mean over the shown seeds, and what the paper prints. */
function numbersTable({ run, point }, state) {
  const { experiment, split } = state;
  const runs = chosenRuns(run.setting, state);
  const columns = run.points[split] ?? [];
  const printed = run.setting.paper[experiment.splits[split]] ?? {};
  const spread = ([mean, deviation, number]) => [digitsOf(mean),
    ...(number > 1 ? [h("span", { class: "pw-sure" }, ` ± ${digitsOf(deviation)}`)] : [])];
  const row = (name, here, best, mean, paper) => h("tr", {}, h("th", { scope: "row" }, name),
    ...[[here], [best], mean, [paper]].map((cell) => h("td", {}, ...cell)));
  const metrics = experiment.metrics.map((name, m) => (columns[m] ? row(metricText(experiment, m),
    digitsOf(columns[m][point]), digitsOf(bestOf(run, m, state)),
    spread(meanOf(runs.map((one) => bestOf(one, m, state)))), digitsOf(printed[name])) : null));
  const volume = run.hypervolume[split] === null ? [] : [row("hypervolume ↑", "", digitsOf(run.hypervolume[split]),
    spread(volumeOf(run.setting, state)), digitsOf(printed.hypervolume))];
  const heads = ["", "this network", "best of the run", `mean of ${runs.length} seed${runs.length > 1 ? "s" : ""}`, "paper"];
  return h("table", { class: "pw-table pw-numbers" },
    h("caption", { class: "pw-hidden" }, `On ${experiment.splits[split]}`),
    headOf(heads), h("tbody", {}, ...volume, ...metrics.filter(Boolean)));
}

/** The command of a run, to be copied. */
function commandRow({ command }) {
  if (!command) return h("p", { class: "pw-note" }, "No notebook or grid of this package makes this run.");
  const text = h("textarea", { readonly: true, rows: 4, "aria-label": "command that makes this run", class: "pw-command" });
  text.value = command;
  return h("div", { class: "pw-controls" }, text, copyButton("Copy command", () => command, text));
}

const ROWS = 30;

/** The settings that are shown, the first of them, in the colours of the picture. */
function shownPanel({ hide, look: lookAt }) {
  const node = h("div", { class: "pw-shown" });
  const show = (state) => {
    const seen = {};
    const rows = state.show.slice(0, ROWS).map((setting) => {
      const nth = (seen[setting.method.name] = (seen[setting.method.name] ?? -1) + 1);
      const runs = chosenRuns(setting, state);
      const look = h("button", { type: "button", class: "pw-plain", disabled: !runs.length,
        click: () => lookAt(runs[0]) }, setting.label);
      return h("tr", {}, h("td", {}, sampleOf(setting, nth, runs[0]?.seed ?? 0)),
        h("th", { scope: "row", class: "pw-label" }, look),
        ...volumeTexts(setting, state).map((text) => h("td", { class: "pw-pair" }, text)),
        h("td", {}, h("button", { type: "button", class: "pw-plain", "aria-label": `Hide ${setting.label}`,
          click: () => hide(setting) }, "×")));
    });
    const heads = ["", "shown", "seeds", "HV ↑", "paper", ""];
    node.replaceChildren(h("table", { class: "pw-table pw-numbers" }, headOf(heads), h("tbody", {}, ...rows)),
      ...(state.show.length > ROWS ? [h("p", { class: "pw-note" }, `And ${state.show.length - ROWS} more.`)] : []));
  };
  return { node, show };
}

/** How many runs of a setting the seeds leave, their mean hypervolume and the paper's, as texts. */
function volumeTexts(setting, state) {
  const runs = chosenRuns(setting, state).length;
  const printed = setting.paper[state.experiment.splits[state.split]]?.hypervolume;
  return [`${runs} / ${setting.runs.length}`, digitsOf(volumeOf(setting, state)[0]), digitsOf(printed)];
}

/** Every setting of the data set, to be searched, ordered and shown.
 * @param {{ change: (patch: Object) => void, find: (patch: Object) => void }} what is done with a
 *   change of the state, and of the search */
function listPanel({ change, find }) {
  const search = h("input", { type: "search", placeholder: "W = 4 λ = 5", "aria-label": "search settings",
    input: () => find({ text: search.value }) });
  const [methods, body] = [h("span"), h("tbody")];
  const order = choice("Order", [["method", "by method"], ["best", "by hypervolume"]], "method",
    (value) => find({ order: value }));
  const said = h("span", { class: "pw-note", role: "status" });
  let [state, found] = [null, []];
  const rows = new Map(); // by setting: making them anew takes longer than all else
  const put = (settings, isShown) => change({ show: isShown ? [...new Set([...state.show, ...settings])]
    : state.show.filter((setting) => !settings.includes(setting)) });
  const button = (text, isShown) => h("button", { type: "button", click: () => put(found, isShown) }, text);
  const table = h("table", { class: "pw-table pw-numbers" }, headOf(["setting", "seeds", "HV ↑", "paper"]), body);
  const node = h("div", {}, h("div", { class: "pw-controls" }, h("label", { class: "pw-choice" }, "Search ", search),
    methods, order, button("Show all listed", true), button("Hide all listed", false), said),
  h("div", { class: "pw-list", tabindex: 0, role: "region", "aria-label": "settings" }, table));
  const show = (next, sought) => {
    [state, found] = [next, listed(next, sought)];
    if (search.value !== sought.text) search.value = sought.text;
    methods.replaceChildren(methodChoice(state, sought, find));
    said.textContent = `${found.length} of ${state.experiment.settings.length} settings.`;
    found.filter((setting) => !rows.has(setting)).forEach((setting) => rows.set(setting, listRow(setting, put)));
    const nodes = found.map((setting) => rows.get(setting).node);
    if (nodes.length !== body.rows.length || nodes.some((row, k) => row !== body.rows[k])) body.replaceChildren(...nodes);
    tick(next);
  };
  const tick = (next) => {
    state = next;
    found.forEach((setting) => rows.get(setting).show(state));
  };
  return { node, show, tick };
}

/** A select of the methods that the data set has. */
function methodChoice({ experiment }, { method }, find) {
  const names = new Map(experiment.settings.map((setting) => [setting.method.name, setting.method.printed]));
  return choice("Method", [["", "all methods"], ...names], method, (value) => find({ method: value }));
}

/** The settings that the search and the method leave, in the chosen order. */
function listed(state, { text, method, order }) {
  const words = soughtIn(text);
  const left = state.experiment.settings.filter((setting) =>
    (!method || setting.method.name === method) && isFound(setting, words));
  if (order === "method") return left;
  const volume = new Map(left.map((setting) => [setting, volumeOf(setting, state)[0] || -Infinity]));
  return left.sort((a, b) => volume.get(b) - volume.get(a) || 0);
}

/** A row of the list, with a box to show the setting. */
function listRow(setting, put) {
  const box = h("input", { type: "checkbox", change: () => put([setting], box.checked) });
  const cells = [0, 1, 2].map(() => h("td", { class: "pw-pair" }, ""));
  const node = h("tr", {}, h("th", { scope: "row" }, h("label", {}, box, " ", setting.label)), ...cells);
  const show = (state) => {
    box.checked = state.show.includes(setting);
    volumeTexts(setting, state).forEach((text, k) => {
      if (cells[k].textContent !== text) cells[k].textContent = text;
    });
  };
  return { node, show };
}
