// Puts a link under each table of a notebook's page that saves it as CSV. It asks for nothing, so it
// also works over file://. A figure has its link in its caption.
addEventListener("DOMContentLoaded", () => {
  const page = location.pathname.split("/").pop().replace(".html", "");
  let count = 0;

  const offer = (after) => {
    count += 1;
    const link = document.createElement("a");
    link.download = `${page}_table_${count}.csv`;
    link.textContent = "table as CSV";
    link.setAttribute("aria-label", `Save table ${count} as CSV`);
    link.href = "#";
    const line = document.createElement("p");
    line.className = "save";
    line.append(link);
    after.after(line);
    return link;
  };
  // Below the whole output, since a wide one scrolls in a box of its own.
  for (const table of document.querySelectorAll(".cell_output table")) {
    let output = table;
    while (!output.parentElement.classList.contains("cell_output")) output = output.parentElement;
    const link = offer(output);
    // What is saved is made when it is asked for.
    link.addEventListener("click", () => {
      link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
    });
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
