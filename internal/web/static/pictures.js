// The pictures of a post: selected together, dropped or pasted. Each is shown at once, scaled down
// and uploaded, with a field for its description. Without this script the form sends the files
// themselves.

import { announce, element, enhance, t, tn } from "./page.js";

enhance("[data-pictures]", pictures);

// A picture of a profile is shown before it is saved.
enhance(".portrait input", (input) => input.addEventListener("change", () => {
  if (input.files.length === 0) return;
  const field = input.parentElement;
  if (!field.querySelector("img")) field.append(element("img", { className: input.id, alt: "" }));
  field.querySelector("img").src = URL.createObjectURL(input.files[0]);
}));

function pictures(fields) {
  const form = fields.closest("form");
  const list = fields.querySelector("[data-thumbs]");
  const most = Number(fields.dataset.pictures);
  const accepted = "image/jpeg,image/png,image/gif,image/webp";

  const choose = element("input", { type: "file", multiple: true, accept: accepted, hidden: true });
  const button = element("button", { type: "button", className: "soft", textContent: t("Add pictures") });
  const note = element("p", { className: "problem", hidden: true });
  fields.querySelector(".add-pictures")?.remove();
  form.querySelector(".status-foot").prepend(button, choose);
  list.after(note);

  button.addEventListener("click", () => (running > 0 ? uploads.abort() : choose.click()));
  choose.addEventListener("change", () => {
    add(choose.files);
    choose.value = "";
  });
  form.addEventListener("paste", (event) => {
    // Cells and texts pasted from other programs come with a picture of them.
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
  form.addEventListener("submit", askForDescriptions, true);
  for (const item of list.children) enhanceItem(item);

  let running = 0;
  let uploads; // cancels running uploads
  function show() {
    button.textContent = running > 0 ? t("Cancel upload") : t("Add pictures");
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
      if (list.children.length >= most) {
        problem(t("A post can have up to {n} pictures.", { n: most }));
        break;
      }
      running++;
      const item = newItem(file);
      show();
      try {
        await upload(file, item, signal);
      } catch (error) {
        item.remove();
        problem(error.message);
      }
      running--;
      show();
      if (signal.aborted) break;
    }
  }

  // newItem shows a file before it is sent.
  function newItem(file) {
    const item = fields.querySelector("template").content.firstElementChild.cloneNode(true);
    const image = item.querySelector("img");
    image.src = URL.createObjectURL(file);
    image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
    const bar = element("progress", { max: 1, value: 0 });
    bar.setAttribute("aria-label", t("Upload"));
    item.append(bar);
    item.querySelector(".about-picture").hidden = true;
    list.append(item);
    return item;
  }

  async function upload(file, item, signal) {
    const body = new FormData();
    body.append("file", await smaller(file));
    const bar = item.querySelector("progress");
    const { ok, stored } = await send(body, signal, (part) => (bar.value = part));
    if (!ok) throw new Error(stored.error);
    const [id, text, part] = item.querySelectorAll("input[name=media], textarea, select");
    id.value = stored.id;
    text.name += stored.id;
    part.name += stored.id;
    item.querySelector("img").src = stored.url;
    bar.remove();
    item.querySelector(".about-picture").hidden = false;
    enhanceItem(item);
    announce(t("Picture added. Describe it for people who can't see it."));
    // Do not move the focus of somebody who is typing.
    if ([document.body, button].includes(document.activeElement)) text.focus();
  }

  // enhanceItem replaces a picture's checkbox with buttons, and shows how the picture is cropped.
  function enhanceItem(item) {
    const part = item.querySelector("select");
    part.addEventListener("change", () => (item.querySelector("img").className = `focus-${part.value}`));
    const remove = element("button", { type: "button", className: "soft small-button", textContent: t("Remove") });
    const move = (to, text) => {
      const button = element("button", { type: "button", className: `soft small-button ${to}`, textContent: text });
      button.addEventListener("click", () => {
        if (to === "up") item.previousElementSibling.before(item);
        else item.nextElementSibling.after(item);
        button.focus();
        announce(t("Picture {n}", { n: [...list.children].indexOf(item) + 1 }));
      });
      return button;
    };
    item.querySelector(".check").replaceWith(element("span", { className: "order" }, move("up", t("Move up")), move("down", t("Move down")), remove));
    remove.addEventListener("click", () => {
      item.remove();
      show();
      button.focus();
    });
  }

  // askForDescriptions asks once if a picture has no description.
  function askForDescriptions(event) {
    const empty = [...list.querySelectorAll("textarea")].filter((text) => text.value.trim() === "");
    if (empty.length === 0 || form.dataset.asked) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    form.dataset.asked = "yes";
    const describe = element("button", { type: "button", className: "soft small-button", textContent: tn(empty.length, "Describe it", "Describe them") });
    const anyway = element("button", { className: "soft small-button", textContent: t("Post anyway") });
    const line = element("p", { className: "hint undescribed" },
      tn(empty.length, "{n} picture has no description.", "{n} pictures have no description."), " ", describe, " ", anyway);
    line.setAttribute("role", "alert");
    describe.addEventListener("click", () => {
      line.remove();
      empty[0].focus();
    });
    form.querySelector(".status-foot").before(line);
    describe.focus();
  }
}

// send uploads a file and reports how much of it has arrived.
function send(body, signal, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = () => reject(new Error(signal.aborted ? t("The upload was cancelled.") : t("The picture couldn't be sent. Please try again.")));
    request.open("POST", "/media");
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("load", () => (request.response ? resolve({ ok: request.status < 400, stored: request.response }) : fail()));
    request.addEventListener("error", fail);
    request.addEventListener("abort", fail);
    signal.addEventListener("abort", () => request.abort());
    if (signal.aborted) fail();
    else request.send(body);
  });
}

const large = 1 << 20; // bytes
const widest = 2048; // pixels

// smaller scales a large picture down to the size in which it is shown. GIFs are left alone, as
// they may be animated.
async function smaller(file) {
  if (file.size <= large || file.type === "image/gif" || !globalThis.OffscreenCanvas) return file;
  try {
    const whole = await createImageBitmap(file);
    const scale = Math.min(1, widest / Math.max(whole.width, whole.height));
    const canvas = new OffscreenCanvas(Math.round(whole.width * scale), Math.round(whole.height * scale));
    canvas.getContext("2d").drawImage(whole, 0, 0, canvas.width, canvas.height);
    const blob = await canvas.convertToBlob({ type: "image/webp", quality: 0.82 });
    return blob.type === "image/webp" && blob.size < file.size ? blob : file;
  } catch {
    return file; // the server reports what is wrong with it
  }
}
