// A row of tabs wider than its window shows the page's own tab.
function showOwn() {
  for (const row of document.querySelectorAll(".nav-tabs")) {
    const own = row.querySelector(".active");
    if (own) row.scrollLeft = own.offsetLeft - row.offsetLeft - (row.clientWidth - own.offsetWidth) / 2;
  }
}

export function keepOwnTabSeen() {
  showOwn();
  addEventListener("resize", showOwn);
}
