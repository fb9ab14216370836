// A form goes out once, however often its button is pressed. The server refuses the second one anyway.
const asked = new WeakMap();
const said = (form) => new URLSearchParams(new FormData(form)).toString();

// A filter does not ask again what it has asked: a field that is left says that it changed, and what it would fetch anew
// would close the menu for which it was left.
function askOnce(event) {
  const { elt, requestConfig } = event.detail;
  if (requestConfig.verb !== "get" || elt.localName !== "form") return;
  const wanted = said(elt);
  if (requestConfig.triggeringEvent?.type === "change" && asked.get(elt) === wanted) event.preventDefault();
  asked.set(elt, wanted);
}

export function sendFormsOnce() {
  document.addEventListener("focusin", ({ target: { form } }) => {
    if (form && !asked.has(form)) asked.set(form, said(form));
  });
  document.addEventListener("htmx:beforeRequest", askOnce);
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method === "get" || event.defaultPrevented) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "1";
    event.submitter?.setAttribute("aria-busy", "true");
  });
  // The page comes back from the browser's cache as it was left.
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
    for (const button of document.querySelectorAll('button[aria-busy="true"]')) button.removeAttribute("aria-busy");
  });
}
