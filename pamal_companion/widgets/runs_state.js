// The widget over all records: what Python packed, what is selected of it, and the address of that.

/** The rows of a table of columns. @param {Object<string, Array>} columns by name */
function rowsOf(columns) {
  const [first] = Object.values(columns);
  const names = Object.keys(columns);
  return first.map((_, n) => Object.fromEntries(names.map((name) => [name, columns[name][n]])));
}

/** What `runs_data.pack` made, with its tables joined: settings have their method and their runs,
 * runs their setting, their alphas and their texts, and their points in the metrics' own unit. */
function atlasOf(packed) {
  const { digits, texts } = packed;
  const settings = rowsOf(packed.settings).map((row) =>
    ({ ...row, method: packed.methods[row.method], usual: texts[row.usual], runs: [] }));
  const inUnits = (column) => column && column.map((value) => value / 10 ** digits);
  rowsOf(packed.runs).forEach((row) => {
    const setting = settings[row.setting];
    const records = row.records.map((number) => texts[number].replace("%seed%", row.seed));
    const command = texts[row.command]?.replace("%record%", records[0]).replace("%seed%", row.seed);
    setting.runs.push({ ...row, setting, records, command, alphas: packed.alphas[row.alphas],
      points: row.points.map((columns) => columns && columns.map(inUnits)) });
  });
  const experiments = packed.experiments.map((row, number) => {
    const own = settings.filter((setting) => setting.experiment === number);
    own.forEach((setting) => setting.runs.sort((a, b) => a.seed - b.seed));
    const seeds = new Set(own.flatMap((setting) => setting.runs.map((run) => run.seed)));
    return { ...row, splits: packed.splits, settings: own, seeds: [...seeds].sort((a, b) => a - b),
      start: row.start.length ? row.start.map((place) => settings[place]) : own.slice(0, 3) };
  });
  const { records, damaged } = packed;
  return { experiments, records, damaged, count: packed.runs.seed.length };
}

/** What is shown of an experiment at first: few curves, two objectives, three seeds. */
function startOf(experiment) {
  const [x, y = x] = experiment.objectives;
  return { experiment, show: experiment.start, seeds: experiment.seeds.slice(0, 3), split: 0, x, y,
    zoom: null, at: null, isHeld: false };
}

/** The runs of a setting that are shown: those of the chosen seeds. */
function chosenRuns(setting, { seeds }) {
  return setting.runs.filter((run) => seeds.includes(run.seed));
}

/** What a search looks for in `text`: words as they are, options with their names written alike. */
function soughtIn(text) {
  const plain = text.toLowerCase().replace(/λ|lambda\b/g, "lam").replace(/\s*=\s*/g, "=");
  return plain.split(/[\s,;]+/).filter(Boolean);
}

/** Whether a setting has all that is sought; an option's value must be the same number. */
function isFound(setting, sought) {
  const text = `${setting.method.printed} ${setting.label} ${setting.key}`.toLowerCase();
  const options = `${setting.key.replaceAll(":", " ")} ${setting.usual}`.toLowerCase().split(" ");
  const isEqual = (a, b) => a === b || (a !== "" && b !== "" && Number(a) === Number(b));
  return sought.every((word) => {
    const [name, value] = word.split("=");
    if (value === undefined) return text.includes(word);
    return options.some((option) => {
      const [own, has] = option.split("=");
      return own === name && isEqual(has, value);
    });
  });
}

/** The address of a selection: "data=census&split=test&show=ls,uw&seeds=0,1". */
function selectionText({ experiment, show, seeds, split, x, y, at, isHeld }) {
  const { metrics, objectives, splits } = experiment;
  const isUsual = x === objectives[0] && y === (objectives[1] ?? x);
  const parts = { data: experiment.name, split: splits[split],
    ...(isUsual ? {} : { x: metrics[x], y: metrics[y] }),
    show: show.map((setting) => setting.key).join(","),
    seeds: seeds.length === experiment.seeds.length ? "all" : seeds.join(","),
    ...(at && isHeld ? { run: at.run.setting.key, seed: at.run.seed, point: at.point } : {}) };
  const readable = (text) => encodeURIComponent(text).replace(/%(2C|3A|3D|2F)/g, decodeURIComponent);
  return Object.entries(parts).map(([name, value]) => `${name}=${readable(value)}`).join("&");
}

