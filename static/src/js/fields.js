// Small things that fields do together.
const PLACES = 1000;
const WIDE = 100;
const COPIED_MS = 2000;

// A slider over several powers of ten goes up by proportion: from 128 MiB to 200 GiB each part of it is of use.
function spreadSliders() {
  for (const slider of document.querySelectorAll("input[type=range][data-partner]")) {
    if (slider.dataset.most || !(slider.min > 0) || slider.max / slider.min <= WIDE) continue;
    const { min, max, step, value } = slider;
    Object.assign(slider.dataset, { least: min, most: max, step });
    Object.assign(slider, { min: 0, max: PLACES, step: 1 });
    slider.value = placeOf(slider, value);
    slider.ariaValueText = value;
  }
}

function placeOf({ dataset: { least, most } }, amount) {
  return Math.round((PLACES * Math.log(Math.max(amount, least) / least)) / Math.log(most / least));
}

// In sixteenths of the next lower power of two, so that round amounts can be met.
function amountAt({ dataset: { least, most, step }, value }) {
  if (Number(value) === PLACES) return Number(most);
  const exact = least * (most / least) ** (value / PLACES);
  const grain = Math.max(step, 2 ** Math.floor(Math.log2(exact)) / 16);
  const steps = Math.round((Math.round(exact / grain) * grain - least) / step);
  return Math.min(most, Number(least) + Math.max(0, steps) * step);
}

function followPartner(event) {
  const field = event.target;
  const partner = field.dataset?.partner && document.getElementById(field.dataset.partner);
  if (!partner) return;
  const amount = field.dataset.most ? amountAt(field) : field.value;
  const slider = field.dataset.most ? field : partner;
  if (slider.dataset.most) slider.ariaValueText = amount;
  const wanted = String(partner.dataset.most ? placeOf(partner, amount) : amount);
  if (partner.value !== wanted) partner.value = wanted;
}

function checkAll(event) {
  const name = event.target.dataset?.checkAll;
  if (!name) return;
  const boxes = event.target.closest("table").querySelectorAll(`input[name="${name}"]`);
  for (const box of boxes) box.checked = event.target.checked;
}

async function copy(event) {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const field = document.querySelector(button.dataset.copy);
  field.select?.();
  await navigator.clipboard?.writeText(field.value ?? field.textContent);
  sayCopied(button);
}

// The button itself says so for a moment.
function sayCopied(button) {
  const { copied } = button.dataset;
  if (!copied || button.textContent === copied) return;
  const before = button.textContent;
  button.textContent = copied;
  setTimeout(() => (button.textContent = before), COPIED_MS);
}

// Figures are pasted as they stand elsewhere: between blanks, with separators, in the wide digits of Chinese text.
function pasteFigure(event) {
  const field = event.target;
  if (field.localName !== "input" || field.type !== "number") return;
  const text = event.clipboardData.getData("text").normalize("NFKC");
  const figure = text.replace(/[\s,'_]/g, "");
  if (!/^[-+]?\d+(\.\d+)?$/.test(figure)) return;
  event.preventDefault();
  field.value = figure;
  for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
}

function goBack(event) {
  if (!event.target.closest?.("[data-back]") || history.length < 2) return;
  event.preventDefault();
  history.back();
}

// A button outside its form (form="…") says what it stands for too.
function nameButton(event) {
  const button = event.detail.triggeringEvent?.submitter;
  if (button?.name && !(button.name in event.detail.parameters)) event.detail.parameters[button.name] = button.value;
}

// Where nobody has chosen yet, the reader's own time zone is the likeliest.
function guessZone() {
  const field = document.querySelector("select[data-guess-zone]");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if ([...(field?.options ?? [])].some(({ value }) => value === zone)) field.value = zone;
}

export function linkFields() {
  guessZone();
  spreadSliders();
  document.addEventListener("htmx:load", spreadSliders);
  document.addEventListener("htmx:configRequest", nameButton);
  document.addEventListener("input", followPartner);
  document.addEventListener("change", checkAll);
  document.addEventListener("paste", pasteFigure);
  document.addEventListener("click", copy);
  document.addEventListener("click", goBack);
}
