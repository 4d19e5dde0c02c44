// Labels in a plot that keep clear of each other and of the frame, and of points where they can.
// A label is { text, kind, places }: its class, and where it may stand, [x, y, text-anchor][], the
// best place first. A box is { left, right, top, bottom }.

const PEN = h("canvas").getContext("2d");

/** The box of a text of 12 pixels, bold, at a place; a plot that is not yet shown has none to ask. */
function boxOfText(text, [x, y, anchor]) {
  PEN.font = `bold 12px ${getComputedStyle(document.body).fontFamily}`;
  const width = PEN.measureText(text).width + 2;
  const left = x - width * { start: 0, middle: 0.5, end: 1 }[anchor];
  return { left, right: left + width, top: y - 12, bottom: y + 4 };
}

/** The box around a point. */
function boxAround([x, y], far) {
  return { left: x - far, right: x + far, top: y - far, bottom: y + far };
}

/** Places around a point: right, left, above, below, then at the corners, and a line beyond them. */
function placesAround([x, y], far) {
  const [above, below] = [y - far - 4, y + far + 12];
  return [[x + far, y + 4, "start"], [x - far, y + 4, "end"], [x, above, "middle"], [x, below, "middle"],
    ...[above, below, above - 16, below + 16].flatMap((line) =>
      [[x + far, line, "start"], [x - far, line, "end"]])];
}

/** Places along a line across a plot, on either side of it, from one end to the other; first those
 * above an upright one. */
function placesAlong({ x1, x2, y1, y2 }) {
  const steps = [0, 0.25, 0.5, 0.75, 1];
  if (x1 === x2) {
    return [[x1, y1 - 4, "middle"], [x1 + 8, y1 - 4, "end"], [x1 - 8, y1 - 4, "start"],
      ...steps.flatMap((share) => [[x1 - 5, "end"], [x1 + 5, "start"]]
        .map(([x, anchor]) => [x, y1 + 14 + share * (y2 - y1 - 20), anchor]))];
  }
  return steps.flatMap((share) => [y1 - 6, y1 + 14]
    .map((y) => [x1 + 5 + share * (x2 - x1 - 10), y, ["start", "middle", "end"][Math.round(2 * share)]]));
}

/** Whether two boxes share a part. */
function isMeeting(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

/** The labels as texts, each at the first of its places that lies in `frame` and meets neither an
 * earlier label nor a box of `marks`, and of `points` the fewest. */
function placedLabels(labels, frame, marks, points) {
  const taken = [...marks];
  const count = (box, others) => others.filter((other) => isMeeting(box, other)).length;
  return labels.map(({ text, kind, places }) => {
    const cost = (box) => (box.left < frame.left || box.right > frame.right || box.top < frame.top
      || box.bottom > frame.bottom ? 1e6 : 0) + 1e3 * count(box, taken) + count(box, points);
    const options = places.map((place) => ({ place, box: boxOfText(text, place) }));
    const best = options.reduce((one, other) => (cost(other.box) < cost(one.box) ? other : one));
    taken.push(best.box);
    const [x, y, anchor] = best.place;
    return s("text", { class: `pw-tip ${kind}`, x, y, "text-anchor": anchor }, text);
  });
}
