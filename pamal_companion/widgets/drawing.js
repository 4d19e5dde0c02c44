// A field where the reader draws the digits that the network is to read.

/** A drawing field of `canvas` x `canvas` pixels, in which the digits of `tasks` lie in frames of
 * `side` with their top-left pixels at `corners` [T][row, column], each with its task's name. `onDraw(image)` gets the field as the network
 * reads it, Float32Array [side * side], and null where it is empty. */
function drawingField({ canvas: size, side, corners }, tasks, onDraw) {
  const field = h("canvas", { width: size, height: size, class: "pw-field", tabindex: 0,
    role: "application", "aria-label": "Drawing field: arrow keys move the pen, the space bar "
      + "puts it down or lifts it, Delete clears." });
  const pen = penOf(field, () => onDraw(read()));
  const read = () => {
    const { data } = pen.context.getImageData(0, 0, size, size);
    const grey = Float32Array.from({ length: size * size }, (_, i) => data[4 * i] / 255);
    return grey.some((v) => v > 0) ? resized(grey, side) : null;
  };
  const frames = corners.map(([row, column], t) => h("span", { class: `pw-frame pw-frame-${t} ${taskKind(t)}`,
    "aria-hidden": "true", style: `left: ${(100 * column) / size}%; top: ${(100 * row) / size}%; `
      + `width: ${(100 * side) / size}%; height: ${(100 * side) / size}%` }, tasks[t]));
  const cursor = h("span", { class: "pw-pen", "aria-hidden": "true" });
  pen.onMove = (x, y, isDown) => {
    cursor.style.left = `${(100 * x) / size}%`;
    cursor.style.top = `${(100 * y) / size}%`;
    cursor.classList.toggle("pw-down", isDown);
  };
  const clear = pressed("Clear", pen.clear);
  return h("div", {}, h("div", { class: "pw-sheet" }, field, ...frames, cursor),
    h("div", { class: "pw-controls" }, clear));
}

/** A pen on a canvas, led by pointer or keys. Strokes are grey at their edges, as MNIST's are, and
 * where they cross the brighter one wins, as where MultiMNIST's digits overlap. */
function penOf(field, onChange) {
  const context = field.getContext("2d", { willReadFrequently: true });
  const pen = { context, onMove: () => {}, at: [field.width / 4, field.height / 4], isDown: false };
  const changed = everyFrame(onChange);
  Object.assign(context, { lineWidth: 2.4, lineCap: "round", strokeStyle: "#fff",
    globalCompositeOperation: "lighten" });
  pen.clear = () => {
    context.clearRect(0, 0, field.width, field.height);
    changed();
  };
  pen.to = ([x, y], draws) => {
    if (draws) {
      context.beginPath();
      context.moveTo(...pen.at);
      context.lineTo(x + 0.01, y);
      context.stroke();
      changed();
    }
    pen.at = [x, y];
    pen.onMove(x, y, pen.isDown);
  };
  penByPointer(field, pen);
  penByKeys(field, pen);
  return pen;
}

/** Draws while the pointer is down. */
function penByPointer(field, pen) {
  const where = (event) => {
    const box = field.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * field.width,
      ((event.clientY - box.top) / box.height) * field.height];
  };
  fill(field, {
    pointerdown: (event) => {
      field.setPointerCapture(event.pointerId);
      pen.at = where(event);
      pen.to(pen.at, true);
    },
    pointermove: (event) => {
      if (!field.hasPointerCapture(event.pointerId)) return;
      event.getCoalescedEvents().forEach((e) => pen.to(where(e), true));
      pen.to(where(event), true);
    },
  });
}

/** Arrow keys move the pen, space puts it down or lifts it. */
function penByKeys(field, pen) {
  field.addEventListener("keydown", (event) => {
    const arrow = STEPS[event.key];
    if (!arrow && event.key !== " " && event.key !== "Delete") return;
    event.preventDefault();
    if (event.key === "Delete") pen.clear();
    else if (arrow) {
      pen.to(pen.at.map((v, i) => clamp(v + arrow[i], 1, field.width - 1)), pen.isDown);
    } else {
      pen.isDown = !pen.isDown;
      pen.to(pen.at, pen.isDown);
    }
  });
}
