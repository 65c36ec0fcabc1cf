// What pages do beyond plain forms: live progress, copy, keys, a dropped file. Nothing here decides anything.
"use strict";
document.documentElement.classList.add("js");

const byId = (id) => document.getElementById(id);

// Progress of a job, from the server as it happens; when it ends the screen is loaded once more.
function follow(box) {
  if (box.dataset.followed) return;
  box.dataset.followed = "yes";
  const source = new EventSource(`/jobs/${box.dataset.job}/events`);
  let parts = Number(box.dataset.parts || 0), waiting = false;
  source.onmessage = (event) => {
    const job = JSON.parse(event.data);
    if (!document.contains(box)) return source.close();
    if (job.state !== "running") { source.close(); return refresh(); }
    const bar = box.querySelector("progress");
    if (job.share === null) bar.removeAttribute("value"); else bar.value = job.share;
    box.querySelector("[data-step]").textContent = job.step;
    box.querySelector("[data-left]").textContent = job.left;
    box.dispatchEvent(new CustomEvent("incrowd:progress", { bubbles: true, detail: job }));
    if (job.parts !== parts && box.hasAttribute("data-parts") && !waiting) {
      waiting = true;  // several parts at once are shown at once
      setTimeout(() => { waiting = false; parts = job.parts; if (document.contains(box)) refresh(box.dataset.into); }, 500);
    }
  };
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) refresh(); };
}

// The screen again, or a part of it, with focus where it was.
function refresh(into) {
  const how = into ? { target: into, select: into, swap: "outerHTML" } : { target: "#main", swap: "innerHTML" };
  htmx.ajax("GET", location.pathname + location.search, how);
}

function look(root) {
  root.querySelectorAll("[data-job]").forEach(follow);
  root.querySelectorAll("[data-frontier]").forEach(radios);
}

document.addEventListener("DOMContentLoaded", () => {
  look(document);
  drop();
  warn();
});
document.addEventListener("htmx:afterSettle", () => look(document));

// What is open stays open over a swap.
let open = [];
document.addEventListener("htmx:beforeSwap", () => {
  open = [...document.querySelectorAll("details[open][id]")].map((box) => box.id);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const id of open) if (byId(id)) byId(id).open = true;
});
document.addEventListener("htmx:sendError", () => {
  const said = byId("said");
  said.className = "notice bad floating";
  said.textContent = "The studio does not answer: it may have ended. Start it again; all choices are saved.";
});

// Keys with a modifier only: letters alone choose in lists.
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=checkbox]), textarea");
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !typing) {
    const button = byId(event.shiftKey ? "redo-button" : "undo-button");
    if (button && !button.disabled) { event.preventDefault(); button.click(); }
  } else if (event.altKey && !event.ctrlKey && /^Digit[1-7]$/.test(event.code)) {
    const step = document.querySelector(`.steps a[aria-keyshortcuts="Alt+${event.code.slice(5)}"]`);
    if (step) { event.preventDefault(); step.click(); }
  } else if (event.key === "Escape") {
    const shown = [...document.querySelectorAll("#policy-drawer[open], .menu[open]")].pop();
    if (shown) { shown.open = false; shown.querySelector("summary").focus(); }
  }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) {
    navigator.clipboard.writeText(byId(button.dataset.copy).textContent).then(
      () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); },
      () => { getSelection().selectAllChildren(byId(button.dataset.copy)); },
    );
  }
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  // The switch goes to the other of light and dark, also where the system decides.
  const theme = event.target.closest("[data-theme-switch]");
  if (theme && !document.documentElement.dataset.theme) {
    theme.value = matchMedia("(prefers-color-scheme: dark)").matches ? "light" : "dark";
  }
});

// The policy is shown where it was changed last.
document.addEventListener("toggle", (event) => {
  const text = byId("policy-text");
  const changed = event.target.id === "policy-drawer" && event.target.open && text.querySelector("ins");
  if (changed) text.scrollTop = changed.offsetTop - text.offsetTop - 40;
}, true);

// A dropped file goes as it is, in one piece; the program writes it to disk as it comes.
function drop() {
  const box = byId("drop");
  if (!box) return;
  const send = (file) => {
    if (!file) return;
    const said = byId("drop-said"), bar = byId("drop-progress");
    if (file.size > Number(box.dataset.most)) { said.textContent = "The file is too large."; return; }
    const request = new XMLHttpRequest();
    request.open("POST", "/drop");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.setRequestHeader("X-Incrowd-Token", JSON.parse(document.body.getAttribute("hx-headers"))["X-Incrowd-Token"]);
    bar.hidden = false;
    request.upload.onprogress = (event) => { bar.value = event.loaded / event.total; };
    request.onload = () => {
      if (request.status === 200) { location.assign(JSON.parse(request.responseText).go); return; }
      if (request.responseURL.endsWith("/")) { location.assign("/"); return; }
      bar.hidden = true;
      said.textContent = request.responseText;
    };
    request.onerror = () => { bar.hidden = true; said.textContent = "The file could not be sent."; };
    request.send(file);
  };
  byId("drop-file").addEventListener("change", (event) => send(event.target.files[0]));
  document.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  document.addEventListener("dragleave", () => box.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    box.classList.remove("over");
    send(event.dataTransfer.files[0]);
  });
}

