// A plot of two accuracies that runs from guessing to what is hardly ever wrong.

/** An accuracy as the number of nines it has, -log10(1 - a): even steps halve the errors alike. */
function nines(accuracy) {
  return -Math.log10(Math.max(1 - accuracy, 1e-4));
}

/** Axes of two accuracies in nines, so that low and high ones can be told apart in one plot.
 * @param {string[]} titles [2] @param {number[][]} values [n][2], what has to fit in */
function accuracyPlot(label, titles, values) {
  const [x, y] = [0, 1].map((t) => extent(values.map((v) => nines(v[t])), 0.08));
  const frame = plot({ label, x, y, titles, height: 346, top: 26 });
  const axes = frame.node.querySelector(".pw-axes");
  axes.replaceChildren(...[...axes.querySelectorAll(".pw-title")]);
  const { left, right, top, bottom } = frame.box;
  axes.append(s("text", { x: left, y: 12 }, "stretched axes: 0.9 to 0.99 is as far as 0 to 0.9"));
  let last = left - 30; // where two would touch, the second has no text
  for (const value of [0.1, 0.5, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99]) {
    const at = [frame.x(nines(value)), frame.y(nines(value))];
    if (at[1] >= top && at[1] <= bottom) {
      axes.append(s("line", { x1: left, x2: right, y1: at[1], y2: at[1] }),
        s("text", { x: left - 6, y: at[1] + 4, "text-anchor": "end" }, `${value}`));
    }
    if (at[0] >= left && at[0] <= right) {
      axes.append(s("line", { x1: at[0], x2: at[0], y1: top, y2: bottom }));
      if (at[0] - last < 28) continue;
      last = at[0];
      axes.append(s("text", { x: last, y: bottom + 16, "text-anchor": "middle" }, `${value}`));
    }
  }
  return frame;
}
