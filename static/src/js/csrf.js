// Django wants its token with every request that changes something.
export function csrfToken() {
  // By TLS its name begins with __Host-.
  const cookie = document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=([^;]*)/);
  return cookie ? cookie[1] : document.querySelector('meta[name="csrf-token"]')?.content;
}

export function protectRequests() {
  document.addEventListener("htmx:configRequest", (event) => {
    const value = csrfToken();
    if (value && event.detail.verb !== "get") event.detail.headers["X-CSRFToken"] = value;
  });
}
