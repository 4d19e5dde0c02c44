// Draws of alpha and their losses, with which the multi-forward widget starts.

const OFF = 0.75 ** 2; // what a draw that is off the front loses, as in experiments.schematics

/** `count` alphas: evenly spaced for two tasks, spread over the triangle for three: [count][T]. */
function evenAlphas(numTasks, count) {
  if (numTasks === 2) {
    return Array.from({ length: count }, (_, w) => [1 - w / (count - 1), w / (count - 1)]);
  }
  const tenths = [[7, 2, 1], [1, 6, 3], [2, 1, 7], [4, 4, 2], [2, 5, 3], [5, 1, 4]];
  return tenths.slice(0, count).map((row) => row.map((v) => v / 10));
}

/**
 * The losses of the draws in one of four situations, [W][T]. On the front a draw has the loss
 * (1 - alpha_t)^2; for two tasks these are the situations of the paper's Figure 3 as
 * `schematics.four_situations` computes them.
 * @param {"ordered"|"one"|"reversed"|"off"} name @param {number[][]} alphas [W][T]
 */
function situationLosses(name, alphas) {
  const aside = Math.floor(alphas.length / 2);
  return alphas.map((alpha, w) => alpha.map((a) => {
    const onFront = name === "reversed" ? a * a : (1 - a) ** 2;
    return onFront + (name === "off" || (name === "one" && w === aside) ? OFF : 0);
  }));
}
