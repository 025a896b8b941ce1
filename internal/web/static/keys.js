// Keys for those who read with the keyboard. They can be turned off in the list of
// keys.

const keys = [
  ["j", "Next post", () => step(1)],
  ["k", "Previous post", () => step(-1)],
  ["l", "Like the post", () => press("button.post-action.like")],
  ["r", "Reply to the post", () => press("a.post-action.reply")],
  ["n", "Write a post", write],
  ["/", "Search", find],
  ["?", "Show this list", showKeys],
];

let current = null; // the post that the keys are for
document.addEventListener("focusin", (event) => {
  current = event.target.closest(".post") ?? current;
});

function step(by) {
  const posts = [...document.querySelectorAll(".post")];
  if (posts.length === 0) return;
  let at = posts.indexOf(current?.isConnected ? current : null);
  if (at < 0 && by < 0) return;
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
  if (!box) {
    location.href = document.body.dataset.viewer === undefined ? "/login" : "/home#status";
    return;
  }
  box.focus();
  box.scrollIntoView({ block: "center" });
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
    dialog = document.createElement("dialog");
    dialog.id = "keys";
    dialog.setAttribute("aria-labelledby", "keys-title");
    const title = document.createElement("h2");
    title.id = "keys-title";
    title.textContent = "Keyboard shortcuts";
    const rows = document.createElement("dl");
    for (const [key, what] of [...keys, ["Ctrl Enter", "Publish what you write"]]) {
      const dt = document.createElement("dt");
      const dd = document.createElement("dd");
      for (const part of key.split(" ")) {
        const kbd = document.createElement("kbd");
        kbd.textContent = part;
        dt.append(kbd, " ");
      }
      dd.textContent = what;
      rows.append(dt, dd);
    }
    const check = document.createElement("label");
    check.className = "check";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = !off.on;
    box.addEventListener("change", () => (off.on = !box.checked));
    check.append(box, "Use single keys");
    const form = document.createElement("form");
    form.method = "dialog";
    const button = document.createElement("button");
    button.className = "soft";
    button.textContent = "Close";
    button.autofocus = true;
    form.append(button);
    dialog.append(title, rows, check, form);
    dialog.addEventListener("close", () => delete form.dataset.sent);
    document.body.append(dialog);
  }
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat && event.key !== "j" && event.key !== "k") return;
  if (event.target.closest("input, textarea, select, [contenteditable], dialog[open]")) return;
  if (off.on && event.key !== "?") return;
  const row = keys.find(([key]) => key === event.key);
  if (!row) return;
  event.preventDefault();
  row[2]();
});

if (location.hash === "#status") write();
