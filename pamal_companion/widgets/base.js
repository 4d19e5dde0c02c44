// What the widgets share: elements, scales, a plot, marks that mouse, touch and keys move, a line for
// screen readers, a hand that shows what to do. Python puts this file in front of each widget, so it
// exports nothing.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; attributes that are functions become listeners.
 * @param {Element} node @param {Object} attributes @param {(Node|string)[]} children */
function fill(node, attributes, children = []) {
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

/** A button. */
function pressed(text, click, title) {
  return h("button", { type: "button", title, click }, text);
}

/** A button that copies what `read` gives, or selects it in `field` where that is not allowed. */
function copyButton(label, read, field = null) {
  const button = h("button", { type: "button", class: "pw-copy", click: async () => {
    field?.select();
    try {
      await navigator.clipboard.writeText(read());
      button.textContent = "Copied";
    } catch {
      button.textContent = field ? "Selected: copy it" : "The address has it";
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  } }, label);
  return button;
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

/** About four round numbers from `low` to `high` and their texts: [number, string][]. */
function tickTexts(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const values = Array.from({ length: last - first + 1 }, (_, i) =>
    Number(((first + i) * step).toFixed(digits)));
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
 *   kinds?: [string, string], width?: number, height?: number, top?: number }} options `label` is the plot's name
 *   for screen readers, `kinds` are classes of the titles */
function plot({ label, x, y, titles, kinds = ["", ""], width = 340, height = 260, top = 10 }) {
  const box = { left: 58, right: width - 12, top, bottom: height - 44 };
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
  const title = (t) => ({ class: `pw-title ${kinds[t]}`, "text-anchor": "middle" });
  axes.append(s("text", { ...title(0), x: middle[0], y: height - 8 }, titles[0]));
  const turned = `translate(13 ${middle[1]}) rotate(-90)`;
  axes.append(s("text", { ...title(1), transform: turned }, titles[1]));
  node.append(axes, layer);
  return { node, layer, box, ...scales };
}

/** The point of an <svg>, in the units of its viewBox, that lies under a pointer event: [x, y]. */
function pointerIn(svg, event) {
  const point = new DOMPoint(event.clientX, event.clientY);
  const { x, y } = point.matrixTransform(svg.getScreenCTM().inverse());
  return [x, y];
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
  PageUp: [0, -10], PageDown: [0, 10] };

/** Lets `grip`, a mark in `svg`, be dragged by mouse and touch, and moved by the arrow keys (with
 * Shift ten times as far), Page Up and Down, Home and End.
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
      if (!isEdge && !(event.key in STEPS)) return;
      event.preventDefault();
      const size = event.shiftKey ? 10 : 1;
      if (isEdge) toEnd(event.key === "End");
      else byStep(...STEPS[event.key].map((step) => step * size));
    },
  });
  // Browsers overlook `touch-action` on parts of an SVG, and would scroll the page instead.
  grip.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  grip.classList.add("pw-grip");
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

/** The class that gives marks and words the colour of task `t`, from 0. */
function taskKind(t) {
  return ["pw-one", "pw-two", "pw-three"][t] ?? "pw-chosen";
}

/** The class that gives marks the colour of the method of which `name` speaks. */
function methodKind(name) {
  const found = Object.entries(PALETTE.methods).find(([, { pattern }]) => new RegExp(pattern).test(name));
  return found ? `pw-${found[0]}` : "";
}

/** A button that shows `el` on the full screen; there it, or Escape, leaves. None where the browser cannot. */
function fullScreenButton(el) {
  const words = ["Full screen", "Leave full screen (Esc)"];
  const isFull = () => document.fullscreenElement === el;
  const button = h("button", { type: "button", class: "pw-full", click: () => (isFull()
    ? document.exitFullscreen() : el.requestFullscreen()).catch(() => { button.hidden = true; }) }, words[0]);
  el.addEventListener("fullscreenchange", () => { button.textContent = words[Number(isFull())]; });
  button.hidden = !document.fullscreenEnabled;
  return button;
}

/** What there is to do, in a line; what to begin with is bold. */
function hintLine(before, bold, after) {
  return h("p", { class: "pw-hint" }, before, h("b", {}, bold), after);
}

/** The head of a table; a column without a name has an empty cell. */
function headOf(heads) {
  return h("thead", {}, h("tr", {}, ...heads.map((head) => (head ? h("th", { scope: "col" }, head) : h("td")))));
}

/** What the marks of a picture mean: samples, each in a box of 28 by 12, and words.
 * @param {[Node[], string][]} entries */
function legendOf(...entries) {
  return h("p", { class: "pw-legend" }, ...entries.map(([marks, text]) =>
    h("span", {}, s("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" }, ...marks), text)));
}

const HAND = "M0 0c1.7 0 2.7 1.1 2.7 2.7v7l6.2 1.3c1.7.4 2.7 1.7 2.5 3.3l-1.1 7.7H-.4l-5.8-7.8c-.8-1.3."
  + "6-2.9 2.1-2.1l1.4.8V2.7C-2.7 1.1-1.7 0 0 0z";

/** The way of a hand that drags the mark at (a, b) of a plot by so much, and back. */
function thereAndBack({ x, y }, [a, b], [dx, dy]) {
  const [from, to] = [[x(a), y(b)], [x(a) + dx, y(b) + dy]];
  return [from, from, to, to, from];
}

/** A hand that shows once, when `svg` comes into sight, how a mark is dragged through `places`
 * [n][2]. Who prefers reduced motion does not see it. */
function showHand(svg, places) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const hand = s("path", { class: "pw-hand", "aria-hidden": "true", d: HAND });
  const steps = places.map(([x, y]) => ({ transform: `translate(${x}px, ${y}px)` }));
  const sight = new IntersectionObserver((seen) => {
    if (!seen.some((entry) => entry.isIntersecting)) return;
    sight.disconnect();
    svg.append(hand);
    hand.animate(steps, { duration: 2200, easing: "ease-in-out" })
      .finished.then(() => hand.remove(), () => {});
  }, { threshold: 0.5 });
  sight.observe(svg);
  svg.addEventListener("pointerdown", () => { sight.disconnect(); hand.remove(); }, { once: true });
}
