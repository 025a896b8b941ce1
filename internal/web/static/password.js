// Passwords can be shown while they are typed, and the strength of new ones is displayed. The
// server decides; this only saves an attempt.

import { t, tn } from "./page.js";

for (const input of document.querySelectorAll('input[type="password"]')) {
  const box = document.createElement("div");
  box.className = "reveal";
  const caret = document.activeElement === input && [input.selectionStart, input.selectionEnd];
  input.replaceWith(box);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = t("Show");
  button.setAttribute("aria-pressed", "false");
  const label = document.querySelector(`label[for="${CSS.escape(input.id)}"]`)?.textContent.trim() || t("Password");
  button.setAttribute("aria-label", t("Show: {field}", { field: label }));
  box.append(input, button);
  if (caret) {
    input.focus(); // the user is typing in it
    input.setSelectionRange(...caret);
  }
  const show = (shown) => {
    input.type = shown ? "text" : "password";
    button.setAttribute("aria-pressed", String(shown));
    button.textContent = shown ? t("Hide") : t("Show");
  };
  button.addEventListener("click", () => show(input.type === "password"));
  // Submit it as a password field, for the browser's password manager.
  input.form?.addEventListener("submit", () => show(false));
  if (input.name === "password" && input.autocomplete === "new-password") rate(input);
}
document.querySelector("[autofocus]")?.focus();

// rate shows the strength of a new password in place of its hint.
function rate(input) {
  const line = document.getElementById(`${input.id}-note`);
  if (!line) return;
  const hint = line.textContent;
  line.setAttribute("role", "status");
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const name = input.form?.elements.username?.value ?? "";
      // The button below must not move while it is being pressed.
      line.style.minHeight = `${line.offsetHeight}px`;
      line.className = input.value ? "hint strength" : "hint";
      line.textContent = input.value ? strength(input.value, name) : hint;
    }, 150);
  });
}

const sequences = "abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiopasdfghjklzxcvbnm";
const words = ["password", "retwis", "letmein", "welcome", "iloveyou", "monkey", "dragon", "football", "sunshine", "princess"];

// strength estimates the strength of a password: the number of its characters, where repetitions,
// sequences and common words count as one each.
function strength(typed, name) {
  const length = [...typed].length;
  if (length < 8) return tn(8 - length, "Too short: {n} more.", "Too short: {n} more.");
  let text = typed.toLowerCase();
  for (const word of [name.toLowerCase(), ...words]) {
    if (word.length > 2) text = text.replaceAll(word, "\u0000");
  }
  let worth = 0;
  const seen = new Set();
  for (let i = 0; i < text.length; i++) {
    const pair = text.slice(i - 1, i + 1);
    const follows = i > 0 && (sequences.includes(pair) || sequences.includes([...pair].reverse().join("")));
    worth += follows || seen.has(text[i]) ? 0.4 : 1;
    seen.add(text[i]);
  }
  const kinds = [/[a-z]/, /[A-Z]/, /[0-9]/, /[^a-zA-Z0-9]/].filter((kind) => kind.test(typed)).length;
  worth += kinds - 1;
  if (worth < 7) return t("Weak: easy to guess. Add a word or two.");
  if (worth < 10) return t("Fair. One more word makes it strong.");
  return t("Strong.");
}

// A new name is checked while it is typed.
for (const input of document.querySelectorAll("[data-new-name]")) {
  const line = document.getElementById(`${input.id}-note`);
  if (!line) continue;
  const hint = line.textContent;
  line.setAttribute("role", "status");
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const name = input.value.trim();
      try {
        const response = name && (await fetch(`/register/name?q=${encodeURIComponent(name)}`));
        if (name && !response.ok) return;
        const problem = name && (await response.json()).problem;
        if (input.value.trim() !== name) return;
        line.className = problem ? "problem" : "hint";
        line.textContent = problem || (name ? t("{name} is free.", { name }) : hint);
        if (problem) input.setAttribute("aria-invalid", "true");
        else input.removeAttribute("aria-invalid");
      } catch {
        // the form reports it
      }
    }, 300);
  });
}
