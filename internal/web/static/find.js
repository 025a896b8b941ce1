// The search box offers people and tags while one types, which lead to their pages, and last the
// search for posts.
import { completion } from "./completion.js";
import { enhance, isLoggedIn, t } from "./page.js";

enhance("input[data-find]", (box) => {
  if (!isLoggedIn) return; // visitors get no suggestions
  completion(box, {
    isSearch: true,
    typed: () => box.value.trim(),
    address: (typed) => `/suggest?in=search&q=${encodeURIComponent(typed)}`,
    more: (typed, found) => [
      ...found,
      { text: t("Search posts for “{words}”", { words: typed }), to: `/search?${new URLSearchParams({ q: typed, in: "posts" })}` },
    ],
    take: ({ to }) => location.assign(to),
  });
});
