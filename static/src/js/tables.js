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
  frame.classList.remove("fits");
  const overflows = frame.scrollWidth > frame.clientWidth + 1;
  const stacks = Boolean(table?.tHead) && overflows && NARROW.matches;
  if (stacks) {
    nameCells(table);
    keepMeaning(table);
    table.classList.add("stacked");
  }
  if (overflows && !stacks) frame.tabIndex = 0;
  else frame.removeAttribute("tabindex");
  // One that fits scrolls with the page, and its head stays at the window's edge; the others scroll in their frame.
  frame.classList.toggle("fits", !overflows);
}

function fitAll() {
  for (const frame of document.querySelectorAll(".table-responsive")) fit(frame);
}

// How many rows are chosen is said beside what can be done with them.
function countChosen(event) {
  const name = event.target.dataset?.checkAll ?? event.target.name;
  const count = name && document.querySelector(`[data-chosen-count="${CSS.escape(name)}"]`);
  if (!count) return;
  const boxes = [...document.querySelectorAll(`tbody input[name="${CSS.escape(name)}"]`)];
  const chosen = boxes.filter((box) => box.checked).length;
  count.textContent = chosen;
  for (const all of document.querySelectorAll(`[data-check-all="${CSS.escape(name)}"]`)) {
    all.checked = chosen > 0 && chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
  }
}

// While somebody waits for a part, it says so; what the portal fetches by itself comes unseen.
function sayBusy(event) {
  const { target, requestConfig } = event.detail;
  const isAsked = requestConfig?.verb === "get" && !requestConfig.triggeringEvent?.type?.startsWith("weir:");
  if (isAsked && target?.querySelector(".table-responsive, .empty")) target.setAttribute("aria-busy", "true");
}

function sayReady(event) {
  event.detail.target?.removeAttribute("aria-busy");
}

export function fitTables() {
  document.addEventListener("change", countChosen);
  document.addEventListener("htmx:beforeRequest", sayBusy);
  document.addEventListener("htmx:afterRequest", sayReady);
  fitAll();
  document.addEventListener("htmx:afterSwap", fitAll);
  document.addEventListener("htmx:oobAfterSwap", fitAll);
  window.addEventListener("resize", fitAll);
}
