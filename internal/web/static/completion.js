// Completion of names and tags while somebody types.
import { announce, element, t, tn } from "./page.js";

// completion shows suggestions below a text box, as a list box for the arrow keys, Enter, Tab and
// Escape, a pointer and touch. The focus stays in the text box.
//
// typed() returns the text to complete, or "" for nothing. address(typed) returns the address of
// the suggestions, each of which has a text, and optionally a label and a face. take(suggestion) is
// called with the chosen one. more adds suggestions to the found ones. If isSearch is set, nothing
// is selected before an arrow key is pressed, and Tab leaves the box.
export function completion(box, { typed, address, take, more = (_, found) => found, isSearch = false }) {
  const known = new Map();
  let list = null;
  let offered = ""; // the text that the list is for
  let chosen = -1;
  let timer = 0;
  let request = null;

  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-haspopup", "listbox");
  if (isSearch) {
    box.setAttribute("role", "combobox");
    box.setAttribute("aria-expanded", "false");
  }

  const close = () => {
    clearTimeout(timer);
    request?.abort();
    list?.remove();
    list = null;
    box.removeAttribute("aria-controls");
    box.removeAttribute("aria-activedescendant");
    if (isSearch) box.setAttribute("aria-expanded", "false");
  };

  const select = (n) => {
    const options = list.children;
    chosen = (n + options.length) % options.length;
    for (const [i, option] of [...options].entries()) option.setAttribute("aria-selected", String(i === chosen));
    box.setAttribute("aria-activedescendant", options[chosen].id);
    options[chosen].scrollIntoView({ block: "nearest" });
  };

  const open = (query, found) => {
    close();
    if (found.length === 0) return;
    offered = query;
    chosen = -1;
    list = element("div", { className: "completion", id: `${box.id}-completion`, role: "listbox", ariaLabel: t("Suggestions") });
    for (const [i, item] of found.entries()) {
      const option = element("div", { id: `${list.id}-${i}`, role: "option", ariaSelected: "false" });
      if (item.face) option.append(element("img", { className: "avatar", src: item.face, alt: "", width: 24, height: 24 }));
      option.append(element("span", { className: "name", dir: "auto", textContent: item.label || item.text }));
      if (item.label && item.label !== item.text) option.append(element("span", { className: "handle", textContent: item.text }));
      option.addEventListener("pointerdown", (event) => event.preventDefault()); // the text box keeps the focus
      option.addEventListener("click", () => {
        close();
        take(item);
        close(); // what take has typed must not open a list
      });
      list.append(option);
    }
    box.parentElement.append(list);
    box.setAttribute("aria-controls", list.id);
    if (isSearch) box.setAttribute("aria-expanded", "true");
    else select(0);
    announce(tn(found.length, "{n} suggestion", "{n} suggestions"));
  };

  const look = async (query) => {
    request?.abort();
    request = new AbortController();
    try {
      let found = known.get(query);
      if (!found) {
        const response = await fetch(address(query), { signal: request.signal });
        if (!response.ok) return;
        found = more(query, await response.json());
        known.set(query, found);
      }
      if (typed() === query && document.activeElement === box) open(query, found);
    } catch {
      // further text was typed, or there is no connection: offer nothing
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
    if (!list && event.key === "Escape") close(); // those on their way, too
    if (!list || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const click = () => list.children[chosen].click();
    const keys = {
      ArrowDown: () => select(chosen + 1),
      ArrowUp: () => select(chosen < 0 ? -1 : chosen - 1),
      Enter: chosen < 0 ? null : click,
      Tab: isSearch ? null : click,
      Escape: close,
    };
    if (!keys[event.key] || (event.shiftKey && event.key !== "Escape")) return;
    if (typed() !== offered) {
      close(); // the list is for an earlier text or another place: the key has its usual effect
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
