// The multi-forward penalty (Eq. 3), as in pamal_core.penalties.MultiForward.

/** The edges of one task's graph: pairs [i, j] of draws, draw j having the larger weight.
 * @param {number[]} weights [W], what each draw weighs the task by
 * @param {"lex"|"full"} kind neighbours in the order of the task, or all pairs
 * @returns {number[][]} draws of equal weight have no edge */
function orderingEdges(weights, kind) {
  const order = weights.map((_, w) => w).sort((a, b) => weights[a] - weights[b]);
  const edges = [];
  for (let a = 0; a < order.length; a += 1) {
    const last = kind === "lex" ? Math.min(a + 2, order.length) : order.length;
    for (let b = a + 1; b < last; b += 1) {
      if (weights[order[a]] < weights[order[b]]) edges.push([order[a], order[b]]);
    }
  }
  return edges;
}

/** R for the losses of W draws, its slope by each loss, and the edges with their violations.
 *
 * An edge [i, j] is violated where `violation` > 0: L_t(j) - L_t(i) for the sign "ordered", which
 * is the order of the paper's text, and L_t(i) - L_t(j) for "printed", as Eq. 3 has it.
 * @param {number[][]} losses [W][T]
 * @param {number[][]} weights [W][T]
 * @param {{sign?: "ordered"|"printed", edges?: "lex"|"full"}} options
 * @returns {{value: number, terms: number[], slopes: number[][], edges: {i: number, j: number,
 *   violation: number}[][]}} terms [T], whose sum is the value; slopes [W][T]; edges per task */
function multiForward(losses, weights, { sign = "ordered", edges: kind = "lex" } = {}) {
  const factor = sign === "ordered" ? 1 : -1;
  const slopes = losses.map((row) => row.map(() => 0));
  const terms = losses[0].map(() => 0);
  const edges = losses[0].map((_, t) => {
    const graph = orderingEdges(weights.map((row) => row[t]), kind).map(([i, j]) => (
      { i, j, violation: factor * (losses[j][t] - losses[i][t]) }
    ));
    const powers = graph.map(({ violation }) => Math.exp(Math.max(violation, 0)));
    const total = powers.reduce((a, b) => a + b, 0);
    if (graph.length > 0) terms[t] = Math.log(total / graph.length);
    graph.forEach(({ i, j, violation }, e) => {
      if (violation < 0) return; // where it is 0 torch's clamp has the slope of the other side
      slopes[j][t] += (factor * powers[e]) / total;
      slopes[i][t] -= (factor * powers[e]) / total;
    });
    return graph;
  });
  return { value: terms.reduce((a, b) => a + b), terms, slopes, edges };
}
