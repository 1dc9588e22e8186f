// The page of an item: keys, a draft that outlives a reload, and the seconds for which the page was in sight.
"use strict";
(() => {
  const form = document.getElementById("vote"), key = `vote ${form.getAttribute("action")}`;
  const questions = [...form.querySelectorAll("fieldset.question")], send = form.querySelector("button[value=send]");
  const read = (name) => { try { return JSON.parse(sessionStorage.getItem(name)) || {}; } catch { return {}; } };
  const write = () => { try { sessionStorage.setItem(key, JSON.stringify(draft)); } catch { /* no storage, no draft */ } };
  let draft = read(key);

  // The draft wins over the page, unless the server has what it was.
  if (draft.sent && form.dataset.sent) draft = { seconds: draft.seconds };
  for (const [name, value] of Object.entries(draft.fields || {})) {
    const field = form.elements.namedItem(name);
    if (field) field.value = value;
  }
  form.addEventListener("input", () => {
    const fields = [...new FormData(form)].filter(([name]) => name === "comment" || name.startsWith("q-"));
    draft = { fields: Object.fromEntries(fields), seconds: draft.seconds };
    write();
  });
  form.addEventListener("submit", () => {
    form.elements.namedItem("seconds").value = draft.seconds || 0;
    draft.sent = true;
    write();
  });
  setInterval(() => {
    if (document.visibilityState !== "visible") return;
    draft.seconds = (draft.seconds || 0) + 1;
    write();
  }, 1000);

  // Keys.
  const keys = document.getElementById("keys"), use = document.getElementById("use-keys");
  if (!keys) return;
  keys.hidden = false;
  use.checked = localStorage.getItem("vote keys") !== "off";
  use.addEventListener("change", () => localStorage.setItem("vote keys", use.checked ? "on" : "off"));
  const answered = (each) => each.querySelector("input:checked");
  document.addEventListener("keydown", (event) => {
    const at = document.activeElement;
    if (!use.checked || event.ctrlKey || event.altKey || event.metaKey || at.matches("textarea, select")) return;
    if (event.key === "Enter" && at === document.body) {
      form.requestSubmit(send);
    } else if (/^[0-9]$/.test(event.key)) {
      const question = at.closest("fieldset.question") || questions.find((each) => !answered(each))
        || (at === document.body && questions[0]);
      const input = question && question.querySelectorAll("input")[event.key === "0" ? 9 : event.key - 1];
      if (!input) return;
      event.preventDefault();
      input.checked = true;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      const next = questions[questions.indexOf(question) + 1] || questions.find((each) => !answered(each));
      (next ? answered(next) || next.querySelector("input") : send).focus();
    }
  });
})();
