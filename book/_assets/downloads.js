// Puts a link under each table of a notebook's page that saves it as CSV. It asks for nothing, so it
// also works over file://. Figures have a link to their SVG in the caption (_ext/figures.py).
addEventListener("DOMContentLoaded", () => {
  const page = location.pathname.split("/").pop().replace(".html", "");

  [...document.querySelectorAll(".cell_output table")].forEach((table, number) => {
    const link = document.createElement("a");
    link.href = "#";
    link.download = `${page}_table_${number + 1}.csv`;
    link.textContent = "CSV";
    link.setAttribute("aria-label", `Save table ${number + 1} as CSV`);
    link.addEventListener("click", () => {
      link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
    });
    const line = document.createElement("p");
    line.className = "save";
    line.append(link);
    // Below the box in which a wide table scrolls, and with the table where it is folded.
    const box = table.closest(".cell_output > *, details");
    if (box.matches("details")) box.append(line);
    else box.after(line);
  });

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
