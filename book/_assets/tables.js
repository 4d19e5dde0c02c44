// Sorting and filtering for the tables of frames, and a hint beside what is wider than the page.
// Without it they are plain tables.

const number = /^[-+\u2212]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?/;
const words = (cell) => cell.textContent.trim();

function value(cell) {
  const drawn = cell.querySelector("[data-value]");
  const found = drawn ? [drawn.dataset.value] : words(cell).replace(/^< /, "").match(number);
  return found ? Number(found[0].replaceAll(",", "").replace("\u2212", "-")) : NaN;
}

// What one types and what a row says, alike: "W = 4" is one word, and "lambda" the letter.
const alike = (text) => text.toLowerCase().replace(/\blam(bda)?\b/g, "λ").replace(/\s*=\s*/g, "=");

// Whether a row has a word; "W=4" is not in "W=40".
const has = (whole, word) => whole.split(word).slice(1)
  .some((after) => !/=.*\d$/.test(word) || !/^\.?\d/.test(after));

// The names of the index stand in a second row of the head: one row has room for both.
function headsOf(table) {
  const [first, second, ...more] = table.tHead?.rows ?? [];
  if (second && !more.length && first.cells.length === second.cells.length) {
    const pairs = [...first.cells].map((cell, k) => [cell, second.cells[k]]);
    if (pairs.every(([one, two]) => !words(one) || !words(two))) {
      for (const [one, two] of pairs) one.append(words(one) ? "" : words(two));
      second.remove();
    }
  }
  return table.tHead?.rows.length === 1 ? [...table.tHead.rows[0].cells] : [];
}

function makeSortable(table, heads, rows) {
  const show = (order) => table.tBodies[0].append(...order);
  heads.forEach((head, k) => {
    if (!words(head)) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "table-sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const next = { none: "descending", descending: "ascending", ascending: "none" };
      const order = next[head.ariaSort ?? "none"];
      for (const other of heads) other.removeAttribute("aria-sort");
      if (order === "none") return show(rows);
      head.ariaSort = order;
      const sign = order === "ascending" ? 1 : -1;
      const cells = rows.map((row) => row.cells[k]);
      const numeric = cells.some((cell) => !isNaN(value(cell)));
      const key = (row) => (numeric ? value(row.cells[k]) : words(row.cells[k]));
      const isEmpty = (one) => one === "" || Number.isNaN(one);
      show(
        [...rows].sort((one, two) => {
          const [a, b] = [key(one), key(two)];
          if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b);
          return sign * (numeric ? a - b : b.localeCompare(a, undefined, { numeric: true }));
        }),
      );
    });
  });
}

function makeFilters(table, heads, rows) {
  const bar = document.createElement("div");
  bar.className = "table-bar";
  const address = new URLSearchParams(location.search);
  const text = document.createElement("input");
  Object.assign(text, { type: "search", placeholder: "Filter rows", ariaLabel: "Filter rows" });
  text.value = address.get("filter") ?? "";
  const selects = heads.flatMap((head, k) => {
    if (head.dataset.filter === undefined) return [];
    const counts = new Map();
    for (const row of rows) {
      const own = words(row.cells[k]);
      counts.set(own, (counts.get(own) ?? 0) + 1);
    }
    if (counts.size < 2) return [];
    const select = document.createElement("select");
    const name = words(head);
    select.ariaLabel = name;
    select.add(new Option(`${name}: all`, "*"));
    for (const [own, count] of counts) select.add(new Option(`${own || "(empty)"}: ${count}`, own));
    // An address with ?equal-epochs=holds shows the rows with that word in that column, and one with
    // ?filter=W=4 those with these words in any.
    const asked = address.get(name.replaceAll(" ", "-"));
    const option = asked && [...select.options].find((one) => one.value.endsWith(asked));
    if (option) option.selected = true;
    select.column = k;
    return [select];
  });
  const said = document.createElement("output");
  const all = document.createElement("button");
  Object.assign(all, { type: "button", textContent: "Show all rows" });
  const keep = (isKept) => {
    for (const row of rows) row.hidden = !isKept(row);
    const left = rows.filter((row) => !row.hidden).length;
    said.value = left < rows.length ? `${left} of ${rows.length} rows` : `${rows.length} rows`;
    all.hidden = left === rows.length;
  };
  const filter = () => {
    const asked = alike(text.value).split(/,?\s+/).filter(Boolean);
    keep((row) => {
      const whole = alike(row.textContent);
      const fits = (one) => one.value === "*" || words(row.cells[one.column]) === one.value;
      return asked.every((word) => has(whole, word)) && selects.every(fits);
    });
  };
  const clear = () => {
    text.value = "";
    for (const select of selects) select.value = "*";
    filter();
  };
  for (const control of [text, ...selects]) control.addEventListener("input", filter);
  all.addEventListener("click", clear);
  bar.append(text, ...selects, said, all);
  table.before(bar);
  filter();
  return (only) => {
    clear();
    keep((row) => row === only);
  };
}

function begin() {
  const showOnly = new Map();
  for (const table of document.querySelectorAll("table.dataframe")) {
    // A long name in a head breaks after a slash, so that it does not widen its column.
    for (const head of table.querySelectorAll("thead th")) {
      const parts = head.children.length ? [] : words(head).split(/(?<=[/_])/);
      const broken = parts.flatMap((part) => [document.createElement("wbr"), part]);
      if (parts.length > 1) head.replaceChildren(...broken.slice(1));
    }
    const heads = headsOf(table);
    const rows = [...(table.tBodies[0]?.rows ?? [])];
    const isPlain = rows.every((row) => row.cells.length === heads.length);
    if (!isPlain || rows.length < 3 || table.querySelector("[colspan], [rowspan]")) continue;
    for (const { cells } of rows) // on a phone its card says what a number is of
      if (cells[0].matches("th.number")) cells[0].dataset.head = words(heads[0]);
    makeSortable(table, heads, rows);
    if (rows.length > 9) showOnly.set(table, makeFilters(table, heads, rows));
  }
  // A link to a section opens the tables in it, but not what a row has folded.
  const openFolds = (section) => {
    for (const table of section.querySelectorAll(":scope > .cell details table")) {
      const box = table.parentElement.closest("details");
      if (!box.closest("td")) box.open = true;
    }
  };
  // A link to a row shows it, whatever is folded or filtered: alone in a long table, so that the
  // head is in view.
  const reveal = () => {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (row?.tagName === "SECTION") openFolds(row);
    if (row?.tagName !== "TR") return;
    showOnly.get(row.closest("table"))?.(row);
    for (const own of row.querySelectorAll("details")) own.open = true;
    for (let box = row.closest("details"); box; box = box.parentElement.closest("details"))
      box.open = true;
    row.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", reveal);
  reveal();

  // Whoever looks at a wide table, figure, formula or block of code through a narrow page is told that
  // there is more.
  const watch = new ResizeObserver((boxes) => boxes.forEach(({ target }) =>
    target.classList.toggle("is-wide", target.scrollWidth > target.clientWidth + 1)));
  const wide = ".pst-scrollable-table-container, figure.drawn > div, .cell_output > .output, "
    + "div.highlight pre";
  document.querySelectorAll(wide).forEach((box) => watch.observe(box));
  addEventListener("load", async () => {
    await globalThis.MathJax?.startup?.promise; // which makes the boxes of formulas
    document.querySelectorAll("div.math > mjx-container").forEach((box) => watch.observe(box));
  });
}

if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
else begin();
