// A form goes out once, however often its button is pressed. The server refuses the second one anyway.
export function sendFormsOnce() {
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
