"use strict";
// Keeps a page as it would be if it were loaded now. Parts that somebody is using are left alone.
(() => {
  const source = document.body.dataset.events;
  if (!source) return;
  let busy = false;
  let again = false;

  async function renew() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href.split("#")[0], { headers: { accept: "text/html" } });
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
        const used = part.contains(document.activeElement) && document.activeElement.matches("input, select");
        if (!other || used || other.innerHTML === part.innerHTML) continue;
        const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
        part.replaceChildren(...other.childNodes);
        if (focused) part.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
      }
      for (const other of fresh.querySelectorAll("main > [data-live]")) {
        if (!document.querySelector(`[data-live="${other.dataset.live}"]`)) document.querySelector("main").append(other);
      }
      document.title = fresh.title;
      if (!fresh.body.dataset.events) events.close();
    } finally {
      busy = false;
      if (again) { again = false; renew(); }
    }
  }

  const events = new EventSource(source);
  events.addEventListener("changed", renew);
})();
