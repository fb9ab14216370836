// A log that its reader has scrolled to the end stays at its end while it grows.
const NEAR_PX = 48;

function logOf(element) {
  return element?.closest?.("[data-follow]");
}

export function followLogs() {
  document.addEventListener("htmx:beforeSwap", (event) => {
    const log = logOf(event.detail.target);
    if (log) log.dataset.atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_PX ? "1" : "";
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    for (const log of document.querySelectorAll("[data-follow]")) {
      if (log.dataset.follow === "off") continue;
      if (log.dataset.atEnd === "1" || event.detail.elt === document.body) log.scrollTop = log.scrollHeight;
    }
  });
  for (const log of document.querySelectorAll("[data-follow]")) log.scrollTop = log.scrollHeight;
}
