// Fronts: which measured points are dominated, which is best under a condition, what lies nearest.
// A front is { alphas: number[P][M], columns: { name: number[P] }, objectives: [{ name, maximise }] }.

/** The objectives of point `p`, each so that more is better: number[T]. */
function better({ columns, objectives }, p) {
  return objectives.map(({ name, maximise }) => (maximise ? 1 : -1) * columns[name][p]);
}

/** How many points of the front are at least as good as `values` in all objectives and better in
 * one (Definition 1). @param {number[]} values [T], more is better */
function dominators(front, values) {
  return front.alphas.filter((_, p) => {
    const other = better(front, p);
    return other.every((v, t) => v >= values[t]) && other.some((v, t) => v > values[t]);
  }).length;
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

/** As `Front.choose`: the index of the best compromise, scaled over the points that are not
 * dominated, where objective `t` is no worse than `bound`; null where none is.
 * @returns {number | null} */
function choose(front, t, bound) {
  const all = front.alphas.map((_, p) => better(front, p));
  const limit = front.objectives[t].maximise ? bound : -bound;
  const kept = all.filter((v) => dominators(front, v) === 0);
  const lows = all[0].map((_, k) => Math.min(...kept.map((v) => v[k])));
  const spans = lows.map((low, k) => Math.max(...kept.map((v) => v[k])) - low || 1);
  const score = (v) => v.reduce((sum, value, k) => sum + (value - lows[k]) / spans[k], 0);
  return all.reduce((best, v, p) => {
    if (v[t] < limit) return best;
    return best === null || score(v) > score(all[best]) ? p : best;
  }, null);
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

/** "top-left/accuracy" in words. */
function inWords(name) {
  const cut = name.lastIndexOf("/");
  return `${name.slice(cut + 1)} on ${name.slice(0, cut)}`;
}

/** Whether more is better in a column: as its objective says, else by its name. */
function isMaximised({ objectives }, name) {
  const objective = objectives.find((o) => o.name === name);
  return objective ? objective.maximise : !/(loss|error)$/.test(name);
}

/** An axis title with the direction that is better. */
function titled(front, name) {
  return isMaximised(front, name) ? `${inWords(name)} (better →)` : `(← better) ${inWords(name)}`;
}
