// Pictures open on the page, with their descriptions. Arrow keys, swipes and Escape work as usual.
// Without this script a picture is a link to its file.

import { element, isPlain, t } from "./page.js";

const stroke = { back: "M19 12H5.5M11 6l-6 6 6 6", next: "M5 12h13.500M13 6l6 6-6 6", close: "m6.500 6.500 11 11M17.500 6.500l-11 11" };

function button(name, shape, work) {
  const made = element("button", { type: "button" });
  made.setAttribute("aria-label", name);
  made.innerHTML = `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="${stroke[shape]}"/></svg>`;
  made.addEventListener("click", work);
  return made;
}

document.addEventListener("click", (event) => {
  const link = isPlain(event) && event.target.closest(".pictures a");
  if (!link || !HTMLDialogElement) return;
  event.preventDefault();
  open([...link.closest(".pictures").querySelectorAll("a")], link);
});

function open(links, first) {
  const count = element("span");
  const text = element("p", { dir: "auto" });
  const row = element("div", { className: "row", tabIndex: 0, role: "group", ariaLabel: t("Pictures") });
  let at = links.indexOf(first);
  const dialog = element("dialog", { className: "lightbox" },
    element("header", {}, button(t("Close"), "close", () => dialog.close()), count), row, text);
  dialog.setAttribute("aria-label", t("Picture"));
  for (const link of links) {
    const small = link.querySelector("img");
    row.append(element("figure", {}, element("img", { src: small.currentSrc || small.src, alt: small.alt, draggable: false })));
  }
  const show = (n) => {
    at = n;
    count.textContent = links.length > 1 ? t("{n} of {all}", { n: at + 1, all: links.length }) : "";
    text.textContent = links[at].parentElement.querySelector(".alt p")?.textContent ?? "";
    text.hidden = text.textContent === "";
    for (const near of [at, at + 1, at - 1]) {
      const image = row.children[near]?.querySelector("img");
      if (image) image.src = links[near].href; // the small one stays until it has loaded
    }
    for (const [i, step] of steps.entries()) step.hidden = i === 0 ? at === 0 : at === links.length - 1;
  };
  const go = (n) => {
    if (n < 0 || n >= links.length) return;
    row.scrollTo({ left: n * row.clientWidth, behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth" });
    show(n);
  };
  const steps = [button(t("Previous picture"), "back", () => go(at - 1)), button(t("Next picture"), "next", () => go(at + 1))];
  for (const step of steps) step.classList.add("step");
  dialog.append(...steps);
  row.addEventListener("scrollend", () => {
    const n = Math.round(Math.abs(row.scrollLeft) / row.clientWidth);
    if (n !== at) show(n);
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") go(at - 1);
    else if (event.key === "ArrowRight") go(at + 1);
    else return;
    event.preventDefault();
  });
  row.addEventListener("click", (event) => {
    if (event.target.tagName !== "IMG") dialog.close();
  });
  // The back button closes it, too.
  const back = () => dialog.close();
  history.pushState("lightbox", "");
  addEventListener("popstate", back);
  dialog.addEventListener("close", () => {
    removeEventListener("popstate", back);
    if (history.state === "lightbox") history.back();
    dialog.remove();
    links[at].focus({ preventScroll: true });
  });
  document.body.append(dialog);
  dialog.showModal();
  row.scrollLeft = at * row.clientWidth;
  show(at);
}
