// The pictures of a post: chosen together, dropped or pasted, each is uploaded at once and shown
// with a field for its description. Without this script the form sends the files themselves.

for (const fields of document.querySelectorAll("[data-pictures]")) pictures(fields);

function announce(text) {
  document.dispatchEvent(new CustomEvent("announce", { detail: text }));
}

function pictures(fields) {
  const form = fields.closest("form");
  const list = fields.querySelector("[data-thumbs]");
  const most = Number(fields.dataset.pictures);
  const accepted = "image/jpeg,image/png,image/gif,image/webp";

  const choose = document.createElement("input");
  Object.assign(choose, { type: "file", multiple: true, accept: accepted, hidden: true });
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "soft", textContent: "Add pictures" });
  const note = document.createElement("p");
  Object.assign(note, { className: "problem", hidden: true });
  fields.querySelector(".add-pictures")?.remove();
  form.querySelector(".status-foot").prepend(button, choose);
  list.after(note);

  button.addEventListener("click", () => (running > 0 ? uploads.abort() : choose.click()));
  choose.addEventListener("change", () => {
    add(choose.files);
    choose.value = "";
  });
  form.addEventListener("paste", (event) => {
    // Cells and texts of other programs come with a picture of them.
    if (event.clipboardData?.files.length && !event.clipboardData.types.includes("text/plain")) add(event.clipboardData.files);
  });
  form.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  form.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    add(event.dataTransfer.files);
  });
  for (const item of list.children) enhance(item);

  let running = 0;
  let uploads; // cancels those that are running
  function show() {
    button.textContent = running > 0 ? "Cancel upload" : "Add pictures";
    button.disabled = running === 0 && list.children.length >= most;
    for (const send of form.querySelectorAll("button:not([type])")) send.disabled = running > 0;
  }

  function problem(text) {
    note.textContent = text;
    note.hidden = text === "";
    if (text) announce(text);
  }

  async function add(files) {
    problem("");
    if (running === 0) uploads = new AbortController();
    const { signal } = uploads;
    for (const file of [...files]) { // the browser empties the list before all are sent
      if (list.children.length + running >= most) {
        problem(`A post can have ${most} pictures.`);
        break;
      }
      running++;
      show();
      try {
        await upload(file, signal);
      } catch (error) {
        problem(error.message);
      }
      running--;
      show();
      if (signal.aborted) break;
    }
  }

  async function upload(file, signal) {
    const body = new FormData();
    body.append("file", file);
    let answer, stored;
    try {
      answer = await fetch("/media", { method: "POST", body, signal });
      stored = await answer.json();
    } catch {
      if (signal.aborted) throw new Error("The upload was cancelled.");
      throw new Error("The picture couldn't be sent. Please try again.");
    }
    if (!answer.ok) throw new Error(stored.error);
    const item = fields.querySelector("template").content.firstElementChild.cloneNode(true);
    const [id, text, part] = item.querySelectorAll("input[name=media], textarea, select");
    id.value = stored.id;
    text.name += stored.id;
    part.name += stored.id;
    item.querySelector("img").src = stored.url;
    list.append(item);
    enhance(item);
    announce("Picture added. Describe it for people who can't see it.");
    // Somebody who is writing meanwhile goes on.
    if ([document.body, button].includes(document.activeElement)) text.focus();
  }

  // enhance gives a picture a button in the place of its box, and shows how it is cropped.
  function enhance(item) {
    const part = item.querySelector("select");
    part.addEventListener("change", () => (item.querySelector("img").className = `focus-${part.value}`));
    const remove = Object.assign(document.createElement("button"), { type: "button", className: "soft", textContent: "Remove" });
    item.querySelector(".check").replaceWith(remove);
    remove.addEventListener("click", () => {
      item.remove();
      show();
      button.focus();
    });
  }
}
