// A refusal is shown in its place on the page; what was typed stays.
function show(place) {
  const alert = place?.querySelector("[data-test=problem]");
  if (!alert) return;
  alert.scrollIntoView({ block: "center" });
  alert.focus({ preventScroll: true });
}

function tell(id) {
  const place = document.getElementById("problems");
  const words = document.getElementById(id);
  if (!place || !words) return;
  place.replaceChildren(words.content.cloneNode(true));
  place.dataset.problem = id;
  show(place);
}

// The portal answers again: that it did not is no longer true.
function reached() {
  const place = document.getElementById("problems");
  if (place?.dataset.problem !== "problem-network") return;
  place.replaceChildren();
  delete place.dataset.problem;
}

export function showProblems() {
  // A new attempt takes the old refusal away; what the page asks by itself (a quote, a live part) does not.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.requestConfig.verb !== "get") document.getElementById("problems")?.replaceChildren();
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    if (xhr.status < 400 || !xhr.getResponseHeader("HX-Retarget")) return;
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target?.id === "problems") show(event.detail.target);
  });
  document.addEventListener("htmx:responseError", () => tell("problem-server"));
  document.addEventListener("htmx:sendError", () => tell("problem-network"));
  document.addEventListener("htmx:beforeOnLoad", reached);
  document.body.addEventListener("weir:connected", reached);
}
