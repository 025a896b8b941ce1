// Shows what happens while a page is open: new posts, counts, notifications. The page is complete
// without it.

import { announce, inserted, noConnection, problem, setCount, t, tn } from "./page.js";

const main = document.getElementById("main");
const badge = document.querySelector("[data-unread]");
const title = Number(badge?.dataset.unread) ? document.title.replace(/^\S+ /, "") : document.title;
const on = main?.dataset.live ?? "";
const maxPosts = 100; // the maximum for which the server counts

let source, retry;
let since = main?.dataset.since ?? "";
const news = new Set(); // IDs of new posts that are not shown

const posts = () => [...document.querySelectorAll(".post[data-id]")];
const isThread = on.startsWith("thread");
const list = (root) => root?.querySelector(isThread ? ".below" : ".single > .feed"); // not the list with a pinned post
const further = (root) => root.querySelector("a[rel=next]")?.parentElement;

function connect() {
  if (source || document.hidden || (!badge && !on && posts().length === 0)) return;
  const ids = [...new Set(posts().map((post) => post.dataset.id))].slice(0, maxPosts);
  source = new EventSource(`/live?${new URLSearchParams({ on, since, ids: ids.join(",") })}`);
  source.addEventListener("posts", (event) => {
    since = event.lastEventId;
    for (const id of event.data.split(",")) {
      // A page can contain a post before its event arrives, and later pages
      // contain older posts.
      const shown = posts().map((post) => Number(post.dataset.id));
      if (shown.includes(Number(id)) || (shown.length > 0 && Number(id) < Math.min(...shown))) continue;
      news.add(id);
    }
    offer();
  });
  source.addEventListener("reset", (event) => {
    since = event.lastEventId;
    news.add("more");
    offer();
  });
  source.addEventListener("counts", (event) => {
    for (const one of event.data.split(",")) count(one.split(":"));
  });
  source.addEventListener("unread", (event) => unread(Number(event.data)));
  source.addEventListener("error", () => {
    // The browser reconnects by itself, except after a response that is not a stream.
    if (source?.readyState !== EventSource.CLOSED) return;
    disconnect();
    retry = setTimeout(connect, 5000 + 10000 * Math.random());
  });
}

// Browsers open only a few connections to a site: hidden pages need none.
function disconnect() {
  clearTimeout(retry);
  source?.close();
  source = undefined;
}

// offer shows a link to what is new.
function offer() {
  if (news.size === 0 || !main) return;
  let line = document.getElementById("new-posts");
  if (!line) {
    line = document.createElement("p");
    line.id = "new-posts";
    line.className = "turn";
    line.setAttribute("aria-live", "polite");
    const link = document.createElement("a");
    link.className = "button";
    link.href = location.pathname;
    link.addEventListener("click", load);
    line.append(link);
    const place = list(main);
    if (place) place.before(line);
    else (main.querySelector(".single") ?? main).append(line);
  }
  line.firstChild.textContent = news.has("more") ? t("Load new posts")
    : isThread ? tn(news.size, "{n} new reply", "{n} new replies") : tn(news.size, "{n} new post", "{n} new posts");
}

// load takes the list from the current version of the page.
async function load(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  let response, text;
  try {
    response = await fetch(location.pathname, { cache: "no-store" });
    text = await response.text();
  } catch {
    problem(noConnection);
    return;
  }
  if (response.status >= 500) { // this page may have pictures that were not sent
    problem(t("That didn't work. Please try again in a moment."));
    return;
  }
  try {
    const page = new DOMParser().parseFromString(text, "text/html");
    const newer = list(page.querySelector("main"));
    const old = list(main);
    if (!response.ok || !newer) throw new Error(response.statusText);
    const now = document.importNode(newer, true);
    if (old) old.replaceWith(now);
    else document.getElementById("new-posts").after(now);
    const next = further(page);
    further(main)?.remove();
    if (next) now.after(document.importNode(next, true));
    since = page.getElementById("main").dataset.since ?? since;
    inserted(now);
    announce(t("New posts loaded"));
    news.clear();
    document.getElementById("new-posts")?.remove();
    now.tabIndex = -1;
    now.focus({ preventScroll: true });
    if (now.getBoundingClientRect().top < 0) now.scrollIntoView();
    disconnect();
    connect();
  } catch {
    location.reload();
  }
}

// count updates the counts of a post: ID, replies, reposts, likes.
function count([id, ...numbers]) {
  for (const post of document.querySelectorAll(`.post[data-id="${CSS.escape(id)}"]`)) {
    if (numbers[0] === "gone") {
      remove(post);
      continue;
    }
    for (const [i, [all, one]] of [["replies", "reply"], ["reposts", "repost"], ["likes", "like"]].entries()) {
      if (post.dataset[all] !== numbers[i]) setCount(post, one, all, Number(numbers[i]));
    }
  }
}

// remove removes a deleted or hidden post, except for moderators who decide about it.
function remove(post) {
  if (location.pathname.startsWith("/moderation")) return;
  const stub = document.createElement("p");
  stub.className = "stub";
  stub.textContent = t("This post is unavailable.");
  post.replaceChildren(stub);
  post.classList.add("gone");
}

function unread(number) {
  if (!badge) return;
  const text = badge.querySelector("[data-unread-text]") ?? badge;
  badge.dataset.unread = number;
  badge.hidden = number === 0;
  text.textContent = number > 99 ? "99+" : number;
  document.title = number ? `(${text.textContent}) ${title}` : title;
}

document.addEventListener("older", () => {
  disconnect();
  connect();
});
document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
addEventListener("pagehide", disconnect);
addEventListener("pageshow", connect);
connect();
