// Draws of alpha and their losses, with which the multi-forward widget starts.

const OFF = 0.75 ** 2; // what a draw that is off the front loses, as in demos.schematics

/** `count` alphas: evenly spaced for two tasks, spread over the triangle for three: [count][T]. */
function evenAlphas(numTasks, count) {
  if (numTasks === 2) {
    return Array.from({ length: count }, (_, w) => [1 - w / (count - 1), w / (count - 1)]);
  }
  const percents = [[76, 16, 8], [10, 72, 18], [6, 24, 70], [46, 42, 12], [14, 46, 40], [50, 8, 42]];
  return percents.slice(0, count).map((row) => row.map((v) => v / 100));
}

/** The losses of the draws in one of four situations, [W][T]. On the front a draw has the loss
 * (1 - alpha_t)^2; for two tasks these are the situations of the paper's Figure 3 as
 * `schematics.four_situations` computes them.
 * @param {"ordered"|"one"|"reversed"|"off"} name @param {number[][]} alphas [W][T] */
function situationLosses(name, alphas) {
  const aside = Math.floor(alphas.length / 2);
  return alphas.map((alpha, w) => alpha.map((a) => {
    const onFront = name === "reversed" ? a * a : (1 - a) ** 2;
    return onFront + (name === "off" || (name === "one" && w === aside) ? OFF : 0);
  }));
}
