// Passkeys: the browser creates them and logs in with them. If it cannot, their buttons stay
// hidden.

import { noConnection, t } from "./page.js";

const supported = isSecureContext && window.PublicKeyCredential?.parseCreationOptionsFromJSON;

for (const button of supported ? document.querySelectorAll("button[data-passkey]") : []) {
  button.hidden = false;
  document.getElementById("no-passkeys")?.remove();
  button.addEventListener("click", () => use(button));
}

// use asks the server for options and the browser for a passkey, and sends the form with it. If the
// server refuses, the form leads to a page that says why.
async function use(button) {
  const form = button.form;
  const path = button.dataset.passkey;
  const action = form.getAttribute("action");
  const hidden = [];
  const makes = path.startsWith("/settings");
  if (makes && !form.reportValidity()) return;
  button.disabled = true;
  try {
    const response = await fetch(`${path}-options`, { method: "POST", body: makes ? new URLSearchParams(new FormData(form)) : null });
    if (response.ok) {
      const { secret, options } = await response.json();
      const key = makes
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey) });
      hidden.push(hide(form, "secret", secret), hide(form, "response", JSON.stringify(key)));
      for (const password of form.querySelectorAll('input[autocomplete="current-password"]')) password.value = "";
    }
    form.action = path;
    form.submit();
    // When "back" restores this page, the form logs in with the password again.
    form.setAttribute("action", action);
    for (const input of hidden) input.remove();
  } catch (error) {
    const text = error instanceof DOMException ? t("The passkey wasn't used: the request was cancelled or timed out.") : noConnection;
    const line = form.querySelector(".problem.of-passkey") ?? document.createElement("p");
    line.className = "problem of-passkey";
    line.setAttribute("role", "alert");
    line.textContent = text;
    button.after(line);
  } finally {
    button.disabled = false;
  }
}

function hide(form, name, value) {
  const input = document.createElement("input");
  input.type = "hidden";
  input.name = name;
  input.value = value;
  form.append(input);
  return input;
}
