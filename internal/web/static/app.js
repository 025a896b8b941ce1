// Everything works without scripts; they only make a few things nicer.

// One polite live region says what has changed, whichever script changed it.
const region = document.getElementById("live-region");
document.addEventListener("announce", (event) => {
  if (!region) return;
  // The same text twice is a change too.
  region.textContent = region.textContent === event.detail ? `${event.detail}\u00a0` : event.detail;
});
function announce(text) {
  document.dispatchEvent(new CustomEvent("announce", { detail: text }));
}
// What did not work is shown as well: nothing else on the page has changed.
let shown = 0;
document.addEventListener("problem", (event) => {
  announce(event.detail);
  region?.classList.replace("unseen", "toast");
  clearTimeout(shown);
  shown = setTimeout(() => region?.classList.replace("toast", "unseen"), 8000);
});
function problem(text) {
  document.dispatchEvent(new CustomEvent("problem", { detail: text }));
}

// Times in the reader's own zone, recent ones as what has passed since. The site is in
// English, and writes dates as the server does.
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const day = (time) => `${time.getDate()} ${time.toLocaleString("en-US", { month: "short" })} ${time.getFullYear()}`;
const absolute = (time) => `${day(time)}, ${time.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;
const units = [["minute", 60], ["hour", 3600], ["day", 86400]];

function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const then = new Date(time.dateTime);
    const ago = (Date.now() - then) / 1000;
    const exact = time.dataset.exact !== undefined;
    time.title = exact ? "" : absolute(then);
    let text = exact ? absolute(then) : day(then);
    if (exact) {
      // as it is
    } else if (ago < 45) {
      text = "just now";
    } else if (ago < 7 * 86400) {
      const [unit, length] = units.findLast(([, length]) => ago >= length) ?? units[0];
      text = relative.format(-Math.max(1, Math.round(ago / length)), unit);
    }
    if (time.textContent !== text) time.textContent = text;
  }
}
showTimes(document);
// A page can stay open for hours.
const showNow = () => document.hidden || showTimes(document);
setInterval(showNow, 60000);
document.addEventListener("visibilitychange", showNow);
document.addEventListener("inserted", (event) => showTimes(event.detail));

// A form is sent once, however often its button is pressed; after a while again,
// for a user who does not wait any longer.
document.addEventListener("submit", (event) => {
  const form = event.target;
  // Of the buttons below a post, another one may be pressed meanwhile.
  const sent = form.matches(".post-actions") ? (event.submitter?.formAction ?? "") : "yes";
  if (form.dataset.sent === sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = sent;
  setTimeout(() => delete form.dataset.sent, 5000);
  if (form.matches(".post-actions")) react(event);
  if (followed(form) && !form.closest(".profile, .title-row, .first-steps")) {
    event.preventDefault();
    follow(form);
  }
});
addEventListener("pageshow", (event) => {
  for (const form of document.forms) delete form.dataset.sent;
  if (event.persisted && document.body.classList.contains("in")) renew();
});

// renew loads a page again that the back button brings back whole: it may be of a session that has
// ended. What was typed, and pictures that were added, stay if the session is the same; the drafts of
// posts are kept anyway.
async function renew() {
  const boxes = document.querySelectorAll('form:not([data-composer]) textarea, form[action$="/edit"] textarea');
  const typed = [...boxes].some((box) => box.value !== box.defaultValue);
  if (typed || document.querySelector(".thumbs li")) {
    document.body.hidden = true;
    try {
      const [, page] = await load(location.href, { cache: "no-store" });
      if (page.body.dataset.viewer === document.body.dataset.viewer) {
        document.body.hidden = false;
        return;
      }
    } catch {
      // without a connection the session is not known
    }
  }
  location.reload();
}

// What the buttons below a post have done.
const done = {
  like: "Liked", unlike: "Like removed", repost: "Reposted", unrepost: "Repost removed",
  bookmark: "Bookmarked", unbookmark: "Bookmark removed",
};

// react likes, reposts or bookmarks in place: it takes the post from the page that
// answers. Requests for one post follow each other, so that the last answer is the newest.
const last = new WeakMap();
function react(event) {
  const button = event.submitter;
  const form = event.target;
  const post = form.closest(".post");
  const name = button && new URL(button.formAction).pathname.split("/").pop();
  if (!post || !done[name]) return; // the browser sends it
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, button));
  last.set(post, (last.get(post) ?? Promise.resolve()).then(() => press(post, form, button, body)));
}

async function press(post, form, button, body) {
  const name = new URL(button.formAction).pathname.split("/").pop();
  const same = `.post[data-id="${CSS.escape(post.dataset.id)}"]`;
  try {
    let [response, page] = await load(button.formAction, { method: "POST", body });
    const limited = response.status === 429;
    if (limited && !response.redirected) {
      problem([...page.querySelectorAll(".error h1, .error h1 + p")].map((text) => text.textContent).join(". ") || "Please try again later.");
      delete form.dataset.sent;
      return;
    }
    // A page that newer posts have filled meanwhile lacks it, or is limited itself; its own has it.
    if ((response.ok || limited) && !page.querySelector(same) && page.body.classList.contains("in")) {
      [response, page] = await load(button.formAction.replace(/\/\w+$/, ""));
    }
    const now = page.querySelector(same);
    if (!response.ok || !now) {
      location.href = response.url; // the log-in, or what went wrong
      return;
    }
    for (const old of document.querySelectorAll(same)) replacePost(old, now);
    announce(done[name]);
  } catch {
    problem("That didn't work. Check your connection and try again.");
    delete form.dataset.sent;
  }
}

// followed is the path of the person that a form follows or unfollows.
const followed = (form) => form.matches(".follow") && new URL(form.action).pathname.match(/^(\/u\/[^/]+)\/(un)?follow$/)?.[1];

// follow follows a person in a list, or unfollows, in place: it takes the button from the person's page.
async function follow(form) {
  const path = followed(form);
  try {
    const [response, page] = await load(form.action, { method: "POST", body: new URLSearchParams({ back: path }) });
    const now = [...page.querySelectorAll("form.follow")].find((other) => followed(other) === path);
    if (response.status === 429) {
      problem([...page.querySelectorAll(".error h1, .error h1 + p")].map((text) => text.textContent).join(". ") || "Please try again later.");
    } else if (!response.ok || !now) {
      location.href = response.url; // the log-in, or what went wrong
    } else {
      for (const old of document.querySelectorAll("form.follow")) {
        if (followed(old) === path) replaceFollow(old, now);
      }
      announce(now.action.endsWith("/unfollow") ? "Following" : "Unfollowed");
    }
  } catch {
    problem("That didn't work. Check your connection and try again.");
  }
  delete form.dataset.sent;
}

// replaceFollow gives a form the button of a newer one, in its own size.
function replaceFollow(old, now) {
  const had = old.querySelector("button");
  const button = document.importNode(now.querySelector("button"), true);
  old.action = now.getAttribute("action");
  if (had.matches(".round")) {
    const follows = old.action.endsWith("/unfollow");
    const icon = had.querySelector("svg").cloneNode(true);
    icon.querySelector("use").setAttribute("href", follows ? "#i-check" : "#i-plus");
    button.className = follows ? "soft round" : "round";
    button.title = follows ? "Unfollow" : "Follow";
    button.replaceChildren(icon);
  }
  const focused = had === document.activeElement;
  had.replaceWith(button);
  if (focused) button.focus({ preventScroll: true });
}

async function load(address, request) {
  const response = await fetch(address, request);
  return [response, new DOMParser().parseFromString(await response.text(), "text/html")];
}

// replacePost takes the buttons and numbers of a newer copy of a post. The focus stays, which
// may be elsewhere by now.
function replacePost(old, now) {
  const actions = old.querySelector(".post-actions");
  const newer = now.querySelector(".post-actions");
  if (!actions || !newer) return;
  for (const name of ["replies", "reposts", "likes"]) old.dataset[name] = now.dataset[name] ?? "0";
  const copy = document.importNode(newer, true);
  const focused = [...actions.querySelectorAll(".post-action")].indexOf(document.activeElement);
  actions.replaceWith(copy);
  copy.querySelectorAll(".post-action")[focused]?.focus({ preventScroll: true });
}

// The link of a post is copied, where the browser lets scripts do that.
document.addEventListener("click", async (event) => {
  const link = event.target.closest(".post-action.link");
  if (!link || !navigator.clipboard || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  try {
    await navigator.clipboard.writeText(link.href);
  } catch {
    location.href = link.href;
    return;
  }
  announce("Link copied");
  link.classList.add("copied");
  setTimeout(() => link.classList.remove("copied"), 2000);
});

// A row of tabs that is wider than its screen begins at the current one.
document.querySelector('.tabs [aria-current]:not([aria-current="false"])')?.scrollIntoView({ block: "nearest", inline: "center" });

// Menus and descriptions of pictures close when something else is used.
const closing = "details.menu[open], details.alt[open]";
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(closing)) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && (event.target.closest?.(closing) ?? document.querySelector("details.alt[open]"));
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
