// The box to write in: it grows, counts, keeps what was typed, is sent by
// Ctrl+Enter, and completes names and tags.

const isEdit = (form) => /edit$/.test(form.action);

// The draft that was sent last is kept until the server has published it, which a cookie reports: a
// link or a reload can come before the answer. Back from a page without an answer, it is shown again.
const unanswered = stored((s) => {
  const name = s.getItem("sent");
  s.removeItem("sent");
  if (name && /(^|; )published=/.test(document.cookie)) {
    document.cookie = "published=; path=/; max-age=0";
    s.removeItem(name);
    return null;
  }
  return performance.getEntriesByType("navigation")[0]?.type === "back_forward" ? name : null;
});
addEventListener("pageshow", (event) => {
  if (event.persisted) stored((s) => s.removeItem("sent"));
});

for (const form of document.querySelectorAll("form[data-composer]")) compose(form);

function announce(text) {
  document.dispatchEvent(new CustomEvent("announce", { detail: text }));
}

function compose(form) {
  const box = form.querySelector("textarea");
  keepDraft(form, box);
  grow(box);
  count(form, box);
  complete(box);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.querySelector("button:not([type])").click(); // which does nothing while pictures are uploaded
  });
}

// keepDraft brings back what was typed on a page that was left.
function keepDraft(form, box) {
  const name = `draft ${document.body.dataset.viewer ?? ""} ${new URL(form.action).pathname}`;
  const kept = stored((s) => s.getItem(name));
  if (kept && (unanswered === name || (box.value === "" && !isEdit(form)))) box.value = kept;
  box.addEventListener("input", () => {
    stored((s) => (box.value.trim() === "" ? s.removeItem(name) : s.setItem(name, box.value)));
  });
  form.addEventListener("submit", () => stored((s) => s.setItem("sent", name)));
}

function stored(work) {
  try {
    return work(sessionStorage);
  } catch {
    return null; // the browser stores nothing for this site
  }
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

// count shows how many characters are left, counted as a person counts them, with a ring: once
// there are few.
function count(form, box) {
  const note = form.querySelector("[data-count]");
  const limit = Number(box.dataset.limit);
  if (!note || !limit || !Intl.Segmenter) return;
  const segmenter = new Intl.Segmenter();
  // Newer browsers take letters of Indic scripts for one character that the server counts each.
  const joined = /[\p{M}\u200d](?=\p{Lo})(?![\u0e33\u0eb3])/gu;
  const length = (text) => [...segmenter.segment(text)].reduce((n, { segment }) => n + 1 + [...segment.matchAll(joined)].length, 0);
  const plain = note.textContent;
  const ring = newRing();
  note.after(ring);
  let said = "";
  const show = () => {
    const left = limit - length(box.value.trim());
    const few = left <= 40;
    note.textContent = !few ? plain : left < 0 ? `${-left} too many` : `${left} left`;
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

// newRing is a ring that fills.
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

// complete offers names after "@" and tags after "#" while one is typed: a list box
// that the arrow keys, Enter, Tab and Escape, a pointer and a finger can use.
function complete(box) {
  const token = /(?:^|[^\p{L}\p{N}_@#&/])([@#][\p{L}\p{N}_]{1,50})$/u;
  const known = new Map();
  let list = null;
  let offered = ""; // what the list is for
  let chosen = 0;
  let timer = 0;
  let request = null;

  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-haspopup", "listbox");

  const typed = () => {
    if (box.selectionStart !== box.selectionEnd) return "";
    return box.value.slice(0, box.selectionStart).match(token)?.[1] ?? "";
  };

  const close = () => {
    clearTimeout(timer);
    request?.abort();
    list?.remove();
    list = null;
    box.removeAttribute("aria-controls");
    box.removeAttribute("aria-activedescendant");
  };

  const select = (n) => {
    const options = list.children;
    chosen = (n + options.length) % options.length;
    for (const [i, option] of [...options].entries()) option.setAttribute("aria-selected", String(i === chosen));
    box.setAttribute("aria-activedescendant", options[chosen].id);
    options[chosen].scrollIntoView({ block: "nearest" });
  };

  const take = (text) => {
    const end = box.selectionStart;
    const begin = end - typed().length;
    const space = /^\s/.test(box.value.slice(end)) ? "" : " ";
    box.setRangeText(text + space, begin, end, "end");
    close();
    box.dispatchEvent(new Event("input", { bubbles: true }));
    close();
    box.focus();
  };

  const open = (query, found) => {
    close();
    if (found.length === 0) return;
    offered = query;
    list = document.createElement("div");
    list.className = "completion";
    list.id = `${box.id}-completion`;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Suggestions");
    for (const [i, item] of found.entries()) {
      const option = document.createElement("div");
      option.id = `${list.id}-${i}`;
      option.setAttribute("role", "option");
      const name = document.createElement("span");
      name.className = "name";
      name.textContent = item.label || item.text;
      option.append(name);
      if (item.label && item.label !== item.text) {
        const handle = document.createElement("span");
        handle.className = "handle";
        handle.textContent = item.text;
        option.append(handle);
      }
      option.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus
      option.addEventListener("click", () => take(item.text));
      list.append(option);
    }
    box.parentElement.append(list);
    box.setAttribute("aria-controls", list.id);
    select(0);
    announce(found.length === 1 ? "1 suggestion" : `${found.length} suggestions`);
  };

  const look = async (query) => {
    request?.abort();
    request = new AbortController();
    try {
      let found = known.get(query);
      if (!found) {
        const response = await fetch(`/suggest?q=${encodeURIComponent(query)}`, { signal: request.signal });
        if (!response.ok) return;
        found = await response.json();
        known.set(query, found);
      }
      if (typed() === query && document.activeElement === box) open(query, found);
    } catch {
      // typed on, or there is no connection: nothing is offered
    }
  };

  box.addEventListener("input", () => {
    const query = typed();
    clearTimeout(timer);
    if (query === "") {
      close();
      return;
    }
    timer = setTimeout(() => look(query), 150);
  });
  box.addEventListener("keydown", (event) => {
    if (!list || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const keys = {
      ArrowDown: () => select(chosen + 1),
      ArrowUp: () => select(chosen - 1),
      Enter: () => list.children[chosen].click(),
      Tab: () => list.children[chosen].click(),
      Escape: close,
    };
    if (!keys[event.key] || (event.shiftKey && event.key !== "Escape")) return;
    if (typed() !== offered) {
      close(); // the list is for what was typed before, or elsewhere: the key does what it does without
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });
  box.addEventListener("blur", close);
  box.addEventListener("click", () => {
    if (typed() === "") close();
  });
}
