// Puts a link under each figure and table of a notebook's page that saves it: figures as SVG, tables
// as CSV. It asks for nothing, so it also works over file://.
addEventListener("DOMContentLoaded", () => {
  const page = location.pathname.split("/").pop().replace(".html", "");
  const counts = { figure: 0, table: 0 };

  const offer = (after, kind, extension, href) => {
    counts[kind] += 1;
    const link = document.createElement("a");
    link.download = `${page}_${kind}_${counts[kind]}.${extension}`;
    link.textContent = `${kind} as ${extension.toUpperCase()}`;
    link.setAttribute("aria-label", `Save ${kind} ${counts[kind]} as ${extension.toUpperCase()}`);
    link.href = href ?? "#";
    if (href) link.target = "_blank"; // over file:// a browser shows it and saves it by hand
    const line = document.createElement("p");
    line.className = "save";
    line.append(link);
    after.after(line);
    return link;
  };
  // What is saved is made when it is asked for.
  const save = (link, text, type) =>
    link.addEventListener("click", () => {
      link.href = URL.createObjectURL(new Blob([text()], { type }));
    });

  // Below the whole output, since a wide one scrolls in a box of its own.
  for (const found of document.querySelectorAll('.cell_output :is(img[src$=".svg"], table)')) {
    let output = found;
    while (!output.parentElement.classList.contains("cell_output")) output = output.parentElement;
    if (found.matches("img")) offer(output, "figure", "svg", found.src);
    else save(offer(output, "table", "csv"), () => csv(found), "text/csv");
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
    const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return `${rows.map((row) => row.map(quoted).join(",")).join("\n")}\n`;
  }
});
