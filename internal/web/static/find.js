// The box of a search offers names and tags while one types.

for (const box of document.querySelectorAll("input[data-find]")) {
  const list = document.createElement("datalist");
  list.id = `${box.id}-list`;
  box.after(list);
  box.setAttribute("list", list.id);
  let timer = 0;
  let request = null;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    request?.abort();
    timer = setTimeout(() => offer(box.value.trim()), 150);
  });
  const offer = async (typed) => {
    if (typed === "" || document.body.dataset.viewer === undefined) {
      list.replaceChildren();
      return;
    }
    request = new AbortController();
    try {
      const response = await fetch(`/suggest?in=search&q=${encodeURIComponent(typed)}`, { signal: request.signal });
      if (!response.ok) return;
      const found = await response.json();
      list.replaceChildren(
        ...found.map(({ text, label }) => {
          const option = document.createElement("option");
          option.value = text;
          if (label) option.label = `${label} ${text}`;
          return option;
        }),
      );
    } catch {
      // without a list
    }
  };
}
