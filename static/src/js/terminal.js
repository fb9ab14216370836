// A terminal beside running work: <div data-terminal data-opens="…" data-said-…="…">. What is typed goes to the portal
// by a WebSocket, which a ticket opens once; a message is a byte that names its channel, then what it carries.
import { FitAddon } from "@xterm/addon-fit";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { Terminal } from "@xterm/xterm";

import { csrfToken } from "./csrf.js";

const CHANNEL = { STDIN: 0, STDOUT: 1, STDERR: 2, ENDED: 3, RESIZE: 4 };
const PIECE_BYTES = 32 * 1024;
const NARROW_PX = 600;

// Told apart on either ground, at 4.5:1 against it.
const COLOURS = {
  light: {
    background: "#fbfcfe", foreground: "#1e293b", cursor: "#1e293b", cursorAccent: "#fbfcfe",
    selectionBackground: "#c7d8ee",
    black: "#1e293b", red: "#b91c1c", green: "#15703a", yellow: "#8a5a00", blue: "#1d4ed8", magenta: "#8b2fb8",
    cyan: "#0b6e8f", white: "#64748b", brightBlack: "#56637a", brightRed: "#c02626", brightGreen: "#15783f",
    brightYellow: "#8f5f00", brightBlue: "#2558dd", brightMagenta: "#9338c0", brightCyan: "#0d7294",
    brightWhite: "#334155",
  },
  dark: {
    background: "#0f172a", foreground: "#dbe4f0", cursor: "#dbe4f0", cursorAccent: "#0f172a",
    selectionBackground: "#334e74",
    black: "#64748b", red: "#f87171", green: "#4ade80", yellow: "#fbbf24", blue: "#7aa2f7", magenta: "#c792ea",
    cyan: "#4fb3d4", white: "#dbe4f0", brightBlack: "#8494ab", brightRed: "#fca5a5", brightGreen: "#86efac",
    brightYellow: "#fcd34d", brightBlue: "#a5c0fa", brightMagenta: "#ddb6f2", brightCyan: "#8bd0e6",
    brightWhite: "#f8fafc",
  },
}; // prettier-ignore

const theme = () => COLOURS[document.documentElement.dataset.bsTheme === "dark" ? "dark" : "light"];

function message(channel, payload) {
  const whole = new Uint8Array(payload.length + 1);
  whole[0] = channel;
  whole.set(payload, 1);
  return whole;
}

class Session {
  constructor(place, screen) {
    this.place = place;
    this.screen = screen;
    this.encoder = new TextEncoder();
    this.state = place.closest("[data-terminal-card]").querySelector("[data-terminal-state]");
    this.again = place.closest("[data-terminal-card]").querySelector("[data-terminal-again]");
    this.again.addEventListener("click", () => this.open());
    screen.onData((text) => this.tell(CHANNEL.STDIN, this.encoder.encode(text)));
    screen.onBinary((text) => this.tell(CHANNEL.STDIN, Uint8Array.from(text, (sign) => sign.charCodeAt(0))));
    screen.onResize(({ rows, cols }) => this.tellSize(rows, cols));
  }

  show(code, detail = "") {
    const said = this.place.getAttribute(`data-said-${code}`) ?? this.place.dataset.saidBroken;
    this.state.textContent = detail ? `${said} ${detail}` : said;
    this.state.dataset.terminalState = code;
    const isOver = code !== "open" && code !== "opening";
    this.again.hidden = !isOver;
    this.screen.options.disableStdin = isOver;
    this.screen.options.cursorBlink = code === "open";
  }

  async open() {
    this.show("opening");
    let opened;
    try {
      const answer = await fetch(this.place.dataset.opens, {
        method: "POST",
        headers: { "X-CSRFToken": csrfToken(), "Content-Type": "application/json", Accept: "application/json" },
        body: JSON.stringify({ tty: true }),
      });
      opened = await answer.json();
      if (!answer.ok) {
        this.show("broken", opened.error ? `${opened.error.message} ${opened.error.cure}` : "");
        return;
      }
    } catch {
      this.show("broken");
      return;
    }
    this.listen(new WebSocket(location.origin.replace(/^http/, "ws") + opened.path), opened.ticket);
  }

  listen(socket, ticket) {
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    let ended = "";
    socket.addEventListener("open", () => {
      const { rows, cols } = this.screen;
      // The ticket is no part of the address: servers and proxies write addresses to their logs.
      socket.send(JSON.stringify({ ticket, rows, columns: cols, term: "xterm-256color" }));
      this.screen.reset();
      this.screen.focus();
      this.show("open");
    });
    socket.addEventListener("message", (event) => {
      const whole = new Uint8Array(event.data);
      const payload = whole.subarray(1);
      if (whole[0] === CHANNEL.ENDED) {
        ended = JSON.parse(new TextDecoder().decode(payload)).code;
      } else if (payload.length) {
        this.screen.write(payload);
      }
    });
    socket.addEventListener("close", () => {
      if (this.socket === socket) this.show(ended || "broken");
    });
  }

  tell(channel, payload) {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    for (let start = 0; start < payload.length; start += PIECE_BYTES) {
      this.socket.send(message(channel, payload.subarray(start, start + PIECE_BYTES)));
    }
  }

  tellSize(rows, columns) {
    this.tell(CHANNEL.RESIZE, this.encoder.encode(JSON.stringify({ rows, columns })));
  }
}

function begin(place) {
  const isNarrow = place.clientWidth < NARROW_PX;
  const screen = new Terminal({
    allowProposedApi: true,
    fontFamily: 'ui-monospace, "Cascadia Mono", Menlo, Consolas, "Noto Sans Mono CJK SC", monospace',
    fontSize: isNarrow ? 12 : 14,
    scrollback: 5000,
    minimumContrastRatio: 4.5,
    theme: theme(),
  });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  screen.loadAddon(new Unicode11Addon());
  screen.unicode.activeVersion = "11";
  screen.open(place);
  screen.textarea.setAttribute("aria-label", place.dataset.label);
  // Copy with Ctrl-Shift-C, or with Ctrl-C where something is marked; to paste is the browser's own business.
  screen.attachCustomKeyEventHandler((event) => {
    const isCopy = event.type === "keydown" && event.ctrlKey && event.code === "KeyC";
    if (!isCopy || !screen.hasSelection()) return !(isCopy && event.shiftKey);
    navigator.clipboard?.writeText(screen.getSelection());
    screen.clearSelection();
    event.preventDefault();
    return false;
  });
  new ResizeObserver(() => fit.fit()).observe(place);
  fit.fit();
  document.addEventListener("weir:theme", () => (screen.options.theme = theme()));
  const session = new Session(place, screen);
  window.addEventListener("pagehide", () => session.socket?.close());
  session.open();
}

for (const place of document.querySelectorAll("[data-terminal]")) begin(place);
