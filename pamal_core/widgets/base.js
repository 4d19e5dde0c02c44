// What the widgets share: elements, scales, a plot, a handle that mouse, touch and keys move, and a
// line for screen readers. Python puts this file in front of each widget, so it exports nothing.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; attributes that are functions become listeners.
 * @param {Element} node @param {Object} attributes @param {(Node|string)[]} children */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === false || value === null || value === undefined) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** An HTML element: h("button", { class: "pw-button", click: f }, "Copy"). */
function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element, in the same way. */
function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** @param {number} value @param {number} low @param {number} high */
function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

/** A linear map of an interval to another one, with its inverse as `.invert`.
 * @param {[number, number]} from @param {[number, number]} to */
function linear([a, b], [c, d]) {
  const scale = (value) => c + ((value - a) / (b - a)) * (d - c);
  scale.invert = (value) => a + ((value - c) / (d - c)) * (b - a);
  return scale;
}

/** Round numbers from `low` to `high`, about `count` of them. */
function ticks(low, high, count = 4) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) =>
    Number(((first + i) * step).toFixed(digits)));
}

/** The same with their texts, all with as many decimals: [number, string][]. */
function tickTexts(low, high) {
  const values = ticks(low, high);
  const decimals = Math.max(...values.map((value) => `${value}`.split(".")[1]?.length ?? 0));
  return values.map((value) => [value, value.toFixed(decimals)]);
}

/** The least interval that holds `values`, widened by `share` of its length on either side. */
function extent(values, share = 0.06) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = (high - low || 1) * share;
  return [low - margin, high + margin];
}

/** An empty plot with axes. `node` is the <svg>, `layer` where marks go, `x` and `y` are scales.
 * @param {{ label: string, x: [number, number], y: [number, number], titles: [string, string],
 *   width?: number, height?: number }} options `label` is the plot's name for screen readers */
function plot({ label, x, y, titles, width = 340, height = 260 }) {
  const box = { left: 58, right: width - 12, top: 10, bottom: height - 44 };
  const scales = { x: linear(x, [box.left, box.right]), y: linear(y, [box.bottom, box.top]) };
  const layer = s("g");
  const middle = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const node = s("svg", {
    class: "pw-plot", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label,
    style: `max-width: ${width}px`,
  });
  const axes = s("g", { class: "pw-axes", "aria-hidden": "true" });
  for (const [value, text] of tickTexts(...x)) {
    const at = scales.x(value);
    axes.append(s("line", { x1: at, x2: at, y1: box.top, y2: box.bottom }));
    axes.append(s("text", { x: at, y: box.bottom + 16, "text-anchor": "middle" }, text));
  }
  for (const [value, text] of tickTexts(...y)) {
    const at = scales.y(value);
    axes.append(s("line", { x1: box.left, x2: box.right, y1: at, y2: at }));
    axes.append(s("text", { x: box.left - 6, y: at + 4, "text-anchor": "end" }, text));
  }
  const title = { class: "pw-title", "text-anchor": "middle" };
  axes.append(s("text", { ...title, x: middle[0], y: height - 8 }, titles[0]));
  const turned = `translate(13 ${middle[1]}) rotate(-90)`;
  axes.append(s("text", { ...title, transform: turned }, titles[1]));
  node.append(axes, layer);
  return { node, layer, box, ...scales };
}

/** The point of an <svg>, in the units of its viewBox, that lies under a pointer event: [x, y]. */
function pointerIn(svg, event) {
  const point = new DOMPoint(event.clientX, event.clientY);
  const { x, y } = point.matrixTransform(svg.getScreenCTM().inverse());
  return [x, y];
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Lets `grip`, a mark in `svg`, be dragged by mouse and touch, and moved by the arrow keys (with
 * Shift ten times as far), Home and End.
 * @param {(x: number, y: number) => void} toPoint called with where the pointer is
 * @param {(dx: number, dy: number) => void} byStep called with steps, y downwards
 * @param {(isEnd: boolean) => void} toEnd called for Home and End */
function draggable(svg, grip, toPoint, byStep, toEnd = () => {}) {
  const follow = everyFrame((event) => toPoint(...pointerIn(svg, event)));
  fill(grip, {
    tabindex: 0,
    pointerdown: (event) => {
      grip.setPointerCapture(event.pointerId);
      grip.focus({ preventScroll: true });
      event.preventDefault();
    },
    pointermove: (event) => grip.hasPointerCapture(event.pointerId) && follow(event),
    keydown: (event) => {
      const isEdge = event.key === "Home" || event.key === "End";
      if (!isEdge && !(event.key in ARROWS)) return;
      event.preventDefault();
      const size = event.shiftKey ? 10 : 1;
      if (isEdge) toEnd(event.key === "End");
      else byStep(...ARROWS[event.key].map((step) => step * size));
    },
  }, []);
  // Browsers overlook `touch-action` on parts of an SVG, and would scroll the page instead.
  grip.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  grip.classList.add("pw-grip");
}

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
      "aria-valuenow": Number(here[0].toFixed(3)) }, []);
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

/** `f`, called at most once a frame, with the last arguments. */
function everyFrame(f) {
  let last = null;
  return (...values) => {
    if (last === null) requestAnimationFrame(() => { const now = last; last = null; f(...now); });
    last = values;
  };
}

/** A line that screen readers read out when it has come to rest: returns `say(text)`. */
function liveRegion(el, pause = 400) {
  const region = h("div", { class: "pw-hidden", "aria-live": "polite" });
  let timer;
  el.append(region);
  return (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => { region.textContent = text; }, pause);
  };
}

/** What anywidget calls a model, for a page without a kernel. @param {Object} values by name */
function plainModel(values) {
  const listeners = {};
  return {
    get: (name) => values[name],
    set: (name, value) => {
      values[name] = value;
      (listeners[`change:${name}`] ?? []).forEach((f) => f());
    },
    on: (event, f) => { (listeners[event] ??= []).push(f); },
    save_changes: () => {},
  };
}

/** Puts a widget into the page's element `id`, whose values are JSON in the element `id`-data.
 * The element keeps its model as `widgetModel`. */
function mount(widget, id) {
  const el = document.getElementById(id);
  const values = JSON.parse(document.getElementById(`${id}-data`).textContent);
  el.widgetModel = plainModel(values);
  widget.render({ model: el.widgetModel, el });
  el.classList.add("pw-ready");
}
