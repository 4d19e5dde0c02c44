// Algorithm 1 on the toy problem, one ensemble of two members.

/** A generator of numbers in [0, 1) that is the same for the same seed (mulberry32). */
function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A draw of Gamma(shape, 1) (Marsaglia and Tsang; below 1 by a power of a uniform draw). */
function drawGamma(shape, random) {
  if (shape < 1) return drawGamma(shape + 1, random) * (1 - random()) ** (1 / shape);
  const d = shape - 1 / 3;
  for (;;) {
    // A standard normal draw (Box and Muller).
    const x = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const v = (1 + x / Math.sqrt(9 * d)) ** 3;
    if (v > 0 && Math.log(1 - random()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** `count` points of the simplex of two members, alpha ~ Dir(p, p): [count][2]. */
function drawAlphas(count, p, random) {
  return Array.from({ length: count }, () => {
    const [a, b] = [drawGamma(p, random), drawGamma(p, random)];
    return [a / (a + b), b / (a + b)];
  });
}

/** A run at its start: the members [2][2], the moments of Adam, its steps, and the last losses. */
function toyStart(start) {
  const zeros = () => [[0, 0], [0, 0]];
  return { stacked: start.map((m) => [...m]), mean: zeros(), square: zeros(), count: 0, past: [] };
}

/** The task weights of one draw after balancing; losses join `past`, of which 25 are kept. */
function toyReweigh(balancing, weights, { losses, jacobian }, past) {
  if (balancing === "gradient") {
    return weights.map((w, t) => w / (Math.hypot(...jacobian[t]) || 1));
  }
  if (balancing !== "loss") return weights;
  past.push(losses);
  if (past.length > 25) past.shift();
  return weights.map((w, t) => {
    const mean = past.reduce((sum, row) => sum + row[t], 0) / past.length;
    return w / (Math.abs(mean) || 1);
  });
}

/** What lines 4 to 13 of Algorithm 1 descend along for the draws `alphas` [W][2]: [2][2], a row for
 * each member. `state` is of `toyStart`, and its `past` changes. */
function toyGradient(state, alphas, { scale, lam, sign, balancing }) {
  const draws = alphas.map((alpha) => toyLosses(toyBetween(alpha, state.stacked), scale));
  const extra = lam > 0 ? multiForward(draws.map((d) => d.losses), alphas, { sign }).slopes : null;
  const gradient = [[0, 0], [0, 0]];
  draws.forEach((draw, w) => {
    const balanced = toyReweigh(balancing, alphas[w], draw, state.past);
    const weights = balanced.map((b, t) => b + (extra ? lam * extra[w][t] : 0));
    for (let d = 0; d < 2; d += 1) {
      const direction = weights[0] * draw.jacobian[0][d] + weights[1] * draw.jacobian[1][d];
      // dL/dTheta_k is the sum over draws of alpha_k dL/dtheta.
      gradient[0][d] += alphas[w][0] * direction;
      gradient[1][d] += alphas[w][1] * direction;
    }
  });
  return gradient;
}

/** One step of Algorithm 1 with Adam at the paper's rate, in place. */
function toyStep(state, alphas, settings, lr = 2e-3) {
  const gradient = toyGradient(state, alphas, settings);
  state.count += 1;
  const rate = lr / (1 - 0.9 ** state.count);
  const correction = 1 - 0.999 ** state.count;
  for (let k = 0; k < 2; k += 1) {
    for (let d = 0; d < 2; d += 1) {
      const g = gradient[k][d];
      state.mean[k][d] += 0.1 * (g - state.mean[k][d]);
      state.square[k][d] += 0.001 * (g * g - state.square[k][d]);
      const root = Math.sqrt(state.square[k][d] / correction) + 1e-8;
      state.stacked[k][d] -= (rate * state.mean[k][d]) / root;
    }
  }
}
