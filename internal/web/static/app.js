// Everything works without scripts; they only add conveniences.

import { announce, element, enhance, inserted, isLoggedIn, isPlain, lang, load, noConnection, problem, refusal, setCount, t, tn } from "./page.js";

// Times are shown in the reader's time zone, recent ones as how long ago.
const relative = new Intl.RelativeTimeFormat(lang, { numeric: "auto" });
const locale = lang === "en" ? "en-GB" : lang; // which formats dates like the server
const day = (time) => time.toLocaleDateString(locale, { day: "numeric", month: "short", year: "numeric" }).replace("Sept", "Sep");
const absolute = (time) => `${day(time)}, ${time.toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit" })}`;
const units = [["minute", 60], ["hour", 3600], ["day", 86400]];

function showTime(time) {
  const then = new Date(time.dateTime);
  const ago = (Date.now() - then) / 1000;
  const exact = time.dataset.exact !== undefined;
  time.title = exact ? "" : absolute(then);
  let text = exact ? absolute(then) : day(then);
  if (exact) {
    // keep the time as is
  } else if (ago < 45) {
    text = t("just now");
  } else if (ago < 7 * 86400) {
    const [unit, length] = units.findLast(([, length]) => ago >= length) ?? units[0];
    text = relative.format(-Math.max(1, Math.round(ago / length)), unit);
  }
  if (time.textContent !== text) time.textContent = text;
}
enhance("time[datetime]", showTime);
// A page can stay open for hours.
const showNow = () => document.hidden || document.querySelectorAll("time[datetime]").forEach(showTime);
setInterval(showNow, 60000);
document.addEventListener("visibilitychange", showNow);

// What has just happened is announced, too.
const told = document.querySelector(".toast.told > span");
if (told) setTimeout(() => announce(told.textContent.trim()), 100);

// After a reply that was sent in place, the counts and the message come from the page in the
// response.
document.addEventListener("replied", ({ detail: page }) => {
  for (const now of page.querySelectorAll(".post[data-id]")) {
    for (const old of document.querySelectorAll(`.post[data-id="${CSS.escape(now.dataset.id)}"]`)) replacePost(old, now);
  }
  showTold(page);
});

// showTold shows and announces what has just happened according to another page.
function showTold(page) {
  const now = page.querySelector(".toast.told");
  if (!now) return;
  const toast = document.importNode(now, true);
  const back = toast.querySelector("[name=back]"); // of the form that undoes it
  if (back) back.value = location.pathname + location.search;
  document.querySelector(".toast.told")?.remove();
  document.body.append(toast);
  announce(toast.querySelector("span").textContent.trim());
}

