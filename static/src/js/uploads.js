// Files and folders go up in pieces by tus: what breaks off goes on where it stopped, also after a reload of the page.
import { Upload } from "tus-js-client";

import { confirmed } from "./confirm.js";
import { csrfToken } from "./csrf.js";

const AT_ONCE = 3;
const RETRY_DELAYS_MS = [0, 1000, 3000, 5000, 10000, 20000];
// What the portal may answer otherwise a moment later.
const PASSING = new Set(["upload_busy", "offset_mismatch", "checksum_mismatch", "busy", "unavailable", "storage_away"]);

function refusal(error) {
  const answer = error.originalResponse;
  if (!answer) return { code: "", message: "" };
  try {
    const { code, message, cure } = JSON.parse(answer.getBody()).error;
    return { code, message: `${message} ${cure}`.trim() };
  } catch {
    return { code: "", message: "" };
  }
}

function bytes(count) {
  const steps = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = count ? Math.min(Math.floor(Math.log2(count) / 10), steps.length - 1) : 0;
  return `${(count / 1024 ** step).toFixed(step ? 1 : 0)} ${steps[step]}`;
}

class Zone {
  constructor(zone) {
    this.zone = zone;
    this.waiting = [];
    this.running = 0;
    this.isAnyDone = false;
    this.list = zone.querySelector("[data-upload-list]");
    for (const input of zone.querySelectorAll("[data-upload-input]")) {
      input.addEventListener("change", () => {
        for (const file of input.files) this.add(file, file.webkitRelativePath || file.name);
        input.value = "";
      });
    }
    zone.addEventListener("dragover", (event) => {
      event.preventDefault();
      zone.classList.add("is-over");
    });
    for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => zone.classList.remove("is-over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      for (const item of event.dataTransfer.items) {
        const entry = item.webkitGetAsEntry?.();
        if (entry) this.walk(entry, "");
      }
    });
    for (const button of zone.querySelectorAll("[data-upload-forget]")) {
      button.addEventListener("click", () => this.forget(button));
    }
  }

  walk(entry, folder) {
    const path = `${folder}${entry.name}`;
    if (entry.isFile) {
      entry.file((file) => this.add(file, path));
      return;
    }
    // A reader gives a folder in parts, until it gives none.
    const reader = entry.createReader();
    const next = () =>
      reader.readEntries((found) => {
        for (const one of found) this.walk(one, `${path}/`);
        if (found.length) next();
      });
    next();
  }

  add(file, name) {
    const folder = this.zone.dataset.path;
    const row = this.zone.querySelector("[data-upload-row]").content.firstElementChild.cloneNode(true);
    row.querySelector("[data-upload-name]").textContent = name;
    row.querySelector("[data-upload-text]").textContent = bytes(file.size);
    this.list.append(row);
    this.waiting.push({ file, row, path: folder ? `${folder}/${name}` : name });
    this.next();
  }

  next() {
    while (this.running < AT_ONCE && this.waiting.length) {
      this.running += 1;
      this.send(this.waiting.shift(), false);
    }
    if (this.running === 0 && this.isAnyDone) this.refresh();
  }

  send({ file, row, path }, replaces) {
    const text = row.querySelector("[data-upload-text]");
    const bar = row.querySelector("[data-upload-bar]");
    const end = row.querySelector("[data-upload-end]");
    const settle = (words, look) => {
      text.textContent = words;
      bar.classList.add(look);
      end.hidden = true;
      this.running -= 1;
      this.next();
    };
    const mark = [this.zone.dataset.volume, path, file.size, file.lastModified].join(" ");
    const upload = new Upload(file, {
      endpoint: this.zone.dataset.url,
      chunkSize: Number(this.zone.dataset.pieceBytes),
      retryDelays: RETRY_DELAYS_MS,
      uploadDataDuringCreation: true,
      removeFingerprintOnSuccess: true,
      headers: { "X-CSRFToken": csrfToken() },
      metadata: { path, fingerprint: `${file.size}-${file.lastModified}`, replace: replaces ? "yes" : "no" },
      fingerprint: () => Promise.resolve(`weir ${mark}`),
      onShouldRetry: (error) => {
        const status = error.originalResponse?.getStatus() ?? 0;
        return status === 0 || status === 502 || status === 504 || PASSING.has(refusal(error).code);
      },
      onProgress: (sent, total) => {
        bar.style.width = `${total ? (100 * sent) / total : 100}%`;
        text.textContent = `${bytes(sent)} / ${bytes(total)}`;
      },
      onSuccess: () => {
        bar.style.width = "100%";
        this.isAnyDone = true;
        row.dataset.state = "done";
        settle(this.zone.dataset.sayDone, "bg-success");
      },
      onError: async (error) => {
        const { code, message } = refusal(error);
        if (
          code === "already_there" &&
          !replaces &&
          (await confirmed(`${path} ${this.zone.dataset.askReplace}`, this.zone.dataset.sayReplace))
        ) {
          this.send({ file, row, path }, true);
          return;
        }
        row.dataset.state = "failed";
        settle(message || this.zone.dataset.sayFailed, "bg-danger");
      },
    });
    end.onclick = () => {
      upload.abort(true).catch(() => {});
      settle(this.zone.dataset.sayEnded, "bg-secondary");
    };
    upload.findPreviousUploads().then((found) => {
      if (found.length) upload.resumeFromPreviousUpload(found[0]);
      upload.start();
    });
  }

  async forget(button) {
    const headers = { "X-CSRFToken": csrfToken(), "Tus-Resumable": "1.0.0" };
    const answer = await fetch(button.dataset.uploadForget, { method: "DELETE", headers });
    if (answer.ok) button.closest("li").remove();
  }

  refresh() {
    this.isAnyDone = false;
    const target = this.zone.dataset.refresh;
    window.htmx.ajax("GET", window.location.pathname + window.location.search, { target, swap: "innerHTML" });
  }
}

for (const zone of document.querySelectorAll("[data-uploads]")) new Zone(zone);
