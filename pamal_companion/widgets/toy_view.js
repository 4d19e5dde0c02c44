// The two pictures of the toy problem: the plane of the weights, and the losses.

const TOY_PLANE = [[-11, 11], [-15, 11]];
const TOY_LOSSES = [-21, 13];
// Of shades and of the lines of loss 1 and 2; they are seen on light and dark ground.
const TOY_COLOURS = [[128, 132, 140], ...PALETTE.tasks.slice(0, 2).map((hue) => rgbOf(PALETTE.hues[hue][0]))];

/** The red, green and blue of "#rrggbb". */
function rgbOf(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** Both losses at the middle of every pixel, and where a line of one of them passes, one every 4:
 * { losses: [2][height * width], lines: [height * width] of 0, 1 or 2, width, height }. */
function toyGrid(width, height) {
  const x = linear([0, width], TOY_PLANE[0]);
  const y = linear([height, 0], TOY_PLANE[1]);
  const losses = [0, 1].map(() => new Float32Array(width * height));
  for (let at = 0; at < width * height; at += 1) {
    const found = toyLosses([x((at % width) + 0.5), y(Math.floor(at / width) + 0.5)], 1).losses;
    losses.forEach((values, t) => { values[at] = found[t]; });
  }
  const lines = new Uint8Array(width * height).map((_, at) => {
    const isDash = (at + Math.floor(at / width)) % 12 < 6;
    if (crosses(losses[0], at, width, 4)) return 1;
    return isDash && crosses(losses[1], at, width, 4) ? 2 : 0;
  });
  return { losses, lines, width, height };
}

/** Whether a line of a height map passes between a pixel and those two right of and below it, so
 * that lines are two pixels wide. */
function crosses(values, at, width, step) {
  const level = Math.floor(values[at] / step);
  const next = at % width < width - 2 ? at + 2 : at;
  const below = at + 2 * width < values.length ? at + 2 * width : at;
  return level !== Math.floor(values[next] / step) || level !== Math.floor(values[below] / step);
}

/** Paint the losses: lines of loss 1, broken lines of loss 2, and as shades the loss that is
 * weighted by alpha, the more the lower.
 * @param {HTMLCanvasElement} canvas @param {object} grid of `toyGrid`
 * @param {number} share alpha_1 @param {number} scale the paper's c */
function toyPaint(canvas, { losses: [first, second], lines, width, height }, share, scale) {
  const image = new ImageData(width, height);
  const size = share * scale + 1 - share;
  for (let at = 0; at < first.length; at += 1) {
    const [red, green, blue] = TOY_COLOURS[lines[at]];
    const weighted = (share * scale * first[at] + (1 - share) * second[at]) / size;
    const depth = clamp((8 - 2 * Math.floor(weighted / 2)) / 28, 0, 1);
    image.data[4 * at] = red;
    image.data[4 * at + 1] = green;
    image.data[4 * at + 2] = blue;
    image.data[4 * at + 3] = lines[at] ? 255 : 150 * depth;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** The plot of the plane, over the canvas of the losses: { frame, node, paint(share, scale) }. */
function toyPlane() {
  const size = { width: 340, height: 340 };
  const frame = plot({ label: "The plane of the weights, with both members", x: TOY_PLANE[0],
    y: TOY_PLANE[1], titles: ["θ₁", "θ₂"], ...size });
  const { left, right, top, bottom } = frame.box;
  const grid = toyGrid(2 * (right - left), 2 * (bottom - top));
  const percent = (part, whole) => `${(100 * part) / whole}%`;
  const place = { left: percent(left, size.width), top: percent(top, size.height),
    width: percent(right - left, size.width), height: percent(bottom - top, size.height) };
  const ideal = pathThrough(toyParetoSet(51), frame);
  frame.layer.append(s("path", { class: "pw-front", d: ideal }));
  const style = Object.entries(place).map(([name, value]) => `${name}: ${value}`).join("; ");
  const canvas = h("canvas", { width: grid.width, height: grid.height, style, role: "img",
    "aria-label": "Contours of both losses: two slopes above, and below two bowls, that of loss 1 "
      + "with its lowest point on the right, that of loss 2 on the left." });
  const node = h("div", { class: "pw-stack", style: `max-width: ${size.width}px` }, canvas, frame.node);
  return { frame, node, paint: (share, scale) => toyPaint(canvas, grid, share, scale) };
}

/** The plot of the losses: { frame, front, marks, places }, with the exact front [201][2].
 * @param {number} scale the paper's c */
function toyObjectives(scale) {
  const frame = plot({ label: "The losses of the segment, and the exact Pareto front",
    x: TOY_LOSSES.map((v) => v * scale), y: TOY_LOSSES, width: 340, height: 340,
    titles: [`loss 1${scale === 1 ? "" : ` × ${scale}`} (← lower is better)`,
      "loss 2 (← lower is better)"] });
  const front = toyParetoSet(201).map((theta) => toyLosses(theta, scale).losses);
  frame.layer.append(s("path", { class: "pw-front", d: pathThrough(front, frame) }));
  const marks = toyMarks(frame);
  return { frame, front, marks,
    places: toyPlaces(frame, [["pw-one", "1"], ["pw-two", "2"], ["pw-chosen", "α"]]) };
}

/** What both plots show of a run, but for the handles: returns `draw(curves)`.
 * @param {object} frame of `plot`
 * @returns {(curves: {trails: number[][][], first: number[][], now: number[][],
 *   draws: number[][]}) => void} points in the units of the plot */
function toyMarks(frame) {
  const path = (kind) => s("path", { class: kind });
  const trails = [path("pw-trail pw-one"), path("pw-trail pw-two")];
  const [first, now] = [path("pw-past"), path("pw-now")];
  const draws = s("g", { class: "pw-draws" });
  frame.layer.append(first, ...trails, now, draws);
  return (curves) => {
    trails.forEach((trail, k) => fill(trail, { d: pathThrough(curves.trails[k], frame) }));
    fill(first, { d: pathThrough(curves.first, frame) });
    fill(now, { d: pathThrough(curves.now, frame) });
    draws.replaceChildren(...curves.draws.map(([a, b]) =>
      s("circle", { r: 3, cx: frame.x(a), cy: frame.y(b) })));
  };
}

/** Marks that cannot be moved. @param {object} frame of `plot`
 * @param {[string, string][]} kinds a class and the text in the mark, for each
 * @returns {(points: number[][]) => void} places them */
function toyPlaces(frame, kinds) {
  const marks = kinds.map(([kind, text]) => s("g", { class: kind },
    s("circle", { r: 8, class: "pw-dot" }), s("text", { "text-anchor": "middle", y: 4 }, text)));
  frame.layer.append(...marks);
  return (points) => points.forEach(([a, b], k) =>
    fill(marks[k], { transform: `translate(${frame.x(a)} ${frame.y(b)})` }));
}

/** What the lines are. */
function toyLegend() {
  return legend([
    ["pw-trail pw-one", "contours of loss 1 (where it is the same), path of member 1"],
    ["pw-trail pw-two", "contours of loss 2, path of member 2"],
    ["pw-now", "the segment between the members"],
    ["pw-past", "the segment at the start"],
    ["pw-front", "all that is Pareto optimal"],
    ["pw-shade", "the loss weighted by α: the more shade, the lower"],
  ]);
}
