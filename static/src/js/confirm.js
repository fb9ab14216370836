// What cannot be taken back is asked about first, in a dialog of the page's own.
export function askFirst() {
  const dialog = document.getElementById("confirm");
  if (!dialog) return;
  let goOn = null;
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "yes") goOn?.();
    goOn = null;
  });
  document.addEventListener("htmx:confirm", (event) => {
    if (!event.detail.question) return;
    event.preventDefault();
    dialog.querySelector("#confirm-text").textContent = event.detail.question;
    dialog.returnValue = "";
    goOn = () => event.detail.issueRequest(true);
    dialog.showModal();
  });
}
