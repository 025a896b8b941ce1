// Keyboard shortcuts for reading. They can be turned off in the list of shortcuts.

import { element, isLoggedIn, t } from "./page.js";

const keys = [
  ["j", t("Next post"), () => step(1)],
  ["k", t("Previous post"), () => step(-1)],
  ["o", t("Open the post"), () => press(".by .when")],
  ["l", t("Like the post"), () => press("button.post-action.like")],
  ["t", t("Repost the post"), () => press("button.post-action.repost")],
  ["b", t("Bookmark the post"), () => press("button.post-action.save")],
  ["r", t("Reply to the post"), () => press("a.post-action.reply")],
  ["p", t("Open the author's profile"), () => press(".by a")],
  ["e", t("Open the picture"), () => press(".pictures a")],
  ["m", t("Open the menu of the post"), () => press(".menu > summary, .more-link")],
  ["x", t("Show a sensitive picture"), () => press(".sensitive > summary")],
  [".", t("Show new posts"), () => document.querySelector("#new-posts a")?.click()],
  ["h", t("Go home"), () => (location.href = isLoggedIn ? "/home" : "/")],
  ["i", t("Notifications"), () => (location.href = "/notifications")],
  ["n", t("Write a post"), write],
  ["/", t("Search"), find],
  ["?", t("Show this list"), showKeys],
];

let current = null; // the post that the keys apply to
document.addEventListener("focusin", (event) => {
  current = event.target.closest(".post") ?? current;
});

function step(by) {
  const posts = [...document.querySelectorAll(".post")];
  if (posts.length === 0) return;
  let at = posts.indexOf(current?.isConnected ? current : null);
  if (at < 0 && by > 0) at = posts.findIndex((post) => post.getBoundingClientRect().bottom > innerHeight / 4) - 1; // the first in view
  if (at < 0 && by < 0) return;
  if (at + by === posts.length) document.querySelector(".feed + .turn a[rel=next]")?.click(); // moves the focus to the first of them
  at = Math.min(Math.max(at + by, 0), posts.length - 1);
  current = posts[at];
  current.tabIndex = -1;
  current.focus({ preventScroll: true });
  current.scrollIntoView({ block: "nearest" });
}

function press(selector) {
  const post = current?.isConnected ? current : null;
  if (!post) {
    step(1);
    return;
  }
  post.querySelector(selector)?.click();
}

function find() {
  const box = document.getElementById("q") ?? document.getElementById("find");
  if (!box?.checkVisibility()) {
    location.href = "/search";
    return;
  }
  box.focus();
  box.select();
}

function write() {
  const box = document.getElementById("status");
  const link = document.querySelector(".side a.new");
  if (box) {
    box.focus();
    box.scrollIntoView({ block: "center" });
  } else if (link) {
    link.click();
  } else {
    location.href = "/login";
  }
}

const off = {
  get on() {
    try {
      return localStorage.getItem("keys") === "off";
    } catch {
      return false;
    }
  },
  set on(value) {
    try {
      if (value) localStorage.setItem("keys", "off");
      else localStorage.removeItem("keys");
    } catch {
      // the browser stores nothing for this site
    }
  },
};

let dialog = null;

function showKeys() {
  if (!dialog) {
    const rows = element("dl");
    for (const [key, what] of [...keys, [t("Ctrl+Enter"), t("Publish what you write")]]) {
      rows.append(element("dt", {}, ...key.split(" ").flatMap((part) => [element("kbd", { textContent: part }), " "])), element("dd", { textContent: what }));
    }
    const box = element("input", { type: "checkbox", checked: !off.on });
    box.addEventListener("change", () => (off.on = !box.checked));
    const form = element("form", { method: "dialog" }, element("button", { className: "soft", textContent: t("Close"), autofocus: true }));
    dialog = element("dialog", { id: "keys" }, element("h2", { id: "keys-title", textContent: t("Keyboard shortcuts") }), rows,
      element("label", { className: "check" }, box, t("Use single-key shortcuts")), form);
    dialog.setAttribute("aria-labelledby", "keys-title");
    dialog.addEventListener("close", () => delete form.dataset.sent);
    document.body.append(dialog);
  }
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat && event.key !== "j" && event.key !== "k") return;
  if (event.target.closest("input, textarea, select, [contenteditable], dialog[open]")) return;
  if (off.on && event.key !== "?") return;
  // Enter opens the post that has the focus.
  const row = keys.find(([key]) => key === event.key || (event.key === "Enter" && event.target === current && key === "o"));
  if (!row) return;
  event.preventDefault();
  row[2]();
});

if (location.hash === "#status") write();

const entry = document.querySelector("[data-keys]");
if (entry) {
  entry.hidden = false;
  entry.addEventListener("click", () => {
    entry.closest("details").open = false;
    showKeys();
  });
}