// A form is sent once, however often its button is pressed. After a while it can be sent again, by
// a user who does not want to wait any longer.
document.addEventListener("submit", (event) => {
  const form = event.target;
  // Below a post, another button may be pressed in the meantime.
  const sent = form.matches(".post-actions") ? (event.submitter?.formAction ?? "") : "yes";
  if (form.dataset.sent === sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = sent;
  const button = event.submitter;
  // Other listeners may still prevent the submission.
  setTimeout(() => !event.defaultPrevented && button?.setAttribute("aria-busy", "true"));
  setTimeout(() => {
    delete form.dataset.sent;
    button?.removeAttribute("aria-busy");
  }, 5000);
  if (form.matches(".post-actions")) react(event);
  if (form.matches(".follow") && followed(form.action) && !form.closest(".profile")) {
    event.preventDefault();
    follow(form.action, button).finally(() => delete form.dataset.sent);
  }
});
addEventListener("pageshow", (event) => {
  for (const form of document.forms) delete form.dataset.sent;
  for (const button of document.querySelectorAll('button[aria-busy="true"]')) button.removeAttribute("aria-busy");
  if (event.persisted && isLoggedIn) renew();
});

// renew reloads a page that the back button restores from the cache: its session may have ended. If
// the session is the same, what was typed and what was added stay; drafts of posts are kept in any
// case.
async function renew() {
  const boxes = document.querySelectorAll('form:not([data-composer]) textarea, form[action$="/edit"] textarea');
  const typed = [...boxes].some((box) => box.value !== box.defaultValue);
  if (typed || pages || document.querySelector(".thumbs li")) {
    document.body.style.visibility = "hidden"; // not display: the page must keep its height, and so its place
    try {
      const [, page] = await load(location.href, { cache: "no-store" });
      if (page.body.dataset.viewer === document.body.dataset.viewer) {
        document.body.style.visibility = "";
        return;
      }
    } catch {
      // without a connection the session is unknown
    }
  }
  location.reload();
}

// The buttons below a post, with the actions that undo them.
const actions = {
  like: ["unlike", t("Liked")],
  unlike: ["like", t("Like removed")],
  repost: ["unrepost", t("Reposted")],
  unrepost: ["repost", t("Repost removed")],
  bookmark: ["unbookmark", t("Bookmarked")],
  unbookmark: ["bookmark", t("Bookmark removed")],
};
const nameOf = (address) => new URL(address).pathname.split("/").pop();

// react likes, reposts or bookmarks in place: it updates the button at once, and again from the
// page in the response. Requests for one post are sent one after the other, so that the last
// response is the newest.
const last = new Map();
function react(event) {
  const button = event.submitter;
  const post = event.target.closest(".post");
  const address = button?.formAction;
  if (button?.matches(".unfollow")) {
    event.preventDefault();
    delete event.target.dataset.sent;
    const menu = button.closest("details");
    menu.open = false;
    menu.querySelector("summary").focus({ preventScroll: true });
    follow(address, button, showTold); // visibly: the post stays as it is
    return;
  }
  if (!post || !address || !actions[nameOf(address)]) return; // left to the browser
  event.preventDefault();
  const id = post.dataset.id;
  const body = new URLSearchParams(new FormData(event.target, button));
  const copies = [...document.querySelectorAll(`.post[data-id="${CSS.escape(id)}"]`)];
  for (const copy of copies) toggle(copy, address);
  delete event.target.dataset.sent; // the button has been replaced
  last.set(id, (last.get(id) ?? Promise.resolve()).then(() => press(id, address, body)));
}

// toggle turns the button with an address into the one that undoes it.
function toggle(post, address) {
  const name = nameOf(address);
  const button = [...post.querySelectorAll("button.post-action")].find((one) => one.formAction === address);
  if (!button) return;
  const [undo] = actions[name];
  const on = button.classList.toggle("on");
  button.setAttribute("formaction", button.getAttribute("formaction").replace(/\w+$/, undo));
  const count = button.matches(".like") ? "like" : button.matches(".repost") ? "repost" : "";
  if (!count) button.setAttribute("aria-label", on ? t("Remove bookmark") : t("Bookmark"));
  else setCount(post, count, `${count}s`, Math.max(0, Number(post.dataset[`${count}s`]) + (on ? 1 : -1)));
}

async function press(id, address, body) {
  const name = nameOf(address);
  const same = `.post[data-id="${CSS.escape(id)}"]`;
  const undo = address.replace(/\w+$/, actions[name][0]);
  const back = (text) => {
    for (const post of document.querySelectorAll(same)) toggle(post, undo);
    problem(text);
  };
  try {
    let [response, page] = await load(address, { method: "POST", body, keepalive: true }); // even if the page is left
    const limited = response.status === 429;
    if (limited && !response.redirected) return back(refusal(page));
    // The page in the response may lack the post because newer posts have filled it, or
    // may itself have been refused by a limit; then load the post's own page.
    if ((response.ok || limited) && !page.querySelector(same) && page.body.classList.contains("in")) {
      [response, page] = await load(address.replace(/\/\w+$/, ""));
    }
    const now = page.querySelector(same);
    if (!response.ok || !now) {
      location.href = response.url; // the log-in, or an error page
      return;
    }
    for (const old of document.querySelectorAll(same)) replacePost(old, now);
    announce(actions[name][1]);
  } catch {
    back(noConnection);
  }
}

// replacePost takes the buttons and counts from a newer copy of a post. The focus, which may be
// elsewhere by now, and an open menu stay.
function replacePost(old, now) {
  const of = (post) => [...post.querySelectorAll(":scope > div > .post-actions > .post-action:not(.more-link)")];
  const buttons = of(now);
  for (const name of ["replies", "reposts", "likes"]) old.dataset[name] = now.dataset[name] ?? "0";
  for (const [i, had] of of(old).entries()) {
    const focused = had === document.activeElement;
    if (!buttons[i] || had.outerHTML === buttons[i].outerHTML) continue;
    const copy = document.importNode(buttons[i], true);
    had.replaceWith(copy);
    if (focused) copy.focus({ preventScroll: true });
  }
}

// followed returns the path of the person or tag that is followed or unfollowed at an address.
const followed = (address) => new URL(address).pathname.match(/^(\/(?:u|tag)\/[^/]+)\/(?:un)?follow$/)?.[1];

// follow follows or unfollows a person or a tag in place: it takes the buttons from the page of the
// person. tell reports the result, with that page.
async function follow(address, pressed, tell = (page, text) => announce(text)) {
  const path = followed(address);
  pressed.setAttribute("aria-busy", "true");
  try {
    const [response, page] = await load(address, { method: "POST", body: new URLSearchParams({ back: path }) });
    const now = [...page.querySelectorAll("form.follow")].find((form) => followed(form.action) === path);
    if (response.status === 429) {
      problem(refusal(page));
    } else if (!response.ok || !now) {
      location.href = response.url; // the log-in, or an error page
    } else {
      const follows = now.action.endsWith("/unfollow");
      for (const old of document.querySelectorAll("form.follow")) {
        if (followed(old.action) === path) replaceFollow(old, now);
      }
      for (const menu of document.querySelectorAll(`.more-link[href^="${CSS.escape(path)}/"]`)) menu.toggleAttribute("data-unfollow", follows);
      for (const button of document.querySelectorAll(".unfollow")) {
        if (followed(button.formAction) === path) button.hidden = !follows;
      }
      tell(page, follows ? t("Following") : t("Unfollowed"));
      document.dispatchEvent(new CustomEvent("followed", { detail: follows ? 1 : -1 }));
    }
  } catch {
    problem(noConnection);
  }
  pressed.removeAttribute("aria-busy");
}

// Older posts are added below the list, so that the place is kept, also when the back button leads
// here again.
let pages = 0; // that were added
document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".feed + .turn a[rel=next]");
  if (!link || !isPlain(event)) return;
  event.preventDefault();
  addOlder(link);
});

