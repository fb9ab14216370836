// Ctrl+K: pages, acts and records by any part of their names, by keyboard alone.
const PAUSE_MS = 120;

class Palette {
  constructor(dialog) {
    this.dialog = dialog;
    this.input = dialog.querySelector(".palette-input");
    this.list = dialog.querySelector(".palette-hits");
    this.asked = null;
    this.input.addEventListener("input", () => this.later());
    this.input.addEventListener("keydown", (event) => this.pressed(event));
    this.list.addEventListener("pointermove", (event) => this.choose(event.target.closest?.(".palette-hit")));
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => this.asked?.abort());
  }

  open() {
    if (document.querySelector("dialog[open]")) return;
    this.input.value = "";
    this.list.replaceChildren();
    this.dialog.showModal();
    this.input.focus();
    this.ask();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE_MS);
  }

  async ask() {
    this.asked?.abort();
    const asked = (this.asked = new AbortController());
    const query = new URLSearchParams({ q: this.input.value.trim() });
    try {
      const answer = await fetch(`${this.dialog.dataset.url}?${query}`, { signal: asked.signal });
      if (!answer.ok || answer.redirected) return;
      this.list.innerHTML = await answer.text();
      this.choose(this.list.querySelector(".palette-hit"));
    } catch {
      // A newer question overtook this one, or the network is away: what stands there stays.
    }
  }

  choose(hit) {
    if (!hit || hit === this.chosen()) return;
    this.chosen()?.setAttribute("aria-selected", "false");
    hit.setAttribute("aria-selected", "true");
    this.input.setAttribute("aria-activedescendant", hit.id);
    hit.scrollIntoView({ block: "nearest" });
  }

  chosen() {
    return this.list.querySelector("[aria-selected='true']");
  }

  pressed(event) {
    const hits = [...this.list.querySelectorAll(".palette-hit")];
    const at = hits.indexOf(this.chosen());
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (event.key in steps && hits.length) {
      event.preventDefault();
      const next = Math.min(hits.length - 1, Math.max(0, at + steps[event.key]));
      const isAround = Math.abs(steps[event.key]) === 1 && next === at;
      this.choose(hits[isAround ? (at === 0 ? hits.length - 1 : 0) : next]);
    } else if (event.key === "Enter" && !event.isComposing && this.chosen()) {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) window.open(this.chosen().href, "_blank", "noopener");
      else location.assign(this.chosen().href);
    }
  }
}

export function openPalette() {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const palette = new Palette(dialog);
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      // In a terminal the keys are the work's.
      if (event.target.closest?.("[data-terminal]")) return;
      event.preventDefault();
      palette.open();
    }
  });
  document.addEventListener("click", (event) => event.target.closest?.("[data-palette]") && palette.open());
}
