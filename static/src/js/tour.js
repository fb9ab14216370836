// One stop of the guided tour: what this page is for, beside its place in the menu.
import { driver } from "driver.js";

const stop = JSON.parse(document.getElementById("tour-stop").textContent);
const place = document.querySelector("#sidebar .nav-item.active > .nav-link");
// On a narrow screen the menu is folded away.
const isSeen = place?.checkVisibility() && place.getBoundingClientRect().width > 0;
const words = (name, text) => Object.assign(document.createElement(name), { textContent: text }).outerHTML;

const tour = driver({
  animate: !matchMedia("(prefers-reduced-motion: reduce)").matches,
  popoverClass: "weir-tour",
  overlayOpacity: 0.45,
  stagePadding: 6,
  onDestroyed: () => {
    const address = new URL(location.href);
    address.searchParams.delete("tour");
    history.replaceState(null, "", address);
  },
});
tour.highlight({
  element: isSeen ? place : document.querySelector(".page-title"),
  popover: {
    title: words("span", stop.title),
    description: words("span", stop.text),
    side: isSeen ? "right" : "bottom",
    align: "start",
    showButtons: stop.back ? ["previous", "next", "close"] : ["next", "close"],
    showProgress: true,
    progressText: stop.progress,
    prevBtnText: stop.labels.back,
    nextBtnText: stop.next ? stop.labels.next : stop.labels.end,
    onPrevClick: () => location.assign(stop.back),
    onNextClick: () => (stop.next ? location.assign(stop.next) : document.getElementById("tour-end").submit()),
    onCloseClick: () => tour.destroy(),
    onPopoverRender: (shown) => {
      shown.closeButton.setAttribute("aria-label", stop.labels.close);
      shown.nextButton.dataset.test = "tour-next";
      shown.previousButton.dataset.test = "tour-back";
      shown.closeButton.dataset.test = "tour-close";
      shown.title.dataset.test = "tour-title";
    },
  },
});
