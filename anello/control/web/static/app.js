// SPDX-License-Identifier: Apache-2.0
// Boot: token, theme, addresses, the strip with state and orders, the stream. One view is shown at a time.

import * as api from "./api.js";
import { h, say, sure } from "./dom.js";
import { elapsed } from "./format.js";
import { alarms } from "./alarms.js";
import { compare } from "./compare.js";
import { config } from "./config.js";
import { live } from "./live.js";
import { log } from "./log.js";
import { nodes } from "./nodes.js";
import { run } from "./run.js";
import { runs } from "./runs.js";

const PAGES = [["/", "Live", live], ["/runs", "Runs", runs], ["/compare", "Compare", compare],
  ["/config", "Configuration", config], ["/alarms", "Alarms", alarms], ["/log", "Log", log], ["/nodes", "Nodes", nodes]];
const WORDS = { offline: "Offline", configured: "Configured", ready: "Ready", running: "Running", draining: "Draining", error: "Error" };
const ORDERS = { arm: "Arm", start: "Start", stop: "Stop", abort: "Abort", reset: "Reset" };

let shown = {}; // the view: update(kind, message), close()
let state = null;
let raised = 0;

// --- Theme
const theme = document.getElementById("theme");
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  theme.textContent = name === "dark" ? "Light" : "Dark";
  theme.setAttribute("aria-label", `Change to the ${name === "dark" ? "light" : "dark"} theme`);
  shown.update?.("theme", name);
}
theme.addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("anello-theme", next);
  setTheme(next);
});
const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = () => localStorage.getItem("anello-theme") ?? (system.matches ? "dark" : "light");
system.addEventListener("change", () => setTheme(chosen()));
setTheme(chosen());

// --- State and orders
function showStrip() {
  const strip = document.getElementById("strip");
  if (!state) return;
  const focused = document.activeElement?.dataset?.order;
  const title = state.run ? `Run ${state.run}` : "No run yet";
  strip.replaceChildren(
    h("span", { class: `state ${state.state}`, id: "state" }, WORDS[state.state] ?? state.state),
    h("div", { class: "which" }, h("strong", null, title), h("span", { class: "soft" }, [state.name, state.chain].filter(Boolean).join(" · ")),
      h("span", { class: "soft", id: "since" })),
    h("div", { class: "orders operates" }, state.busy ? h("span", { class: "soft" }, `${state.busy}…`) : null,
      state.possible.filter((step) => ORDERS[step]).map((step) => h("button", {
        type: "button", "data-order": step, class: { start: "good", abort: "bad", stop: "main" }[step] ?? "", disabled: Boolean(state.busy) && step !== "abort",
        onclick: () => order(step) }, ORDERS[step]))));
  if (state.cause) strip.append(h("p", { class: "cause", role: "alert" }, state.cause));
  if (focused) strip.querySelector(`[data-order="${focused}"]`)?.focus();
  showSince();
}

function showSince() {
  const since = document.getElementById("since");
  if (since && state?.since_ns) since.textContent = `for ${elapsed(Date.now() - state.since_ns / 1e6)}`;
}

async function order(step) {
  if (step === "abort" && !(await sure("Abort the run? What is on its way is given up, and the run is marked as aborted.", "Abort"))) return;
  document.querySelectorAll("[data-order]").forEach((button) => { button.disabled = button.dataset.order !== "abort"; });
  try {
    take("state", await api.post(step));
    say(`${ORDERS[step]}: done`);
  } catch (error) {
    say(error.message, true);
    take("state", await api.get("state"));
  }
}

// --- What happens
function take(kind, message) {
  if (kind === "state") { state = message; showStrip(); }
  if (kind === "tick" && JSON.stringify(message.state) !== JSON.stringify(state)) { state = message.state; showStrip(); }
  if (kind === "alarm") { showRaised(); if (!message.cleared_ns && !message.acked_ns) say(`Alarm: ${message.text ?? message.rule}`, true); }
  shown.update?.(kind, message);
}

async function showRaised() {
  const rows = await api.get("alarms");
  raised = rows.filter((row) => !row.cleared_ns && !row.acked_ns).length;
  document.querySelector('[href="/alarms"] .badge')?.replaceChildren(raised ? String(raised) : "");
  document.title = `${raised ? `(${raised}) ` : ""}${state?.state === "running" ? "● " : ""}Anello`;
}

// --- Addresses
async function show() {
  shown.close?.();
  shown = {};
  const main = document.getElementById("main");
  const number = location.pathname.match(/^\/runs\/(\d+)$/)?.[1];
  const [path, , view] = number ? ["/runs", "", run] : PAGES.find(([own]) => own === location.pathname) ?? PAGES[0];
  document.getElementById("pages").replaceChildren(...PAGES.map(([own, words]) => h("a", { href: own, "aria-current": own === path ? "page" : null }, words,
    own === "/alarms" ? h("span", { class: "badge" }, raised ? String(raised) : "") : null)));
  try {
    const made = await view({ api, number, query: new URLSearchParams(location.search), go });
    shown = made;
    main.replaceChildren(made.element);
    made.update?.("begin", null);
    if (state) made.update?.("state", state);
  } catch (error) {
    main.replaceChildren(h("p", { class: "cause", role: "alert" }, error.message));
    if (error.status === 401) askToken();
  }
}

function go(address) {
  history.pushState(null, "", address);
  show();
}
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  event.preventDefault();
  go(link.getAttribute("href"));
  document.getElementById("main").focus();
});
addEventListener("popstate", show);

function askToken() {
  const field = h("input", { id: "token", type: "password", autocomplete: "off", required: true });
  document.getElementById("main").replaceChildren(h("form", { class: "panel narrow", onsubmit: (event) => { event.preventDefault(); api.setToken(field.value); begin(); } },
    h("h1", null, "Who is there?"), h("p", { class: "about" }, "anello ctl page prints the address with its token; both tokens are in control-tokens.json in the directory of the runs."),
    h("label", { for: "token" }, "Token"), field, h("button", { type: "submit", class: "main" }, "Go on")));
}

async function begin() {
  try {
    document.documentElement.dataset.role = (await api.get("role")).role; // page.css hides what a viewer would be refused
    take("state", await api.get("state"));
  } catch (error) {
    if (error.status === 401) { askToken(); return; }
    say(error.message, true);
  }
  await show();
  showRaised().catch(() => {});
  setInterval(showSince, 1000);
  api.follow(take, (words) => { document.body.classList.toggle("away", Boolean(words)); if (words) say(words, true); else if (document.body.dataset.was) say(""); document.body.dataset.was = words; })
    .catch((error) => say(error.message, true));
}

api.takeToken();
begin();
