// Times that a list says as "3 minutes ago" stay true while the page is open. The portal writes them first, in the same
// steps and words (`ago_text` of apps/kernel/unit_text.py); beyond a month they are dates, which need no counting.

const EVERY_MS = 15_000;
const STEPS = [
  [45 * 60, 60, "minute"],
  [22 * 3600, 3600, "hour"],
  [30 * 86400, 86400, "day"],
];

// The words for an instant so many seconds ago, "" for what is a date.
function agoText(seconds, language, now) {
  const left = Math.abs(Math.round(seconds));
  if (left < 45) return now;
  const step = STEPS.find(([below]) => left < below);
  if (!step) return "";
  const count = Math.max(1, Math.round(left / step[1]));
  const text = new Intl.RelativeTimeFormat(language).format(seconds > 0 ? -count : count, step[2]);
  // Between a figure and a Chinese word stands a blank on every page.
  return text.replace(/(\d)(?=\p{Script=Han})/gu, "$1 ");
}

function countOn() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    const text = agoText(seconds, document.documentElement.lang, time.dataset.ago);
    if (text && time.textContent !== text) time.textContent = text;
  }
}

export function keepAgo() {
  setInterval(countOn, EVERY_MS);
}
