// Functions shared by the scripts.

export const isLoggedIn = document.body.dataset.viewer !== undefined;

// The language of the page and its texts, see package i18n. A script loaded before this one defines
// them, except for English.
export const lang = document.documentElement.lang;
export const number = (n) => n.toLocaleString(lang === "en" ? "en-US" : lang);
const texts = globalThis.texts ?? {};
const plural = new Intl.PluralRules(lang);
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// t returns a text with its values filled in.
export const t = (text, values = {}) => fill(texts[text] ?? text, values);

// tn returns a text that depends on a number.
export function tn(n, one, other) {
  const forms = texts[other] ?? { one, other };
  return fill(forms[plural.select(n)] ?? forms.other, { n: number(n) });
}

export const noConnection = t("That didn't work. Check your connection and try again.");

// enhance calls work with each matching element of the page, and of content inserted later.
export function enhance(selector, work) {
  for (const one of document.querySelectorAll(selector)) work(one);
  document.addEventListener("inserted", (event) => {
    for (const one of event.detail.querySelectorAll(selector)) work(one);
  });
}

// inserted must be called with content that a script has inserted into the page.
export function inserted(root) {
  document.dispatchEvent(new CustomEvent("inserted", { detail: root }));
}

// element creates an element with properties and children.
export function element(name, properties, ...children) {
  const { dataset, ...others } = properties ?? {};
  const made = Object.assign(document.createElement(name), others);
  Object.assign(made.dataset, dataset);
  made.append(...children);
  return made;
}

// A single polite live region announces changes by all scripts.
const region = document.getElementById("live-region");
export function announce(text) {
  if (!region) return;
  // Repeating the same text must be a change, too.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}

// Failures are shown as well, because nothing else on the page has changed.
let shown = 0;
export function problem(text) {
  announce(text);
  region?.classList.replace("unseen", "toast");
  clearTimeout(shown);
  shown = setTimeout(() => region?.classList.replace("toast", "unseen"), 8000);
}

// refusal returns the message of an error page.
export function refusal(page) {
  return [...page.querySelectorAll(".error h1, .error h1 + p")].map((text) => text.textContent).join(". ") || t("Please try again later.");
}

// load fetches a page of the site.
export async function load(address, request) {
  const response = await fetch(address, request);
  return [response, new DOMParser().parseFromString(await response.text(), "text/html")];
}

// stored calls work with the tab's storage. It returns null if the browser stores nothing for this
// site.
export function stored(work) {
  try {
    return work(sessionStorage);
  } catch {
    return null;
  }
}

// isPlain reports whether a click is for this page: others open a tab or a window.
export const isPlain = (event) => event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;

// The names of the buttons of a post with their counts: to do it, to undo it, and to log in for it.
const names = {
  reply: [(n) => tn(n, "Reply, {n} reply", "Reply, {n} replies")],
  repost: [
    (n) => tn(n, "Repost, {n} repost", "Repost, {n} reposts"),
    (n) => tn(n, "Undo repost, {n} repost", "Undo repost, {n} reposts"),
    (n) => tn(n, "Log in to repost, {n} repost", "Log in to repost, {n} reposts"),
  ],
  like: [
    (n) => tn(n, "Like, {n} like", "Like, {n} likes"),
    (n) => tn(n, "Undo like, {n} like", "Undo like, {n} likes"),
    (n) => tn(n, "Log in to like, {n} like", "Log in to like, {n} likes"),
  ],
};

// setCount sets the count of a post's button and in its name.
export function setCount(post, one, all, n) {
  post.dataset[all] = n;
  const action = post.querySelector(`.post-action.${one}`);
  if (!action) return;
  if (action.lastChild?.nodeType === Node.TEXT_NODE) action.lastChild.remove();
  if (n > 0) action.append(number(n));
  const name = names[one][action.matches(".on") ? 1 : action.matches("a") ? 2 : 0] ?? names[one][0];
  action.setAttribute("aria-label", name(n));
}
