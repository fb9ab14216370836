// What work prints: its colours (ANSI escapes), lines that hold a word, and whether the end is followed.
// Written with the characters themselves, since a pattern may not hold control characters.
const [BELL, ESC] = [String.fromCharCode(7), String.fromCharCode(27)];
const ESCAPES = new RegExp(
  [
    `${ESC}\\[([0-9;]*)([A-Za-z])`,
    `${ESC}\\][^${BELL}${ESC}]*(?:${BELL}|${ESC}\\\\)`,
    `${ESC}[@-Z\\\\-_]`,
  ].join("|"),
  "g",
);
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const MOST_LINES = 2000;

// The look that the text has reached: it goes on from one piece to the next.
function changed(look, codes) {
  const next = { ...look };
  for (const code of (codes || "0").split(";").map(Number)) {
    if (code === 0) Object.assign(next, { colour: "", back: "", isBold: false });
    else if (code === 1) next.isBold = true;
    else if (code === 22) next.isBold = false;
    else if (code >= 30 && code <= 37) next.colour = NAMES[code - 30];
    else if (code >= 90 && code <= 97) next.colour = NAMES[code - 90];
    else if (code === 39) next.colour = "";
    else if (code >= 40 && code <= 47) next.back = NAMES[code - 40];
    else if (code === 49) next.back = "";
    else if (code === 38 || code === 48) break;
  }
  return next;
}

function dressed(text, look) {
  if (!look.colour && !look.back && !look.isBold) return document.createTextNode(text);
  const span = document.createElement("span");
  span.textContent = text;
  if (look.colour) span.classList.add(`ansi-${look.colour}`);
  if (look.back) span.classList.add(`ansi-on-${look.back}`);
  if (look.isBold) span.classList.add("fw-bold");
  return span;
}

class LogView {
  constructor(log, tools) {
    this.log = log;
    this.look = { colour: "", back: "", isBold: false };
    this.search = tools.querySelector("[data-log-search]");
    this.found = tools.querySelector("[data-log-found]");
    this.matches = log.cloneNode(false);
    for (const name of ["id", "data-follow", "data-empty", "data-test"]) this.matches.removeAttribute(name);
    this.matches.dataset.test = "log-matches";
    this.matches.hidden = true;
    log.after(this.matches);
    this.search.addEventListener("input", () => this.filter());
    tools.querySelector("[data-log-follow]").addEventListener("change", (event) => {
      log.dataset.follow = event.target.checked ? "" : "off";
      if (event.target.checked) log.scrollTop = log.scrollHeight;
    });
    tools.querySelector("[data-log-wrap]").addEventListener("change", (event) => {
      for (const view of [log, this.matches]) view.classList.toggle("is-unwrapped", !event.target.checked);
    });
    this.takeAll();
    new MutationObserver(() => this.takeAll()).observe(log, { childList: true });
  }

  takeAll() {
    const pieces = this.log.querySelectorAll(":scope > [data-test='log-piece']:not([data-dressed])");
    for (const piece of pieces) this.take(piece);
    if (pieces.length && this.search.value) this.filter();
  }

  take(piece) {
    piece.dataset.dressed = "";
    const text = piece.textContent;
    if (!text.includes("\x1b")) {
      if (this.look.colour || this.look.back || this.look.isBold) piece.replaceChildren(dressed(text, this.look));
      return;
    }
    const parts = document.createDocumentFragment();
    let from = 0;
    for (const match of text.matchAll(ESCAPES)) {
      if (match.index > from) parts.append(dressed(text.slice(from, match.index), this.look));
      from = match.index + match[0].length;
      if (match[2] === "m") this.look = changed(this.look, match[1]);
    }
    parts.append(dressed(text.slice(from), this.look));
    piece.replaceChildren(parts);
  }

  filter() {
    const word = this.search.value.toLocaleLowerCase();
    this.log.hidden = Boolean(word);
    this.matches.hidden = !word;
    this.found.textContent = "";
    if (!word) return;
    const lines = this.log.textContent.split("\n").filter((line) => line.toLocaleLowerCase().includes(word));
    this.matches.textContent = lines.slice(-MOST_LINES).join("\n");
    this.found.textContent = this.found.dataset.words.replace("{n}", lines.length);
  }
}

export function showLogs() {
  const log = document.getElementById("log");
  const tools = document.querySelector("[data-log-tools]");
  if (log && tools) new LogView(log, tools);
}
