// Forms behind links open in a dialog on the page: a post, a reply, a question.

import { element, inserted, isLoggedIn, isPlain, load, noConnection, problem, t } from "./page.js";

document.addEventListener("click", (event) => {
  const link = isLoggedIn && isPlain(event) && event.target.closest("a[data-dialog], a.post-action.reply, .side a.new");
  if (!link || link.closest("dialog")) return;
  const box = document.getElementById("reply");
  if (link.matches(".reply") && link.closest(".main") && box) return; // the box is on this page
  event.preventDefault();
  show(link.matches(".reply") ? link.href.replace(/#reply$/, "/reply") : link.href, link);
});

export async function show(address, link) {
  link?.closest("details.menu")?.removeAttribute("open");
  const inPlace = link?.matches(".reply") && !document.getElementById("reply"); // a conversation shows the new reply, so it is loaded again
  const title = element("h2", { textContent: link?.textContent.trim().replace(/…$/, "").replace(/^[\d.,]+$/, "") || t("Reply") });
  const close = element("button", { type: "button", className: "soft", textContent: t("Cancel") });
  const body = element("div", { className: "body-of-page" });
  const dialog = element("dialog", {}, element("div", { className: "dialog-bar" }, title, close), body);
  dialog.setAttribute("aria-label", title.textContent);
  body.setAttribute("aria-busy", "true");
  close.addEventListener("click", () => dialog.close());
  // A click outside closes the dialog, unless something was typed in it.
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog && !dialog.querySelector("textarea")?.value) dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    link?.focus({ preventScroll: true });
  });
  document.body.append(dialog);
  dialog.showModal();
  try {
    const [response, page] = await load(address);
    const content = page.querySelector("main .single");
    if (!response.ok || response.redirected || !content) throw new Error(response.statusText);
    const heading = content.querySelector("h1");
    title.textContent = heading?.textContent ?? title.textContent;
    dialog.setAttribute("aria-label", title.textContent);
    heading?.remove();
    // The form leads back to this page.
    for (const back of content.querySelectorAll('input[name="back"]')) back.value = location.pathname + location.search;
    for (const cancel of content.querySelectorAll("a.button.soft")) if (cancel.textContent.trim() === t("Cancel")) cancel.remove();
    body.replaceChildren(...[...content.childNodes].map((node) => document.importNode(node, true)));
    body.removeAttribute("aria-busy");
    inserted(body);
    body.querySelector("textarea, input:not([type=hidden]), button:not(.post-action)")?.focus();
    if (inPlace) body.querySelector("form[data-composer]")?.addEventListener("submit", (event) => reply(event, dialog));
  } catch {
    location.href = address;
  }
}

// reply sends a reply and keeps the place on the page. If anything but a published reply is in the
// response, the form is sent as without this script: a form sent twice publishes one reply.
async function reply(event, dialog) {
  if (event.defaultPrevented) return; // there is no connection, or the form has a question
  event.preventDefault();
  const form = event.target;
  const button = event.submitter;
  button?.setAttribute("aria-busy", "true");
  const retry = (text) => {
    problem(text);
    delete form.dataset.sent;
    button?.removeAttribute("aria-busy");
  };
  try {
    const [response, page] = await load(form.action, { method: "POST", body: new FormData(form) });
    const refused = page.querySelector("form[data-composer] > .problem")?.textContent;
    if (refused && response.status < 500) {
      retry(refused);
      return;
    }
    if (!response.ok || !page.querySelector("[data-published]")) {
      form.submit();
      return;
    }
    dialog.close();
    document.dispatchEvent(new CustomEvent("replied", { detail: page }));
  } catch {
    retry(noConnection);
  }
}
