// A live page of a run: keeps the last 200 events, follows the end while the reader is there, leaves the warnings open that the
// reader has opened, and loads the page again when the run was resumed. Everything else is htmx.
"use strict";
(() => {
  const most = 200, turns = document.getElementById("turns"), latest = document.getElementById("latest");
  const bottom = () => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 120;
  let follows = false, open = false;
  document.body.addEventListener("htmx:sseBeforeMessage", (event) => {
    if (event.detail.type === "turn") follows = bottom();
    else open = Boolean(document.querySelector("#warnings[open]"));
  });
  document.body.addEventListener("htmx:sseMessage", (event) => {
    if (event.detail.type !== "turn") {
      const warnings = document.getElementById("warnings");
      if (warnings) warnings.open = open;
      return;
    }
    while (turns.childElementCount > most) turns.firstElementChild.remove();
    if (follows) window.scrollTo(0, document.documentElement.scrollHeight);
    latest.hidden = bottom();
  });
  document.body.addEventListener("htmx:sseOpen", (event) => {
    event.detail.source.addEventListener("again", () => window.location.reload());
    event.detail.source.addEventListener("done", () => window.location.reload());
  });
  latest.addEventListener("click", () => window.scrollTo(0, document.documentElement.scrollHeight));
  window.addEventListener("scroll", () => { if (bottom()) latest.hidden = true; }, { passive: true });
})();
