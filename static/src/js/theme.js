// Loaded in the head, before the first paint, so that a dark page does not flash white.
const KEY = "weir-theme";

function wished() {
  const kept = localStorage.getItem(KEY);
  if (kept === "light" || kept === "dark") return kept;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function apply() {
  document.documentElement.dataset.bsTheme = wished();
  document.dispatchEvent(new CustomEvent("weir:theme"));
}

apply();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
window.addEventListener("storage", (event) => event.key === KEY && apply());
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-theme-switch]");
  if (!button) return;
  const next = button.dataset.themeSwitch || (wished() === "dark" ? "light" : "dark");
  localStorage.setItem(KEY, next);
  apply();
});
