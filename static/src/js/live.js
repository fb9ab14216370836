// One socket for the page. The server names a topic that changed; whatever shows it fetches its part again:
//   <div hx-get="…" hx-trigger="weir:<topic> from:body, weir:connected from:body">
// weir:connected comes when the server begins to tell and something was said since the page was made, and each time
// the socket is open again: what was said meanwhile is lost.
// A part in which somebody has begun to fill in a field, or of which a question is open, is left as it is. Rows that
// were chosen in a table are fetched again with the others, and stay chosen.
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15000;

function announce(name, detail) {
  document.body.dispatchEvent(new CustomEvent(`weir:${name}`, { detail }));
}

function showState(state) {
  document.documentElement.dataset.live = state;
}

function heard(text, isFirstSocket) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return;
  }
  if (typeof message?.topic !== "string") return;
  const isWhole = message.topic === "connected" && isFirstSocket && !message.missed;
  if (!isWhole) announce(message.topic, message);
}

function connect(url, topics, attempt, isFirstSocket) {
  const socket = new WebSocket(url);
  let isOpen = false;
  // The tickets are no part of the address: servers and proxies write addresses to their logs.
  socket.addEventListener("open", () => socket.send(JSON.stringify({ topics })));
  socket.addEventListener("message", (event) => {
    if (!isOpen) showState("on");
    isOpen = true;
    heard(event.data, isFirstSocket);
  });
  socket.addEventListener("close", () => {
    showState("off");
    const next = isOpen ? 1 : attempt + 1;
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (next - 1));
    // Spread over a half, so that a restarted server is not met by all pages at once.
    setTimeout(() => connect(url, topics, next, isFirstSocket && !isOpen), wait * (0.75 + Math.random() / 2));
  });
}

const FIELDS = "input:not([type=hidden]), textarea, select";

function isChanged(field) {
  if (field.localName === "select") {
    const first = [...field.options].findIndex((one) => one.defaultSelected);
    return field.options.length > 0 && field.selectedIndex !== Math.max(first, 0);
  }
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  return field.value !== field.defaultValue;
}

function isRowChoice(field) {
  return field.type === "checkbox" && Boolean(field.name) && field.closest("tbody") !== null;
}

function beingFilled(part) {
  return [...part.querySelectorAll(FIELDS)].filter((field) => field === document.activeElement || isChanged(field));
}

// The rows that were chosen in the part that is being replaced, by the name and value of their boxes.
const chosenRows = [];

function chooseAgain() {
  for (const { name, value } of chosenRows.splice(0)) {
    const box = document.querySelector(`tbody input[name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]`);
    if (!box) continue;
    box.checked = true;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

// Whether the answer that is being put in place was asked for by the socket, and by nobody's hand.
let isOfSocket = false;

function keepWhatIsTyped(event) {
  const { elt, triggeringEvent } = event.detail.requestConfig ?? {};
  // A part that asks by the clock has no event that began it.
  chosenRows.length = 0;
  isOfSocket = triggeringEvent
    ? triggeringEvent.type.startsWith("weir:")
    : /\bevery \d/.test(elt?.getAttribute("hx-trigger") ?? "");
  keepBeside(event);
}

// The parts that come beside the one that was asked for.
function keepBeside(event) {
  // Who is asked "really?" answers for a button that must still be there.
  const isAsked = document.querySelector("dialog[open]") !== null;
  if (!isOfSocket) return;
  const filled = beingFilled(event.detail.target);
  if (isAsked || !filled.every(isRowChoice)) event.detail.shouldSwap = false;
  else if (event.detail.shouldSwap) {
    const chosen = filled.filter((box) => box.checked);
    chosenRows.push(...chosen.map(({ name, value }) => ({ name, value })));
  }
}

// What nobody's hand began is no use of the session: one that is left open ends as others do.
function sayWhoAsks(event) {
  if (!event.detail.triggeringEvent?.isTrusted) event.detail.headers["Weir-Refresh"] = "true";
}

export function followTopics() {
  document.addEventListener("htmx:configRequest", sayWhoAsks);
  document.addEventListener("htmx:beforeSwap", keepWhatIsTyped);
  document.addEventListener("htmx:oobBeforeSwap", keepBeside);
  document.addEventListener("htmx:afterSwap", chooseAgain);
  const topics = document.body.dataset.liveTopics?.trim();
  if (!topics) return;
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const url = `${scheme}://${location.host}/ws/live`;
  // The parts listen once the page is whole: a socket that opened before would tell nobody.
  document.addEventListener("DOMContentLoaded", () => connect(url, topics, 0, true));
}
