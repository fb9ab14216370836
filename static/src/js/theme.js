// Loaded in the head, before the first paint, so that a dark page does not flash white.
// Kept where the kit of the admin's tables keeps it, in quotes as it does: both look alike, and either may change it.
const KEY = "adminTheme";

function chosenTheme() {
  const kept = localStorage.getItem(KEY)?.replaceAll('"', "");
  if (kept === "light" || kept === "dark") return kept;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function apply() {
  document.documentElement.dataset.bsTheme = chosenTheme();
  document.dispatchEvent(new CustomEvent("weir:theme"));
}

apply();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
window.addEventListener("storage", (event) => event.key === KEY && apply());
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-theme-switch]");
  if (!button) return;
  const next = button.dataset.themeSwitch || (chosenTheme() === "dark" ? "light" : "dark");
  localStorage.setItem(KEY, JSON.stringify(next));
  apply();
});
