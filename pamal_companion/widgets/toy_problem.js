// The toy problem in closed form, as in pamal_companion.toy.problem: two losses of two weights.

const TOY_FLOOR = 5e-6;
const TOY_STARTS = [[-8.5, 7.5], [0, 0], [9, 9], [-7.5, -0.5], [9, -1]]; // the paper's

/** f = log|z| + 6 of task t and its derivatives by theta_1 and theta_2: [f, f_x, f_y]. */
function toySlope(x, y, t) {
  const tanh = Math.tanh(y);
  const z = 0.5 * ((t === 0 ? -7 : 7) - x) + tanh;
  const above = Math.max(Math.abs(z), TOY_FLOOR);
  const dz = Math.abs(z) >= TOY_FLOOR ? z / (above * above) : 0; // flat below the floor
  return [Math.log(above) + 6, -0.5 * dz, dz * (1 - tanh * tanh)];
}

/** g of task t and its derivatives by theta_1 and theta_2: [g, g_x, g_y]. */
function toyBowl(x, y, t) {
  const dx = x - (t === 0 ? 7 : -7);
  const dy = y + 8;
  return [0.1 * dx * dx + 0.01 * dy * dy - 20, 0.2 * dx, 0.02 * dy];
}

/** The losses (c l_1, l_2) [2] at theta [2], lower is better, and their jacobian [2][2], whose row
 * t is the gradient of loss t; `scale` is the paper's c. */
function toyLosses([x, y], scale) {
  const blend = Math.tanh(0.5 * y);
  const up = Math.max(blend, 0);
  const low = Math.max(-blend, 0);
  const losses = [];
  const jacobian = [0, 1].map((t) => {
    const factor = t === 0 ? scale : 1;
    const [f, fx, fy] = toySlope(x, y, t);
    const [g, gx, gy] = toyBowl(x, y, t);
    // On the line between the halves both count, so that (0, 0) is left.
    const fade = (0.5 - 0.5 * blend * blend) * ((y >= 0 ? f : 0) - (y <= 0 ? g : 0));
    losses.push(factor * (up * f + low * g));
    return [factor * (up * fx + low * gx), factor * (up * fy + low * gy + fade)];
  });
  return { losses, jacobian };
}

/** The Pareto optimal weights, theta_1 from -7 (best task 2) to 7 (best task 1): the only root of
 * A + d^2 / 100 + d sinh(8 + d) / 50 for each theta_1, by bisection: [numPoints][2]. */
function toyParetoSet(numPoints) {
  return Array.from({ length: numPoints }, (_, n) => {
    const x = -7 + (14 * n) / (numPoints - 1);
    const floor = (49 - x * x) / 10 - 20;
    let [low, high] = [0, 1];
    for (let step = 0; step < 60; step += 1) {
      const d = (low + high) / 2;
      if (floor + (d * d) / 100 + (d * Math.sinh(8 + d)) / 50 > 0) high = d;
      else low = d;
    }
    return [x, -8 - (low + high) / 2];
  });
}

/** The convex combination alpha^T Theta [2], where `stacked` [2][2] has a row for each member. */
function toyBetween(alpha, stacked) {
  return [0, 1].map((d) => alpha[0] * stacked[0][d] + alpha[1] * stacked[1][d]);
}

/** The losses along the segment, from the first member (alpha_1 = 1) on: [numPoints][2]. */
function toyImage(stacked, scale, numPoints) {
  return Array.from({ length: numPoints }, (_, n) => {
    const share = 1 - n / (numPoints - 1);
    return toyLosses(toyBetween([share, 1 - share], stacked), scale).losses;
  });
}

/** The largest distance from a point of `front` [K][2] to the nearest one of `curve` [I][2], in
 * loss space, as `Distances.gap` of pamal_companion.toy.outcomes; lower is better. */
function toyGap(front, curve) {
  const nearest = ([a, b]) => {
    let best = Infinity;
    for (const [c, d] of curve) best = Math.min(best, (a - c) ** 2 + (b - d) ** 2);
    return best;
  };
  return Math.sqrt(Math.max(...front.map(nearest)));
}
