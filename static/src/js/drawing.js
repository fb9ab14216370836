// Draws each <figure data-drawing="{xml, marks}"> as a process of BPMN, its nodes marked by what came of them.
import NavigatedViewer from "bpmn-js/lib/NavigatedViewer";

const viewers = new WeakMap();
// Smaller than this its words cannot be read: then a part of it is shown, and it is moved by hand.
const SMALLEST = 0.62;
const LARGEST = 1.1;
const MARGIN = 24;

function fit(viewer) {
  const canvas = viewer.get("canvas");
  canvas.resized();
  canvas.zoom("fit-viewport", "auto");
  if (canvas.zoom() > LARGEST) canvas.zoom(LARGEST, "auto");
  if (canvas.zoom() >= SMALLEST) return;
  const { inner, outer } = canvas.viewbox();
  const width = outer.width / SMALLEST;
  const height = outer.height / SMALLEST;
  const now = viewer.get("elementRegistry").find((one) => canvas.hasMarker(one, "is-waiting"));
  canvas.viewbox({
    x: Math.max(inner.x, Math.min((now ?? inner).x, inner.x + inner.width - width)) - MARGIN,
    y: inner.y + (inner.height - height) / 2,
    width,
    height,
  });
}

const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const viewer = viewers.get(target);
    if (viewer && target.clientWidth) fit(viewer);
  }
});

async function draw(figure) {
  if (viewers.has(figure)) return;
  const { xml, marks } = JSON.parse(figure.dataset.drawing);
  const viewer = new NavigatedViewer({
    container: figure,
    // The wheel goes on moving the page.
    zoomScroll: { enabled: false },
  });
  viewers.set(figure, viewer);
  try {
    await viewer.importXML(xml);
  } catch {
    // The steps stand beside it in words.
    viewer.destroy();
    figure.hidden = true;
    return;
  }
  const known = viewer.get("elementRegistry");
  for (const [id, mark] of Object.entries(marks)) {
    if (known.get(id)) viewer.get("canvas").addMarker(id, `is-${mark}`);
  }
  const canvas = viewer.get("canvas").getContainer().querySelector(":scope > svg");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", figure.getAttribute("aria-label"));
  resized.observe(figure);
  figure.dataset.drawn = "yes";
}

function drawAll(root) {
  if (root.matches?.("[data-drawing]")) draw(root);
  for (const figure of root.querySelectorAll("[data-drawing]")) draw(figure);
}

document.addEventListener("htmx:load", (event) => drawAll(event.detail.elt));
document.addEventListener("htmx:beforeCleanupElement", (event) => {
  const viewer = viewers.get(event.target);
  if (!viewer) return;
  resized.unobserve(event.target);
  viewers.delete(event.target);
  viewer.destroy();
});
drawAll(document);
