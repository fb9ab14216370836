// Tables in narrow windows. One that does not fit shows each row as a small card, every figure under its column's
// name; where even that cannot help (a wide window), the keyboard may scroll it.
const NARROW = matchMedia("(max-width: 575.98px)");
const ROLES = { table: "table", thead: "rowgroup", tbody: "rowgroup", tr: "row", th: "columnheader", td: "cell" };

function nameCells(table) {
  const names = [...table.querySelectorAll("thead th")].map((head) =>
    head.querySelector(".visually-hidden") ? "" : head.textContent.trim(),
  );
  for (const row of table.querySelectorAll("tbody > tr")) {
    [...row.cells].forEach((cell, place) => {
      if (cell.colSpan === 1) cell.dataset.label = cell.matches(".stack-title") ? "" : (names[place] ?? "");
    });
  }
}

// A row that is laid out as a block is none for a screen reader unless it says so.
function keepMeaning(table) {
  for (const part of [table, ...table.querySelectorAll(Object.keys(ROLES).join())]) {
    part.setAttribute("role", ROLES[part.localName]);
  }
}

function fit(frame) {
  const table = frame.querySelector(":scope > table");
  table?.classList.remove("stacked");
  const overflows = frame.scrollWidth > frame.clientWidth + 1;
  const stacks = Boolean(table?.tHead) && overflows && NARROW.matches;
  if (stacks) {
    nameCells(table);
    keepMeaning(table);
    table.classList.add("stacked");
  }
  if (overflows && !stacks) frame.tabIndex = 0;
  else frame.removeAttribute("tabindex");
}

function fitAll() {
  for (const frame of document.querySelectorAll(".table-responsive")) fit(frame);
}

export function fitTables() {
  fitAll();
  document.addEventListener("htmx:afterSwap", fitAll);
  document.addEventListener("htmx:oobAfterSwap", fitAll);
  window.addEventListener("resize", fitAll);
}
