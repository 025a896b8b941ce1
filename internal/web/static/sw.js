// Without a connection, a page in the site's own words replaces the browser's error page. With a
// connection, this script does nothing.

const kept = "offline-1";

self.addEventListener("install", (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(kept);
    const page = await fetch("/offline", { cache: "no-store" });
    const text = await page.clone().text();
    await cache.put("/offline", page);
    await cache.addAll(text.match(/\/static\/app\.[0-9a-f]+\.css/g) ?? []);
    self.skipWaiting();
  })());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (navigator.onLine) return;
  if (request.mode === "navigate") {
    event.respondWith(caches.match("/offline").then((page) => page ?? Response.error()));
  } else if (request.destination === "style") {
    event.respondWith(caches.match(request).then((style) => style ?? Response.error()));
  }
});
