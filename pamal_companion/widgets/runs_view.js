// The parts of the widget over all records. Each has its element as `node` and `show(state)`.

/** The plot, in which a pointer or the arrow keys choose a network.
 * @param {(at: object|null, isHeld: boolean) => void} onAt @param {(factor: number) => void} onZoom */
function runsPlot(onAt, onZoom) {
  const node = h("div", { class: "pw-runs-plot", tabindex: 0, role: "slider",
    "aria-label": "network in view", "aria-valuemin": 0 });
  let [picture, state, width] = [null, null, 0];
  const draw = () => {
    width ||= node.clientWidth || 600; // to ask each time would lay out the page each time
    picture = drawRuns(state, clamp(width, 300, 760));
    node.replaceChildren(picture.node);
    markAt(picture, state);
  };
  const view = { node, nearest: (event, near) => nearestHit(picture, event, near),
    isHeld: () => state.isHeld, onAt, step: (dx, dy) => stepped(picture, state, dx, dy),
    zoomed: (factor) => zoomOf(picture, state, factor) };
  view.show = (next) => { state = next; draw(); };
  view.mark = (next) => {
    state = next;
    markAt(picture, state);
    const { at } = state;
    const count = at ? at.run.alphas.length : 1;
    fill(node, { "aria-valuemax": count - 1, "aria-valuenow": at?.point ?? 0,
      "aria-valuetext": at ? networkText(at) : "none; arrow keys choose one" }, []);
  };
  runsByPointer(view);
  runsByKeys(view, onZoom);
  new ResizeObserver(([{ contentRect }]) => {
    if (!contentRect.width || contentRect.width === width) return;
    width = contentRect.width;
    if (state) draw();
  }).observe(node);
  return view;
}

/** The hit under a pointer: the nearest within so many pixels, null where there is none. */
function nearestHit({ node, hits }, event, near) {
  const [x, y] = pointerIn(node, event);
  let [best, least] = [null, near];
  hits.forEach((hit) => {
    const far = farFrom(hit, x, y) + (hit.px === null || hit.py === null ? 6 : 0); // marks first
    if (far < least) [best, least] = [hit, far];
  });
  return best && { run: best.run, point: best.point };
}

/** Where the arrow keys lead from what is looked at; to the first network where that is nothing. */
function stepped(picture, { at }, dx, dy) {
  if (at) return stepFrom(picture, at, dx, dy);
  const [first] = picture.hits;
  return first ? { run: first.run, point: 0 } : null;
}

/** The ranges of both axes after a zoom about what is looked at; null for all. */
function zoomOf({ x, y, box, hits }, { at }, factor) {
  if (!factor) return null;
  const hit = hits.find(({ run, point }) => at && run === at.run && point === at.point);
  const about = (scale, [low, high], pixel) => {
    const middle = scale.invert(pixel ?? (low + high) / 2);
    const half = Math.abs(scale.invert(high) - scale.invert(low)) / 2 / factor;
    return [middle - half, middle + half];
  };
  return { x: about(x, [box.left, box.right], hit?.px), y: about(y, [box.bottom, box.top], hit?.py) };
}

/** A mouse that passes names what is near it; a press or a touch holds that, and can be drawn on. */
function runsByPointer({ node, nearest, isHeld, onAt }) {
  const hover = everyFrame((event) => { if (!isHeld()) { const at = nearest(event, NEAR); if (at) onAt(at, false); } });
  const take = everyFrame((event) => { const at = nearest(event, 3 * NEAR); if (at) onAt(at, true); });
  fill(node, {
    pointermove: (event) => {
      if (node.hasPointerCapture(event.pointerId)) take(event);
      else if (event.pointerType === "mouse") hover(event);
    },
    pointerdown: (event) => {
      const at = nearest(event, event.pointerType === "mouse" ? NEAR : 2 * NEAR);
      if (at) node.setPointerCapture(event.pointerId);
      onAt(at, at !== null);
    },
  }, []);
}

/** Arrow keys go along a front and to the next one, + and - zoom, 0 shows all, Escape lets go. */
function runsByKeys({ node, step, onAt }, onZoom) {
  const zooms = { "+": 2, "=": 2, "-": 0.5, 0: 0 };
  node.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const size = event.shiftKey ? 10 : 1;
    const ends = { Home: [-Infinity, 0], End: [Infinity, 0] };
    const move = ends[event.key] ?? STEPS[event.key]?.map((by) => by * size);
    if (move) onAt(step(...move), true);
    else if (event.key in zooms) onZoom(zooms[event.key]);
    else if (event.key === "Escape") onAt(null, false);
    else return;
    event.preventDefault();
  });
}

/** The name of a network: its setting, its seed and its alpha. */
function networkText({ run, point }) {
  const shares = run.alphas[point];
  const alpha = shares.length > 1 ? `, α = (${shares.map((v) => v.toFixed(2)).join(", ")})` : "";
  return `${run.setting.label}, seed ${run.seed}${alpha}`;
}

/** A line and a mark as the picture has them. */
function sampleOf(setting, nth, seed) {
  const d = seedMark(seed, 14, 6, 3.6);
  return s("svg", { viewBox: "0 0 28 12", class: `pw-sample ${lookOf(nth)}`, style: colourOf(setting),
    "aria-hidden": "true" }, s("path", { class: "pw-trace", d: "M1 6H27" }), s("path", { class: "pw-better", d }));
}
