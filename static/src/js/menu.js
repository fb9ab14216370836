// The groups of the menu fold and unfold; which ones stand open is kept for the next page, which is drawn that way.
const YEAR_S = 365 * 24 * 3600;

function keep() {
  const open = [...document.querySelectorAll("[data-menu-group].is-open")].map((group) => group.dataset.menuGroup);
  document.cookie = `weir_menu=${open.join(".")}; path=/; max-age=${YEAR_S}; samesite=lax`;
}

export function foldMenu() {
  document.addEventListener("click", (event) => {
    const head = event.target.closest?.(".menu-head");
    if (!head) return;
    const group = head.closest("[data-menu-group]");
    const isOpen = group.classList.toggle("is-open");
    head.setAttribute("aria-expanded", String(isOpen));
    document.getElementById(head.getAttribute("aria-controls")).hidden = !isOpen;
    keep();
  });
}
