// Tries a reading call of the API as the reader, and shows what comes back.
function addressOf(form) {
  const given = new FormData(form);
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const [name, value] of given) {
    if (path.includes(`{${name}}`)) path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (value) query.set(name, value);
  }
  return query.size ? `${path}?${query}` : path;
}

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function tryCall(event) {
  const place = event.target.closest?.("[data-try-call]");
  if (!place) return;
  event.preventDefault();
  const [status, shown] = [place.querySelector("[role=status]"), place.querySelector("pre")];
  const begun = performance.now();
  try {
    const answer = await fetch(addressOf(event.target), { headers: { Accept: "application/json" } });
    shown.textContent = readable(await answer.text());
    status.textContent = `${answer.status} ${answer.statusText} · ${Math.round(performance.now() - begun)} ms`;
  } catch (error) {
    shown.textContent = "";
    status.textContent = String(error);
  }
  shown.hidden = !shown.textContent;
}

export function tryCalls() {
  document.addEventListener("submit", tryCall);
}
