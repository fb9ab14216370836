// Small things that fields do together.
function followPartner(event) {
  const id = event.target.dataset?.partner;
  const partner = id && document.getElementById(id);
  if (!partner || partner.value === event.target.value) return;
  partner.value = event.target.value;
}

function checkAll(event) {
  const name = event.target.dataset?.checkAll;
  if (!name) return;
  for (const box of event.target.form.querySelectorAll(`input[name="${name}"]`)) box.checked = event.target.checked;
}

async function copy(event) {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const field = document.querySelector(button.dataset.copy);
  field.select();
  await navigator.clipboard?.writeText(field.value);
}

function goBack(event) {
  if (!event.target.closest?.("[data-back]") || history.length < 2) return;
  event.preventDefault();
  history.back();
}

// A button outside its form (form="…") says what it stands for too.
function nameButton(event) {
  const button = event.detail.triggeringEvent?.submitter;
  if (button?.name && !(button.name in event.detail.parameters)) event.detail.parameters[button.name] = button.value;
}

export function linkFields() {
  document.addEventListener("htmx:configRequest", nameButton);
  document.addEventListener("input", followPartner);
  document.addEventListener("change", checkAll);
  document.addEventListener("click", copy);
  document.addEventListener("click", goBack);
}
