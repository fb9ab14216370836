// One socket for the page. The server names a topic that changed; whatever shows it fetches its part again:
//   <div hx-get="…" hx-trigger="weir:<topic> from:body, weir:reconnected from:body">
// A part that waits for one decisive event also names weir:connected: it may have come before the socket was open.
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15000;

function announce(name, detail) {
  document.body.dispatchEvent(new CustomEvent(`weir:${name}`, { detail }));
}

function showState(state) {
  document.documentElement.dataset.live = state;
}

function heard(text) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return;
  }
  if (typeof message?.topic === "string") announce(message.topic, message);
}

function connect(url, attempt) {
  const socket = new WebSocket(url);
  let isOpen = false;
  socket.addEventListener("open", () => {
    isOpen = true;
    showState("on");
    // What was said while nobody listened is lost: fetch everything once.
    announce(attempt > 0 ? "reconnected" : "connected", {});
  });
  socket.addEventListener("message", (event) => heard(event.data));
  socket.addEventListener("close", () => {
    showState("off");
    const next = isOpen ? 1 : attempt + 1;
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (next - 1));
    // Spread over a half, so that a restarted server is not met by all pages at once.
    setTimeout(() => connect(url, next), wait * (0.75 + Math.random() / 2));
  });
}

export function followTopics() {
  const topics = document.body.dataset.liveTopics?.trim();
  if (!topics) return;
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  connect(`${scheme}://${location.host}/ws/live?topics=${encodeURIComponent(topics)}`, 0);
}
