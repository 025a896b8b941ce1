// The text box for posts: it grows, counts characters, keeps drafts, is submitted by Ctrl+Enter,
// and completes names and tags.
import { completion } from "./completion.js";
import { announce, enhance, problem, stored, t, tn } from "./page.js";

const isEdit = (form) => /edit$/.test(form.action);

// The draft that was sent last is kept until a page reports that it was published: a link or a
// reload can come before the response. If the user returns from a page without a response, the
// draft is shown again.
const unanswered = stored((s) => {
  const name = s.getItem("sent");
  s.removeItem("sent");
  if (name && document.querySelector("[data-published]")) {
    s.removeItem(name);
    return null;
  }
  return performance.getEntriesByType("navigation")[0]?.type === "back_forward" ? name : null;
});
addEventListener("pageshow", (event) => {
  if (event.persisted) stored((s) => s.removeItem("sent"));
});
document.addEventListener("replied", () => stored((s) => {
  s.removeItem(s.getItem("sent"));
  s.removeItem("sent");
}));

enhance("form[data-composer]", compose);

function compose(form) {
  const box = form.querySelector("textarea");
  keepDraft(form, box);
  grow(box);
  count(form, box);
  complete(box);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.querySelector("button:not([type])").click(); // does nothing while pictures are being uploaded
  });
}

// keepDraft restores what was typed on a page that was left.
function keepDraft(form, box) {
  const name = `draft ${document.body.dataset.viewer ?? ""} ${new URL(form.action).pathname}`;
  const kept = stored((s) => s.getItem(name));
  if (kept && (unanswered === name || (box.value === "" && !isEdit(form)))) box.value = kept;
  box.addEventListener("input", () => {
    stored((s) => (box.value.trim() === "" ? s.removeItem(name) : s.setItem(name, box.value)));
  });
  form.addEventListener("submit", (event) => {
    if (navigator.onLine) {
      stored((s) => s.setItem("sent", name));
      return;
    }
    event.preventDefault();
    delete form.dataset.sent;
    problem(t("You're offline. Your draft is kept."));
  });
}

function grow(box) {
  if (CSS.supports("field-sizing", "content")) return;
  const fit = () => {
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + 2}px`;
  };
  box.addEventListener("input", fit);
  fit();
}

// count shows the remaining characters, as people count them, with a ring once there are few.
function count(form, box) {
  const note = form.querySelector("[data-count]");
  const limit = Number(box.dataset.limit);
  if (!note || !limit || !Intl.Segmenter) return;
  const segmenter = new Intl.Segmenter();
  // Newer browsers treat sequences of letters in Indic scripts as one character; the server
  // counts each letter.
  const joined = /[\p{M}\u200d](?=\p{Lo})(?![\u0e33\u0eb3])/gu;
  const length = (text) => [...segmenter.segment(text)].reduce((n, { segment }) => n + 1 + [...segment.matchAll(joined)].length, 0);
  const plain = note.textContent;
  const ring = newRing();
  note.after(ring);
  let said = "";
  const show = () => {
    const left = limit - length(box.value.trim());
    const few = left <= 40;
    note.textContent = !few ? plain : left < 0 ? tn(-left, "{n} too many", "{n} too many") : tn(left, "{n} left", "{n} left");
    note.classList.toggle("unseen", !few);
    note.classList.toggle("problem", left < 0);
    ring.toggleAttribute("hidden", !few);
    ring.classList.toggle("full", left < 0);
    ring.lastChild.setAttribute("stroke-dasharray", `${Math.min(100, 100 - (100 * left) / limit)} 100`);
    const stage = left < 0 ? "over" : left <= 20 ? "close" : "";
    if (stage && stage !== said) announce(note.textContent);
    said = stage;
  };
  box.addEventListener("input", show);
  show();
}

// newRing returns a ring that fills.
function newRing() {
  const of = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const ring = of("svg", { class: "ring", viewBox: "0 0 24 24", "aria-hidden": "true" });
  const circle = { cx: 12, cy: 12, r: 9, pathLength: 100 };
  ring.append(of("circle", circle), of("circle", circle));
  return ring;
}

// complete offers names after "@" and tags after "#" while they are typed.
function complete(box) {
  const token = /(?:^|[^\p{L}\p{N}_@#&/])([@#][\p{L}\p{N}_]{1,50})$/u;
  const typed = () => {
    if (box.selectionStart !== box.selectionEnd) return "";
    return box.value.slice(0, box.selectionStart).match(token)?.[1] ?? "";
  };
  completion(box, {
    typed,
    address: (query) => `/suggest?q=${encodeURIComponent(query)}`,
    take: ({ text }) => {
      const end = box.selectionStart;
      const begin = end - typed().length;
      const space = /^\s/.test(box.value.slice(end)) ? "" : " ";
      box.setRangeText(text + space, begin, end, "end");
      box.dispatchEvent(new Event("input", { bubbles: true }));
      box.focus();
    },
  });
}
