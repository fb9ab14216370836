// A field in which rows are chosen from many (apps/kernel/pick_list.py): what is chosen stands as chips, part of a name
// finds more on the server. The text that is sent stays what it is without scripts; it is only out of sight.
const PAUSE_MS = 180;
const BETWEEN = /[\s,;，、；]+/;
let made = 0;

class PickList {
  constructor(source) {
    this.source = source;
    this.titles = JSON.parse(source.dataset.picked || "{}");
    this.isOne = source.dataset.pickMost === "1";
    this.build(source.id || `pick-${(made += 1)}`);
    this.read();
    source.addEventListener("change", () => this.read());
    source.form?.addEventListener("submit", () => this.take(), true);
    this.input.addEventListener("input", (event) => this.typed(event));
    this.input.addEventListener("keydown", (event) => this.pressed(event));
    // Where it was refused, why stands below it.
    this.input.addEventListener("focus", () => this.input.getAttribute("aria-invalid") !== "true" && this.later(0));
    this.box.addEventListener("focusout", (event) => this.left(event));
    this.box.addEventListener("click", (event) => this.clicked(event));
    // The field keeps the focus while something is chosen by the mouse.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  build(id) {
    const { source } = this;
    this.box = Object.assign(document.createElement("div"), { className: "pick" });
    this.face = Object.assign(document.createElement("div"), { className: "pick-face form-control" });
    this.input = Object.assign(document.createElement("input"), {
      className: "pick-input", type: "text", id, autocomplete: "off", spellcheck: false, disabled: source.disabled,
    });
    this.list = Object.assign(document.createElement("div"), { className: "pick-list", id: `${id}-list`, hidden: true });
    const said = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.list.id };
    for (const [name, value] of Object.entries(said)) this.input.setAttribute(name, value);
    for (const name of ["aria-describedby", "data-test"]) {
      if (source.hasAttribute(name)) this.input.setAttribute(name, source.getAttribute(name));
      source.removeAttribute(name);
    }
    if (source.required) this.input.setAttribute("aria-required", "true");
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", source.labels?.[0]?.textContent.trim() ?? "");
    Object.assign(source, { id: `${id}-sent`, hidden: true, required: false });
    source.dataset.standIn = id;
    source.after(this.box);
    this.face.append(this.input);
    this.box.append(this.face, this.list);
  }

  get values() {
    return this.source.value.split(BETWEEN).filter(Boolean);
  }

  set values(values) {
    this.source.value = [...new Set(values)].join(", ");
    this.source.dispatchEvent(new Event("change", { bubbles: true }));
  }

  // Shows as chips what the text says.
  read() {
    for (const chip of this.face.querySelectorAll(".pick-chip")) chip.remove();
    const { values } = this;
    for (const value of values) this.input.before(this.chip(value));
    this.input.placeholder = values.length ? "" : this.source.dataset.sayFind;
  }

  chip(value) {
    const title = this.titles[value] ?? value;
    const chip = Object.assign(document.createElement("span"), { className: "pick-chip", title: value });
    const remove = Object.assign(document.createElement("button"), { type: "button", className: "pick-remove" });
    chip.dataset.value = value;
    chip.dataset.test = "pick-chip";
    remove.setAttribute("aria-label", this.source.dataset.sayRemove.replace("{}", title));
    remove.textContent = "×";
    chip.append(Object.assign(document.createElement("span"), { className: "pick-name", textContent: title }), remove);
    return chip;
  }

  add(...values) {
    this.values = this.isOne ? values.slice(-1) : [...this.values, ...values];
    this.input.value = "";
    if (this.isOne) this.close();
    else this.later(0);
  }

  remove(value) {
    this.values = this.values.filter((one) => one !== value);
    this.input.focus();
  }

  // What was typed and not chosen is sent as it is: the server says what it is not.
  take() {
    const typed = this.input.value.split(BETWEEN).filter(Boolean);
    if (typed.length) this.add(...typed);
    this.close();
  }

  typed(event) {
    event.stopPropagation();
    const isList = /[,;，、；\n]/.test(this.input.value);
    if (isList && !event.isComposing) this.take();
    else this.later(PAUSE_MS);
  }

  later(pause) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), pause);
  }

  async ask() {
    if (document.activeElement !== this.input) return;
    this.asked?.abort();
    const asked = (this.asked = new AbortController());
    const { pick, pickWithin } = this.source.dataset;
    const query = new URLSearchParams({ q: this.input.value.trim() });
    if (pickWithin) query.set(pickWithin, this.source.form?.elements[pickWithin]?.value ?? "");
    try {
      const answer = await fetch(`${pick}?${query}`, { signal: asked.signal });
      if (answer.ok && !answer.redirected) this.offer(await answer.text());
    } catch {
      // A newer question overtook this one, or the network is away: what was typed can be sent all the same.
    }
  }

  offer(html) {
    if (document.activeElement !== this.input) return;
    this.list.innerHTML = html;
    this.input.removeAttribute("aria-activedescendant");
    const { values } = this;
    for (const [place, option] of this.options.entries()) {
      option.id = `${this.list.id}-${place}`;
      option.classList.toggle("is-picked", values.includes(option.dataset.value));
    }
    this.open();
    if (this.input.value) this.point(this.options[0]);
  }

  get options() {
    return [...this.list.querySelectorAll(".pick-option")];
  }

  open() {
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
  }

  close() {
    clearTimeout(this.timer);
    this.asked?.abort();
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  get pointed() {
    return this.list.hidden ? null : this.list.querySelector('[aria-selected="true"]');
  }

  point(option) {
    this.pointed?.setAttribute("aria-selected", "false");
    if (!option) return;
    option.setAttribute("aria-selected", "true");
    this.input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  choose({ dataset: { value, title } }) {
    this.titles[value] = title;
    if (this.values.includes(value)) this.remove(value);
    else this.add(value);
  }

  pressed(event) {
    if (event.isComposing) return;
    const { options, pointed } = this;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (this.list.hidden) this.later(0);
      else if (options.length) this.point(options.at((options.indexOf(pointed) + step) % options.length));
    } else if (event.key === "Enter" && (pointed || this.input.value)) {
      event.preventDefault();
      if (pointed) this.choose(pointed);
      else this.take();
    } else if (event.key === "Escape" && !this.list.hidden) {
      event.stopPropagation();
      this.close();
    } else if (event.key === "Backspace" && !this.input.value) {
      const last = this.values.at(-1);
      if (last) this.remove(last);
    }
  }

  clicked({ target }) {
    const option = target.closest(".pick-option");
    const chip = target.closest(".pick-remove")?.parentElement;
    if (option) this.choose(option);
    else if (chip) this.remove(chip.dataset.value);
    else this.input.focus();
  }

  left({ relatedTarget }) {
    if (!this.box.contains(relatedTarget)) this.take();
  }
}

function offerIn(place) {
  for (const source of place.querySelectorAll("[data-pick]:not([data-stand-in])")) new PickList(source);
}

export function offerPicks() {
  offerIn(document);
  document.addEventListener("htmx:load", ({ target }) => offerIn(target));
}
