// What was refused stands at its field too: the field is marked, says why below it, and the first one has the focus.
let sent = null;

function fieldOf(name) {
  if (!sent?.isConnected) return null;
  // A service may name a field by its path: the last part is what the form calls it.
  for (const wanted of [name, name.split(".").pop()]) {
    const found = sent.elements?.namedItem(wanted);
    const field = found instanceof RadioNodeList ? found[0] : found;
    if (field && field.type !== "hidden") return document.getElementById(field.dataset.standIn) ?? field;
  }
  return null;
}

function labelOf(field) {
  const label = field.labels?.[0];
  const words = [...(label?.childNodes ?? [])].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
  return words.map(({ textContent }) => textContent.trim()).join(" ").trim() || label?.textContent.trim();
}

function mark(field, text) {
  const note = document.createElement("div");
  note.id = `${field.id || field.name}-error`;
  note.className = "invalid-feedback d-block";
  note.dataset.fieldError = "";
  note.textContent = text;
  (field.closest(".input-group, .form-check, .btn-group, .pick, .week") ?? field).after(note);
  field.classList.add("is-invalid");
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") ?? ""} ${note.id}`.trim());
}

function clear(field) {
  const id = `${field.id || field.name}-error`;
  document.getElementById(id)?.remove();
  field.classList.remove("is-invalid");
  field.removeAttribute("aria-invalid");
  const others = (field.getAttribute("aria-describedby") ?? "").split(" ").filter((one) => one && one !== id);
  if (others.length) field.setAttribute("aria-describedby", others.join(" "));
  else field.removeAttribute("aria-describedby");
}

function clearAll() {
  for (const field of document.querySelectorAll('[aria-invalid="true"]')) clear(field);
}

// All that it is folded away in: a grid of hours folds in a group that folds.
function unfold(field) {
  for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

function show(place) {
  const fields = [];
  for (const row of place.querySelectorAll("li[data-input]")) {
    const field = fieldOf(row.dataset.input);
    if (!field) continue;
    mark(field, row.querySelector("span").textContent);
    const name = labelOf(field);
    if (name) row.querySelector("strong").textContent = name;
    fields.push(field);
  }
  if (!fields.length) return;
  for (const field of fields) unfold(field);
  fields[0].scrollIntoView({ block: "center" });
  fields[0].focus({ preventScroll: true });
}

export function markRefusedFields() {
  // The browser points at what it refuses by itself only where that can be seen.
  document.addEventListener("invalid", ({ target }) => unfold(target), true);
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.requestConfig.verb === "get") return;
    const { elt } = event.detail;
    // What only looks on while a form is filled in says nothing about what was refused when it was sent.
    if (elt.hasAttribute("data-looks-on")) return;
    sent = elt.form ?? elt.closest("form");
    clearAll();
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target?.id === "problems") show(event.detail.target);
  });
  document.addEventListener("input", ({ target }) => {
    if (target.getAttribute?.("aria-invalid") === "true") clear(target);
  });
}
