// Everything works without this; it only makes a few things nicer.

// Times in the reader's own zone, recent ones as what has passed since.
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const units = [["minute", 60], ["hour", 3600], ["day", 86400]];

for (const time of document.querySelectorAll("time[datetime]")) {
  const then = new Date(time.dateTime);
  const ago = (Date.now() - then) / 1000;
  time.title = absolute.format(then);
  let text = time.title;
  if (ago < 45) {
    text = "just now";
  } else if (ago < 7 * 86400) {
    const [unit, length] = units.findLast(([, length]) => ago >= length) ?? units[0];
    text = relative.format(-Math.max(1, Math.round(ago / length)), unit);
  }
  time.textContent = text;
}

// How many characters are left, counted as a person counts them.
const status = document.querySelector("textarea[data-limit]");
const note = document.querySelector("[data-count]");
if (status && note && Intl.Segmenter) {
  const limit = Number(status.dataset.limit);
  const segmenter = new Intl.Segmenter();
  const plain = note.textContent;
  const count = () => {
    const left = limit - [...segmenter.segment(status.value.trim())].length;
    note.textContent = status.value === "" ? plain : left < 0 ? `${-left} too many` : `${left} left`;
    note.classList.toggle("problem", left < 0);
  };
  status.addEventListener("input", count);
  count();
}

// A form is sent once, however often its button is pressed; after a while again,
// for a user who does not wait any longer.
for (const form of document.forms) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "yes";
    setTimeout(() => delete form.dataset.sent, 5000);
  });
}
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
