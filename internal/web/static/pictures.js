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
  const plain = fields.querySelector(".add-pictures");
  const accepted = "image/jpeg,image/png,image/gif,image/webp";

  const choose = document.createElement("input");
  Object.assign(choose, { type: "file", multiple: true, accept: accepted, hidden: true });
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "soft", textContent: "Add pictures" });
  const note = document.createElement("p");
  Object.assign(note, { className: "problem", hidden: true });
  plain?.replaceWith(button, choose, note);
  if (!plain) list.after(button, choose, note);

  button.addEventListener("click", () => choose.click());
  choose.addEventListener("change", () => {
    add(choose.files);
    choose.value = "";
  });
  form.addEventListener("paste", (event) => {
    if (event.clipboardData?.files.length) add(event.clipboardData.files);
  });
  form.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  form.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    add(event.dataTransfer.files);
  });
  for (const item of list.children) removable(item);

  let running = 0;
  function show() {
    button.disabled = list.children.length + running >= most;
    for (const send of form.querySelectorAll("button:not([type])")) send.disabled = running > 0;
  }

  function problem(text) {
    note.textContent = text;
    note.hidden = text === "";
    if (text) announce(text);
  }

  async function add(files) {
    problem("");
    for (const file of files) {
      if (list.children.length + running >= most) {
        problem(`A post can have ${most} pictures.`);
        break;
      }
      running++;
      show();
      button.textContent = "Uploading…";
      try {
        await upload(file);
      } catch (error) {
        problem(error.message);
      }
      running--;
      button.textContent = "Add pictures";
      show();
    }
  }

  async function upload(file) {
    const body = new FormData();
    body.append("file", file);
    let answer, stored;
    try {
      answer = await fetch("/media", { method: "POST", body });
      stored = await answer.json();
    } catch {
      throw new Error("The picture couldn't be sent. Please try again.");
    }
    if (!answer.ok) throw new Error(stored.error);
    const item = document.createElement("li");
    const id = Object.assign(document.createElement("input"), { type: "hidden", name: "media", value: stored.id });
    const image = Object.assign(document.createElement("img"), { src: stored.url, width: 96, height: 96, alt: "" });
    const label = document.createElement("label");
    const text = Object.assign(document.createElement("textarea"), { name: `alt-${stored.id}`, rows: 2, maxLength: 1500 });
    label.append("Description", text);
    item.append(id, image, label);
    list.append(item);
    removable(item);
    announce("Picture added. Describe it for people who can't see it.");
    text.focus();
  }

  // removable gives a picture a button in the place of its box.
  function removable(item) {
    item.querySelector(".check")?.remove();
    const remove = Object.assign(document.createElement("button"), { type: "button", className: "soft", textContent: "Remove" });
    item.append(remove);
    remove.addEventListener("click", () => {
      item.remove();
      show();
      button.focus();
    });
  }
}