/** The parts of an address by name; [] where it is none of ours. */
function partsOf(address) {
  const plain = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  return address.split("&").filter((part) => part.includes("=")).map((part) => {
    const [name, ...value] = part.split("=");
    return [name, plain(value.join("="))];
  });
}

/** What an address selects, and which of its parts name nothing here: { state, unknown }. */
function selectedBy(address, atlas) {
  const parts = new Map(partsOf(address));
  const unknown = [];
  const found = (name, list, of, otherwise) => {
    if (!parts.has(name)) return otherwise;
    const value = parts.get(name);
    const place = list.findIndex((entry) => `${of(entry)}` === value);
    if (place < 0) unknown.push(`${name}=${value}`);
    return place < 0 ? otherwise : place;
  };
  const listed = (name, list, of, otherwise) => {
    const values = parts.get(name)?.split(",").filter(Boolean);
    const entries = values?.map((value) => list.find((entry) => `${of(entry)}` === value)
      ?? (unknown.push(`${name}=${value}`), null)).filter((entry) => entry !== null);
    return entries && (entries.length || !values.length) ? [...new Set(entries)] : otherwise;
  };
  const experiment = atlas.experiments[found("data", atlas.experiments, (e) => e.name, 0)];
  const state = startOf(experiment);
  const same = (value) => value;
  ["split", "x", "y"].forEach((name) => {
    state[name] = found(name, name === "split" ? experiment.splits : experiment.metrics, same, state[name]);
  });
  state.show = listed("show", experiment.settings, (setting) => setting.key, state.show);
  state.seeds = parts.get("seeds") === "all" ? experiment.seeds
    : listed("seeds", experiment.seeds, same, state.seeds);
  state.at = parts.has("run") ? placeIn(parts, state, unknown) : null;
  state.isHeld = state.at !== null;
  const known = ["data", "split", "x", "y", "show", "seeds", "run", "seed", "point"];
  parts.forEach((value, name) => known.includes(name) || unknown.push(`${name}=${value}`));
  return { state, unknown };
}

/** The network that an address names: { run, point }; null where it is not shown. */
function placeIn(parts, state, unknown) {
  const setting = state.show.find(({ key }) => key === parts.get("run"));
  const run = setting && chosenRuns(setting, state)
    .find(({ seed }) => `${seed}` === (parts.get("seed") ?? `${seed}`));
  const point = Number(parts.get("point") ?? 0);
  if (run?.points[state.split] && run.alphas[point]) return { run, point };
  unknown.push(`run=${parts.get("run")}`);
  return null;
}

/** The mean of numbers, and their deviation (n - 1): [mean, deviation, how many]. */
function meanOf(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const square = known.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return [mean, Math.sqrt(square / (known.length - 1)), known.length];
}

/** The mean hypervolume of the chosen runs of a setting, as `meanOf`. */
function volumeOf(setting, state) {
  return meanOf(chosenRuns(setting, state).map((run) => run.hypervolume[state.split]));
}

/** The best value of a metric along the front of a run; null where it was not measured. */
function bestOf(run, metric, { split, experiment }) {
  const values = run.points[split]?.[metric];
  if (!values) return null;
  return (experiment.higher[metric] ? Math.max : Math.min)(...values);
}

/** A number with so many decimals, or a dash. */
function digitsOf(value, digits = 4) {
  return value === null || value === undefined || Number.isNaN(value) ? "–" : value.toFixed(digits);
}

/** The name of a metric with an arrow for the direction that is better. */
function metricText({ metrics, higher }, metric) {
  const cut = metrics[metric].lastIndexOf("/");
  const [task, name] = [metrics[metric].slice(0, cut), metrics[metric].slice(cut + 1)];
  return `${name} on ${/^\d+$/.test(task) ? "task " : ""}${task} ${higher[metric] ? "↑" : "↓"}`;
}
