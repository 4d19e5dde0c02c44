// Links that save each table of a notebook's page as CSV and each figure as PNG, as it is seen: light
// or dark. They ask for nothing, so they also work over file://. The link to a figure's SVG is in the
// caption (_ext/figures.py).
addEventListener("DOMContentLoaded", () => {
  const page = location.pathname.split("/").pop().replace(".html", "");

  function save(kind, what, make) {
    const link = document.createElement("a");
    link.href = "#";
    link.textContent = kind;
    link.setAttribute("aria-label", `Save ${what} as ${kind}`);
    link.addEventListener("click", async (event) => {
      event.preventDefault();
      const file = document.createElement("a");
      file.href = URL.createObjectURL(await make());
      file.download = `${page}_${what.replace(" ", "_")}.${kind.toLowerCase()}`;
      file.click();
    });
    return link;
  }

  [...document.querySelectorAll(".cell_output table")].forEach((table, number) => {
    const link = save("CSV", `table ${number + 1}`, () => new Blob([csv(table)], { type: "text/csv" }));
    const line = document.createElement("div");
    line.className = "save";
    line.append(link);
    // Below the box in which a wide table scrolls, unless the box has other tables or is folded.
    const box = table.closest(".cell_output > *, details");
    if (box.querySelectorAll("table").length > 1) table.after(line);
    else if (box.matches("details")) box.append(line);
    else box.after(line);
  });

  [...document.querySelectorAll("figure.drawn")].forEach((figure, number) => {
    const link = save("PNG", `figure ${number + 1}`, () => png(figure.querySelector("svg")));
    figure.querySelector("figcaption").append(" ", link);
  });

  // Twice the size of the text of the page. An image knows nothing of the page's rules, so each element
  // takes its colours and font with it.
  async function png(svg) {
    const copy = svg.cloneNode(true);
    const { width, height } = svg.viewBox.baseVal;
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("style", "");
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    const seen = [...svg.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((element, at) => {
      const style = getComputedStyle(seen[at]);
      for (const name of ["fill", "stroke", "stroke-width", "paint-order", "font-family", "font-weight"]) {
        element.style.setProperty(name, style.getPropertyValue(name), "important");
      }
    });
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    const scale = 8 / 3; // points to pixels, twice
    [canvas.width, canvas.height] = [width * scale, height * scale];
    const pen = canvas.getContext("2d");
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => { canvas.toBlob(done, "image/png"); });
  }

  // Cells that span several rows or columns are repeated in each.
  function csv(table) {
    const rows = [...table.rows].map(() => []);
    [...table.rows].forEach((row, at) => {
      for (const cell of row.cells) {
        let column = 0;
        while (rows[at][column] !== undefined) column += 1;
        for (let down = 0; down < cell.rowSpan && at + down < rows.length; down += 1) {
          for (let right = 0; right < cell.colSpan; right += 1) {
            rows[at + down][column + right] = cell.textContent.trim().replace(/\s+/g, " ");
          }
        }
      }
    });
    const quoted = (text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return `${rows.map((row) => row.map(quoted).join(",")).join("\n")}\n`;
  }
});
