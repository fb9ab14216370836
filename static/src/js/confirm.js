// What cannot be taken back is asked about first, in a dialog of the page's own.
function ask(question, goOn, giveUp = () => {}) {
  const dialog = document.getElementById("confirm");
  dialog.querySelector("#confirm-text").textContent = question;
  dialog.returnValue = "";
  dialog.addEventListener("close", () => (dialog.returnValue === "yes" ? goOn() : giveUp()), { once: true });
  dialog.showModal();
}

// Questions that scripts have, one after the other: whether the answer was yes.
let asked = Promise.resolve();
export function confirmed(question) {
  const answer = asked.then(
    () =>
      new Promise((resolve) => {
        ask(
          question,
          () => resolve(true),
          () => resolve(false),
        );
      }),
  );
  asked = answer;
  return answer;
}

export function askFirst() {
  if (!document.getElementById("confirm")) return;
  document.addEventListener("htmx:confirm", (event) => {
    if (!event.detail.question) return;
    event.preventDefault();
    ask(event.detail.question, () => event.detail.issueRequest(true));
  });
}
