// alpha on a segment (two members) or in a triangle (three): its place, and a handle that moves it.

/** Where `alpha` [M] lies in the plane, for `corners` [M][2]. */
function simplexToPlane(corners, alpha) {
  return [0, 1].map((i) => corners.reduce((sum, corner, k) => sum + alpha[k] * corner[i], 0));
}

/** The alpha [2] of the point of a segment that is nearest to (x, y). */
function nearestOnSegment([a, b], x, y) {
  const along = [b[0] - a[0], b[1] - a[1]];
  const share = ((x - a[0]) * along[0] + (y - a[1]) * along[1]) / (along[0] ** 2 + along[1] ** 2);
  const clamped = clamp(share, 0, 1);
  return [1 - clamped, clamped];
}

/** The alpha [M] of the point nearest to (x, y) on a segment or in a triangle, M = 2 or 3. */
function planeToSimplex(corners, x, y) {
  if (corners.length === 2) return nearestOnSegment(corners, x, y);
  const [a, b, c] = corners;
  const area = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]);
  const second = ((x - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (y - a[1])) / area;
  const third = ((b[0] - a[0]) * (y - a[1]) - (x - a[0]) * (b[1] - a[1])) / area;
  const alpha = [1 - second - third, second, third];
  if (Math.min(...alpha) >= 0) return alpha;
  const sides = [[0, 1], [1, 2], [0, 2]].map(([i, j]) => {
    const [first, last] = nearestOnSegment([corners[i], corners[j]], x, y);
    return [0, 1, 2].map((k) => (k === i ? first : 0) + (k === j ? last : 0));
  });
  const far = (point) => Math.hypot(...simplexToPlane(corners, point).map((v, i) => v - [x, y][i]));
  return sides.reduce((best, side) => (far(side) < far(best) ? side : best));
}

/** A handle on a segment (two corners) or in a triangle (three), where alpha can be seen and moved.
 * Returns `place(alpha)`, which moves it there without calling `onChange`.
 * @param {SVGElement} svg @param {number[][]} corners [M][2] @param {{ alpha: number[],
 *   label: string, text?: (alpha: number[]) => string, step?: number,
 *   onChange: (alpha: number[]) => void }} options `text` is what a screen reader says */
function simplexHandle(svg, corners, { alpha, label, text = alphaText, step = 0.01, onChange }) {
  let here = alpha;
  const grip = s("g", { role: "slider", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 1 },
    s("circle", { r: 22, class: "pw-halo" }), s("circle", { r: 10, class: "pw-dot" }));
  const place = (point) => {
    here = point;
    const [x, y] = simplexToPlane(corners, here);
    fill(grip, { transform: `translate(${x} ${y})`, "aria-valuetext": text(here),
      "aria-valuenow": Number(here[0].toFixed(3)) });
  };
  const move = (point) => {
    place(point);
    onChange(point);
  };
  const size = step * Math.hypot(corners[1][0] - corners[0][0], corners[1][1] - corners[0][1]);
  const byStep = (dx, dy) => {
    const [x, y] = simplexToPlane(corners, here);
    const along = corners.length === 2 ? [dx - dy, 0] : [dx, dy];
    move(planeToSimplex(corners, x + along[0] * size, y + along[1] * size)
      .map((v) => Number(v.toFixed(12)))); // so that steps do not gather errors
  };
  const toPoint = (x, y) => move(planeToSimplex(corners, x, y));
  draggable(svg, grip, toPoint, byStep, (isEnd) =>
    move(corners.map((_, k) => Number(k === (isEnd ? corners.length - 1 : 0)))));
  svg.append(grip);
  place(alpha);
  return place;
}

/** "0.25, 0.75" */
function alphaText(alpha) {
  return alpha.map((value) => value.toFixed(2)).join(", ");
}
