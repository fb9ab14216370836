// What cannot be taken back is asked about first, in a dialog of the page's own.
function ask(question, verb, goOn, giveUp = () => {}) {
  const dialog = document.getElementById("confirm");
  const yes = dialog.querySelector('[value="yes"]');
  yes.dataset.otherwise ??= yes.textContent;
  yes.textContent = verb || yes.dataset.otherwise;
  dialog.querySelector("#confirm-text").textContent = question;
  const ended = new AbortController();
  const { signal } = ended;
  const answered = (event) => {
    if (event.submitter?.value !== "yes") return;
    ended.abort();
    goOn();
  };
  const left = () => {
    ended.abort();
    giveUp();
  };
  // While the dialog still stands open: once it is closed the part that was asked about may be made anew, and what is
  // done to a part that is gone is done to nothing.
  dialog.addEventListener("submit", answered, { signal });
  dialog.addEventListener("close", left, { signal });
  dialog.showModal();
}

// Questions that scripts have, one after the other: whether the answer was yes.
let asked = Promise.resolve();
export function confirmed(question, verb) {
  const answer = asked.then(
    () =>
      new Promise((resolve) => {
        ask(
          question,
          verb,
          () => resolve(true),
          () => resolve(false),
        );
      }),
  );
  asked = answer;
  return answer;
}

// What the button that was pressed says it does.
function verbOf({ elt, triggeringEvent }) {
  const button = triggeringEvent?.submitter ?? (elt.matches("button") ? elt : elt.querySelector?.("button:not([type=button])"));
  return button?.textContent.trim() || button?.ariaLabel;
}

export function askFirst() {
  if (!document.getElementById("confirm")) return;
  document.addEventListener("htmx:confirm", (event) => {
    if (!event.detail.question) return;
    event.preventDefault();
    ask(event.detail.question, verbOf(event.detail), () => event.detail.issueRequest(true));
  });
}