async function addOlder(link) {
  if (link.ariaBusy) return;
  link.ariaBusy = "true";
  try {
    const [response, page] = await load(link.href);
    const more = [...page.querySelectorAll("main .feed")].at(-1);
    if (!response.ok || !more) throw new Error(response.statusText);
    const list = link.parentElement.previousElementSibling;
    const copy = document.importNode(more, true);
    inserted(copy);
    const added = [...copy.children];
    list.append(...added);
    const next = more.nextElementSibling?.querySelector("a[rel=next]");
    if (next) link.setAttribute("href", next.getAttribute("href"));
    else link.parentElement.remove();
    link.ariaBusy = null;
    pages++;
    announce(tn(added.length, "{n} older post", "{n} older posts"));
    added[0].tabIndex = -1;
    added[0].focus({ preventScroll: true });
    document.dispatchEvent(new Event("older"));
  } catch {
    location.href = link.href;
  }
}

addEventListener("pagehide", () => {
  if (pages === 0) return;
  history.scrollRestoration = "manual"; // the browser would scroll before the list is as long again
  history.replaceState({ pages, y: scrollY }, "");
});
if (history.state?.pages) returnTo(history.state);
async function returnTo({ pages: all, y }) {
  for (let link; pages < all && (link = document.querySelector(".feed + .turn a[rel=next]"));) {
    const before = pages;
    await addOlder(link);
    if (pages === before) return; // the browser opens the next page instead
  }
  scrollTo({ top: y, behavior: "instant" });
}

// The first steps count the follows.
document.addEventListener("followed", (event) => {
  const bar = document.querySelector(".first-steps progress");
  if (!bar) return;
  bar.value += event.detail;
  document.querySelector("[data-follows]").textContent = bar.value;
  document.querySelector("[data-enough]").hidden = bar.value < bar.max;
});

// replaceFollow gives a form the button of a newer one, in its own size.
function replaceFollow(old, now) {
  const had = old.querySelector("button");
  const button = document.importNode(now.querySelector("button"), true);
  old.action = now.getAttribute("action");
  const follows = old.action.endsWith("/unfollow");
  if (had.matches(".round")) {
    const icon = had.querySelector("svg").cloneNode(true);
    icon.querySelector("use").setAttribute("href", follows ? "#i-check" : "#i-plus");
    button.className = follows ? "soft round" : "round";
    button.title = follows ? t("Unfollow") : t("Follow");
    button.replaceChildren(icon);
  } else if (had.matches(".small-button")) {
    button.classList.add("small-button");
  }
  const focused = had === document.activeElement;
  // The button that was just pressed says "Following", although the pointer is on it.
  if (had.matches(":hover") || focused) button.classList.add("fresh");
  for (const type of ["pointerleave", "blur"]) button.addEventListener(type, () => button.classList.remove("fresh"));
  had.replaceWith(button);
  if (focused) button.focus({ preventScroll: true });
}

