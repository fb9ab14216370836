// The keyboard's place outlives a part of the page that is fetched anew: htmx finds it again where it has an id, this
// where it has none, or is gone: then the part that changed has it, and not the top of the page.
let place = null;

function remembered({ target }) {
  const focused = document.activeElement;
  place = target?.contains(focused) && focused !== document.body ? focused : null;
}

function alike(root) {
  const { dataset, name, id } = place;
  const all = [...root.querySelectorAll(place.localName)];
  return (
    (id && document.getElementById(id)) ||
    (name && all.find((one) => one.name === name && one.value === place.value)) ||
    (dataset.test && all.find((one) => one.dataset.test === dataset.test))
  );
}

function restored({ target }) {
  if (!place || document.activeElement !== document.body) return;
  const root = document.contains(target) ? target : document.getElementById("content");
  const found = alike(root);
  if (found) found.focus({ preventScroll: true });
  else {
    root.tabIndex = -1;
    root.focus({ preventScroll: true });
  }
  place = null;
}

// After an act the next page says what was done: that is read first, and Tab goes on from there.
function readMessage() {
  const message = document.querySelector("main [data-test=message]");
  if (!message || location.hash) return;
  message.tabIndex = -1;
  message.focus({ preventScroll: true });
}

export function keepFocus() {
  document.addEventListener("htmx:beforeSwap", (event) => remembered(event.detail));
  document.addEventListener("htmx:afterSettle", (event) => restored(event.detail));
  document.addEventListener("DOMContentLoaded", readMessage);
}
