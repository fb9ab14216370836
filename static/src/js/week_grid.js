// Hours of the week as a grid of boxes (apps/scheduling/forms/week_grid.py): drawn over with the mouse, walked with the
// arrow keys, and said in words above it. Without scripts they are plain boxes.
const HOURS = 24;
const DAYS = 7;
const HOUR = 60;
const two = (figure) => String(figure).padStart(2, "0");
const clock = (minute) => `${two(Math.floor(minute / HOUR))}:${two(minute % HOUR)}`;

class WeekGrid {
  constructor(box) {
    this.box = box;
    box.dataset.weekReady = "";
    this.grid = box.querySelector(".week-grid");
    this.cells = [...box.querySelectorAll(".week-cell")];
    this.summary = box.querySelector("summary");
    for (const part of box.querySelectorAll(".week-quick, .week-how")) part.hidden = false;
    for (const cell of this.cells) cell.tabIndex = -1;
    this.cells[0].tabIndex = 0;
    this.grid.addEventListener("pointerdown", (event) => this.begin(event));
    this.grid.addEventListener("pointerover", ({ target }) => this.from && this.draw(this.cells.indexOf(target)));
    document.addEventListener("pointerup", () => this.end());
    document.addEventListener("pointercancel", () => this.end());
    this.grid.addEventListener("click", (event) => this.clicked(event));
    this.grid.addEventListener("keydown", (event) => this.pressed(event));
    this.grid.addEventListener("focusin", ({ target }) => this.enter(target));
    box.addEventListener("change", () => this.say());
    box.querySelector(".week-quick").addEventListener("click", (event) => this.quick(event));
  }

  set(cell, isChosen) {
    if (cell.matches(":disabled")) return;
    // An hour of which a part was chosen becomes the whole hour.
    if (isChosen && !cell.checked && cell.dataset.part) {
      cell.value = cell.dataset.part;
      delete cell.dataset.part;
    }
    cell.checked = isChosen;
  }

  changed() {
    const first = this.cells[0];
    for (const name of ["input", "change"]) first.dispatchEvent(new Event(name, { bubbles: true }));
  }

  // The cells of the rectangle between two of them.
  between(one, other) {
    const [day, hour, toDay, toHour] = [one, other].flatMap((at) => [Math.floor(at / HOURS), at % HOURS]);
    const isIn = (value, a, b) => value >= Math.min(a, b) && value <= Math.max(a, b);
    return this.cells.filter(
      (_cell, at) => isIn(Math.floor(at / HOURS), day, toDay) && isIn(at % HOURS, hour, toHour),
    );
  }

  begin(event) {
    const at = this.cells.indexOf(event.target);
    // A finger scrolls the page; what it taps is switched by the click.
    if (at < 0 || event.pointerType === "touch" || event.button) return;
    this.from = { at, isChosen: !event.target.checked, before: this.cells.map(({ checked }) => checked) };
    this.draw(at);
  }

  draw(to) {
    if (to < 0) return;
    const { at, isChosen, before } = this.from;
    const inside = new Set(this.between(at, to));
    for (const [place, cell] of this.cells.entries()) {
      if (inside.has(cell)) this.set(cell, isChosen);
      else if (cell.checked !== before[place]) cell.checked = before[place];
    }
    this.say();
  }

  end() {
    if (!this.from) return;
    this.from = null;
    this.changed();
  }

  clicked(event) {
    const { day, hour } = event.target.dataset;
    if (day !== undefined || hour !== undefined) {
      const of = this.cells.filter((_cell, at) => String(day === undefined ? at % HOURS : Math.floor(at / HOURS)) === (day ?? hour));
      const isChosen = of.some(({ checked }) => !checked);
      for (const cell of of) this.set(cell, isChosen);
      this.changed();
    } else if (event.target.matches(".week-cell") && event.detail && event.pointerType !== "touch") {
      // The mouse has drawn it already.
      event.preventDefault();
    } else if (event.target.checked && event.target.dataset.part) {
      event.target.value = event.target.dataset.part;
      delete event.target.dataset.part;
    }
  }

  quick({ target }) {
    const { days, hours, none } = target.closest("button")?.dataset ?? {};
    if (none !== undefined) for (const cell of this.cells) this.set(cell, false);
    if (days && hours) {
      const [[day, toDay], [begin, end]] = [days, hours].map((span) => span.split("-").map(Number));
      const isIn = (hour) => (begin < end ? hour >= begin && hour < end : hour >= begin || hour < end);
      for (const [at, cell] of this.cells.entries()) {
        const weekday = Math.floor(at / HOURS);
        if (weekday >= day && weekday <= toDay && isIn(at % HOURS)) this.set(cell, true);
      }
    }
    if (target.closest("button")) this.changed();
  }

  enter(cell) {
    for (const each of this.cells) each.tabIndex = each === cell ? 0 : -1;
  }

  pressed(event) {
    const at = this.cells.indexOf(event.target);
    // Where the days stand beside each other the hours go down.
    const isTall = getComputedStyle(this.grid).gridAutoFlow.startsWith("column");
    const [day, hour] = [Math.floor(at / HOURS), at % HOURS];
    const across = isTall ? [1, 0] : [0, 1];
    const down = isTall ? [0, 1] : [1, 0];
    const steps = { ArrowRight: across, ArrowLeft: across.map((n) => -n), ArrowDown: down, ArrowUp: down.map((n) => -n) };
    const step = steps[event.key];
    if (at < 0 || !step) return;
    event.preventDefault();
    const [toDay, toHour] = [day + step[0], hour + step[1]];
    if (toDay < 0 || toDay >= DAYS || toHour < 0 || toHour >= HOURS) return;
    const next = this.cells[toDay * HOURS + toHour];
    if (event.shiftKey) {
      this.set(next, event.target.checked);
      this.changed();
    }
    next.focus();
  }

  // The spans of a day, in minutes, those that touch as one.
  spansOf(day) {
    const texts = this.cells.slice(day * HOURS, (day + 1) * HOURS).filter(({ checked }) => checked);
    const spans = texts.flatMap(({ value }) => value.split(";")).map((text) => text.match(/\d+/g).map(Number));
    return spans.reduce((found, [h1, m1, h2, m2]) => {
      const [begin, end] = [h1 * HOUR + m1, h2 * HOUR + m2];
      if (found.at(-1)?.[1] === begin) found.at(-1)[1] = end;
      else found.push([begin, end]);
      return found;
    }, []);
  }

  // As `weekly_text` says it: days in a row with the same hours stand together.
  say() {
    const names = this.summary.dataset.days.trim().split(" ");
    const runs = [];
    for (const [day] of names.entries()) {
      for (const [begin, end] of this.spansOf(day)) {
        const run = runs.find((one) => one.begin === begin && one.end === end && one.last === day - 1);
        if (run) run.last = day;
        else runs.push({ first: day, last: day, begin, end });
      }
    }
    const texts = runs.map(({ first, last, begin, end }) =>
      `${names[first]}${last > first ? `-${names[last]}` : ""} ${clock(begin)}-${clock(end)}`);
    this.summary.querySelector(".week-said").textContent = texts.join(", ") || this.summary.dataset.nothing;
  }
}

function drawIn(place) {
  for (const box of place.querySelectorAll("[data-week]:not([data-week-ready])")) new WeekGrid(box);
}

export function drawWeeks() {
  drawIn(document);
  document.addEventListener("htmx:load", ({ target }) => drawIn(target));
}