// The menu of a post is filled in when it is first opened.
document.addEventListener("click", (event) => {
  const link = event.target.closest(".more-link");
  const menus = document.getElementById("post-menus");
  if (!link || !menus || !isPlain(event)) return;
  event.preventDefault();
  for (const menu of document.querySelectorAll(closing)) menu.open = false;
  openMenu(link, menus.content);
});

function openMenu(link, menus) {
  const path = link.pathname.replace(/\/more$/, "");
  const [, person, id] = path.match(/^(.*)\/(\d+)$/);
  const name = decodeURIComponent(person.split("/").pop());
  const own = menus.children[1] && name === document.body.dataset.viewer;
  const items = document.importNode(menus.children[own ? 1 : 0], true);
  const fill = (text) => text.replace("/u/-/0", path).replace("/u/-", person).replace(/\b(post%3A)0$/, `$1${id}`);
  for (const attribute of ["href", "formaction"]) {
    for (const one of items.querySelectorAll(`[${attribute}]:not(use)`)) one.setAttribute(attribute, fill(one.getAttribute(attribute)));
  }
  for (const one of items.querySelectorAll("a, button")) one.lastChild.data = one.lastChild.data.replace("@-", `@${name}`);
  const unfollow = items.querySelector(".unfollow");
  if (unfollow) unfollow.hidden = !("unfollow" in link.dataset);
  const summary = element("summary", { className: link.className });
  summary.setAttribute("aria-label", link.getAttribute("aria-label"));
  summary.append(...link.childNodes);
  const menu = element("details", { className: "menu", open: true }, summary, items);
  link.replaceWith(menu);
  summary.focus({ preventScroll: true });
  menu.addEventListener("toggle", () => menu.open && keepInView(items));
}

// keepInView opens a menu upwards if there is no room below.
function keepInView(items) {
  items.classList.remove("up");
  items.classList.toggle("up", items.getBoundingClientRect().bottom > innerHeight);
}

// Copy buttons for addresses, if the browser allows it.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-copy]");
  if (!link || !navigator.clipboard || !isPlain(event)) return;
  event.preventDefault();
  const address = link.href ?? link.dataset.copy;
  try {
    await navigator.clipboard.writeText(address);
  } catch {
    if (link.href) location.href = link.href;
    return;
  }
  link.closest("details.menu")?.removeAttribute("open");
  problem(t("Copied"));
});

// A click anywhere on a post opens its page, except on elements with another function.
document.documentElement.classList.add("opens");
document.addEventListener("click", (event) => {
  const post = event.target.closest?.(".post");
  if (!post || event.defaultPrevented || event.target.closest("a, button, summary, details, label, input, textarea, video, form")) return;
  if (post.closest(".still, .main") || String(getSelection())) return;
  const link = post.querySelector(".by .when");
  if (!link) return;
  if (isPlain(event)) link.click();
  else if (event.ctrlKey || event.metaKey) open(link.href);
});
document.addEventListener("auxclick", (event) => {
  const link = event.button === 1 && !event.target.closest("a, button, summary") && event.target.closest(".opens .post")?.querySelector(".by .when");
  if (link) open(link.href);
});

// On the page of a post, the post itself is scrolled into view, not what it replies to.
if (!location.hash && document.querySelector(".above") && performance.getEntriesByType("navigation")[0]?.type === "navigate") {
  document.querySelector(".main .post")?.scrollIntoView({ block: "start", behavior: "instant" });
}

// A row of tabs that is wider than the screen is scrolled to the current one.
document.querySelector('.tabs [aria-current]:not([aria-current="false"])')?.scrollIntoView({ block: "nearest", inline: "center" });

// Menus and picture descriptions close when something else is used.
const closing = "details.menu[open], details.alt[open]";
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(closing)) {
    if (event.target.isConnected && !menu.contains(event.target)) menu.open = false; // a link that became a menu is no longer connected
  }
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && (event.target.closest?.(closing) ?? document.querySelector("details.alt[open]"));
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

if (isLoggedIn) navigator.serviceWorker?.register("/sw.js").catch(() => {});
