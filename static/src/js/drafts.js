// What was typed outlives a session that ended meanwhile: it is kept in this window alone, until the same person is back
// on the same page; the next page that is not the sign-in forgets it.
const KEY = "weir:typed";
const SIGN_IN = /\/login\/$/;
const UNKEPT = "[type=password], [type=file], [type=hidden], [type=submit], [autocomplete=off], [data-unkept]";

function typed(form) {
  return [...form.elements]
    .filter((field) => field.name && !field.matches(UNKEPT) && field.localName !== "button")
    .map(({ name, type, value, checked }) => ({ name, type, value, checked }));
}

function keep(form) {
  const index = [...document.forms].indexOf(form);
  const user = document.body.dataset.user;
  const kept = { path: location.pathname, user, index, id: form.id, fields: typed(form) };
  if (user && kept.fields.length) sessionStorage.setItem(KEY, JSON.stringify(kept));
  else if (user) sessionStorage.removeItem(KEY);
}

function putBack(form, fields) {
  const free = [...form.elements];
  for (const { name, type, value, checked } of fields) {
    const isChoice = type === "checkbox" || type === "radio";
    const place = free.findIndex((one) => one.name === name && one.type === type && (!isChoice || one.value === value));
    if (place < 0) continue;
    const [field] = free.splice(place, 1);
    if (isChoice) field.checked = checked;
    else field.value = value;
    if (isChoice ? checked !== field.defaultChecked : value !== field.defaultValue && field.localName !== "select") {
      field.closest("details")?.setAttribute("open", "");
    }
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

function restore() {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  if (!kept || SIGN_IN.test(location.pathname)) return;
  sessionStorage.removeItem(KEY);
  if (kept.path !== location.pathname || kept.user !== document.body.dataset.user || !kept.isOver) return;
  const form = (kept.id && document.getElementById(kept.id)) || document.forms[kept.index];
  if (!form) return;
  putBack(form, kept.fields);
  const words = document.getElementById("typed-again");
  document.getElementById("problems")?.replaceChildren(words.content.cloneNode(true));
}

// Sent to sign in: what is kept is wanted again.
function noteEnd() {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  if (kept) sessionStorage.setItem(KEY, JSON.stringify({ ...kept, isOver: true }));
}

export function keepDrafts() {
  document.addEventListener("submit", ({ target }) => target.method === "post" && keep(target), true);
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    const form = detail.elt.closest?.("form");
    if (form && detail.verb !== "get") keep(form);
  });
  document.addEventListener("DOMContentLoaded", () => {
    if (SIGN_IN.test(location.pathname)) noteEnd();
    else restore();
  });
}
