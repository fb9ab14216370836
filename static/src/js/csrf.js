// Django wants its token with every request that changes something.
function token() {
  const cookie = document.cookie.split("; ").find((part) => part.startsWith("csrftoken="));
  return cookie ? cookie.slice("csrftoken=".length) : document.querySelector('meta[name="csrf-token"]')?.content;
}

export function protectRequests() {
  document.addEventListener("htmx:configRequest", (event) => {
    const value = token();
    if (value && event.detail.verb !== "get") event.detail.headers["X-CSRFToken"] = value;
  });
}