// Told before the studio ends by itself. To ask how long is left is no action.
function warn() {
  const box = byId("ending");
  if (!box) return;
  const ask = () => fetch("/alive").then((answer) => answer.json()).then(({ seconds }) => {
    box.hidden = seconds > 120;
    box.querySelector("[data-minutes]").textContent = Math.max(1, Math.round(seconds / 60));
    setTimeout(ask, Math.max(5, Math.min(60, seconds - 115)) * 1000);
  }, () => {});
  setTimeout(ask, Math.max(5, Math.min(60, Number(document.body.dataset.idle) - 115)) * 1000);
}

// Hierarchies: a chosen file is put into the text field, and a value can be dragged onto a group.
document.addEventListener("change", (event) => {
  const into = event.target.dataset && event.target.dataset.into;
  if (!into || !event.target.files[0]) return;
  event.stopPropagation();
  event.target.files[0].text().then((text) => { byId(into).value = text; byId(into).focus(); });
});
// How an import fits stands above the form that asked: it comes into sight when it is new.
let fitted = false;
document.addEventListener("htmx:afterSettle", () => {
  const box = byId("coverage");
  if (box && !fitted) { box.scrollIntoView({ block: "center" }); box.focus({ preventScroll: true }); }
  fitted = Boolean(box);
});
let dragged = null;
document.addEventListener("dragstart", (event) => {
  dragged = event.target.closest ? event.target.closest("[data-item]") : null;
  if (dragged) event.dataTransfer.setData("text/plain", dragged.dataset.item);
});
document.addEventListener("dragover", (event) => {
  const group = dragged && event.target.closest("[data-group]");
  for (const each of document.querySelectorAll(".group.over")) if (each !== group) each.classList.remove("over");
  if (group) { event.preventDefault(); group.classList.add("over"); }
});
document.addEventListener("drop", (event) => {
  const group = dragged && event.target.closest("[data-group]");
  const item = dragged;
  dragged = null;
  if (!group || group.contains(item)) return;
  event.preventDefault();
  item.querySelector("input").checked = true;
  byId("to").value = group.dataset.group;
  byId("move").requestSubmit();
});
document.addEventListener("dragend", () => {
  dragged = null;
  for (const each of document.querySelectorAll(".group.over")) each.classList.remove("over");
});

// Guarantee: who types an own k means it.
document.addEventListener("input", (event) => {
  const choice = event.target.dataset && byId(event.target.dataset.checks);
  if (choice) choice.checked = true;
});

// Compare: the marks of the picture are links; here they become one radio group, with arrows along the frontier.
function radios(box) {
  for (const picture of box.querySelectorAll("svg")) {
    const marks = [...picture.querySelectorAll("a.mark")];
    if (!marks.length || picture.getAttribute("role") === "radiogroup") continue;
    picture.setAttribute("role", "radiogroup");
    const chosen = marks.find((mark) => mark.hasAttribute("aria-current"));
    for (const mark of marks) {
      mark.setAttribute("role", "radio");
      mark.setAttribute("aria-checked", mark === chosen ? "true" : "false");
      mark.setAttribute("tabindex", mark === (chosen || marks[0]) ? "0" : "-1");
    }
  }
}
function choose(mark) {
  mark.focus();
  history.replaceState({ htmx: true }, "", mark.getAttribute("href"));
  refresh();
}
document.addEventListener("click", (event) => {
  const mark = event.target.closest("[data-frontier] a.mark");
  if (mark && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); choose(mark); }
});
document.addEventListener("keydown", (event) => {
  const mark = event.target.closest("[data-frontier] a.mark");
  if (!mark || event.altKey || event.ctrlKey || event.metaKey) return;
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(mark); }
  if (!step) return;
  event.preventDefault();
  const across = (one) => one.getBoundingClientRect().left;
  const line = [...mark.closest("svg").querySelectorAll("a.mark.best")].sort((a, b) => across(a) - across(b));
  const here = line.indexOf(mark);
  const next = here >= 0 ? line[(here + step + line.length) % line.length]
    : step > 0 ? line.find((one) => across(one) > across(mark)) || line[0]
      : line.findLast((one) => across(one) < across(mark)) || line[line.length - 1];
  if (next) choose(next);
});

// Publish: the stages of the work, the present one marked.
document.addEventListener("incrowd:progress", (event) => {
  const stages = [...document.querySelectorAll("[data-stage]")];
  const now = stages.findIndex((stage) => stage.dataset.stage.split("|").includes(event.detail.step));
  if (now < 0) return;
  stages.forEach((stage, place) => {
    stage.className = place < now ? "past" : place === now ? "now" : "";
    if (place === now) stage.setAttribute("aria-current", "step"); else stage.removeAttribute("aria-current");
  });
});
