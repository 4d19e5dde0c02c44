// Fronts: which measured points are dominated, which is best under a bound, what lies nearest.
// A front is { alphas: number[P][M], columns: { name: number[P] }, objectives: [{ name, maximise }] }.
// Points are compared by goals, [{ name, maximise }] for the columns that are looked at.

/** The columns `names` as goals. */
function goalsOf(front, names) {
  return names.map((name) => ({ name, maximise: isMaximised(front, name) }));
}

/** All values of point `p` by name. */
function valuesAt({ columns }, p) {
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[p]]));
}

/** The goals of `values`, by name, each so that more is better: number[T]. */
function better(goals, values) {
  return goals.map(({ name, maximise }) => (maximise ? 1 : -1) * values[name]);
}

/** The points that are at least as good as `values` in all goals and better in one (Definition 1).
 * @param {Object<string, number>} values by name @returns {number[]} their indices */
function dominators(front, goals, values) {
  const here = better(goals, values);
  return front.alphas.map((_, p) => p).filter((p) => {
    const other = better(goals, valuesAt(front, p));
    return other.every((v, t) => v >= here[t]) && other.some((v, t) => v > here[t]);
  });
}

/** Whether each point is not dominated: boolean[P]. */
function keptOf(front, goals) {
  return front.alphas.map((_, p) => dominators(front, goals, valuesAt(front, p)).length === 0);
}

/** The goals of each point from the worst to the best, scaled as in `Front.choose`: 0 is the worst
 * and 1 the best of the points that are not dominated. Goals that are the same everywhere are left
 * out: number[P][]. */
function scores(front, goals) {
  const all = front.alphas.map((_, p) => better(goals, valuesAt(front, p)));
  const isKept = keptOf(front, goals);
  const kept = all.filter((_, p) => isKept[p]);
  const lows = goals.map((_, t) => Math.min(...kept.map((v) => v[t])));
  const spans = lows.map((low, t) => Math.max(...kept.map((v) => v[t])) - low);
  const scaled = (v) => v.map((value, t) => (value - lows[t]) / spans[t]);
  return all.map((v) => scaled(v).filter((_, t) => spans[t] > 0).sort((a, b) => a - b));
}

/** Whether the first number in which two lists differ is larger in `one`. */
function isLarger(one, other) {
  const t = one.findIndex((value, k) => value !== other[k]);
  return t >= 0 && one[t] > other[t];
}

/** Which points meet a bound: boolean[P]. @param {{ name: string, value: number } | null} bound */
function feasible(front, bound) {
  if (!bound) return front.alphas.map(() => true);
  const [sign, column] = [isMaximised(front, bound.name) ? 1 : -1, front.columns[bound.name]];
  return column.map((value) => sign * value >= sign * bound.value);
}

/** As `Front.choose`: the index of the point whose worst goal is best among the points that meet
 * `bound`, or among those in `only`; null where there is none.
 * @returns {number | null} */
function choose(front, goals, bound = null, only = null) {
  const [score, isMet] = [scores(front, goals), feasible(front, bound)];
  const met = front.alphas.map((_, p) => p).filter((p) => isMet[p] && (!only || only.includes(p)));
  const isBeaten = (p) => dominators(front, goals, valuesAt(front, p)).some((q) => met.includes(q));
  return met.filter((p) => !isBeaten(p)).reduce((best, p) =>
    (best === null || isLarger(score[p], score[best]) ? p : best), null);
}

/** The point that is best in goal `t`; of several the best compromise. */
function bestFor(front, goals, t) {
  const { name, maximise } = goals[t];
  const value = (maximise ? Math.max : Math.min)(...front.columns[name]);
  return choose(front, goals, { name, value });
}

/** Whether two alphas are the same but for rounding. */
function isSame(alpha, other) {
  return alpha.every((share, k) => Math.abs(share - other[k]) < 1e-6);
}

/** `alpha` to three digits; the last entry is what is left of 1. */
function tidy(alpha) {
  const first = alpha.slice(0, -1).map((share) => Number(share.toFixed(3)));
  return [...first, Number(Math.max(0, 1 - first.reduce((a, b) => a + b, 0)).toFixed(3))];
}

/** The index of the measured alpha nearest to `alpha`. */
function nearest(front, alpha) {
  const far = (other) => other.reduce((sum, v, k) => sum + (v - alpha[k]) ** 2, 0);
  return front.alphas.reduce((best, other, p) =>
    (far(other) < far(front.alphas[best]) - 1e-15 ? p : best), 0);
}

/** The distance of theta(alpha) to each member in weight space: number[M].
 * @param {number[][]} gram the inner products of the members' weights [M][M] */
function distances(gram, alpha) {
  return alpha.map((_, k) => {
    const to = alpha.map((share, j) => share - (j === k ? 1 : 0));
    const square = to.reduce((sum, a, i) =>
      sum + to.reduce((inner, b, j) => inner + a * b * gram[i][j], 0), 0);
    return Math.sqrt(Math.max(0, square));
  });
}

/** The task of "top-left/accuracy". */
function taskOf(name) {
  return name.slice(0, name.lastIndexOf("/"));
}

/** "top-left/accuracy" in words. */
function inWords(name) {
  return `${name.slice(name.lastIndexOf("/") + 1)} on ${taskOf(name)}`;
}

/** Whether more is better in a column: as its objective says, else by its name, which begins with
 * "gap" or ends with "loss" or "error" where less is better. */
function isMaximised({ objectives }, name) {
  const objective = objectives.find((o) => o.name === name);
  return objective ? objective.maximise : !/(loss|error)$|\/gap\b/.test(name);
}

/** An axis title with the direction that is better. */
function titled(front, name) {
  return `${inWords(name)} (${isMaximised(front, name) ? "higher" : "lower"} is better)`;
}

/** "[0.25, 0.75]", as short as it can be without losing what matters. */
function bracketed(alpha) {
  return `[${alpha.map((v) => Number(v.toFixed(6))).join(", ")}]`;
}
