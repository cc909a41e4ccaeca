// SPDX-License-Identifier: Apache-2.0
// Starts the page: token, theme, addresses, the strip with state and orders, the stream. It shows one view at a time.

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

const PAGES = [
  ["/", "Live", live],
  ["/runs", "Runs", runs],
  ["/compare", "Compare", compare],
  ["/config", "Configuration", config],
  ["/alarms", "Alarms", alarms],
  ["/log", "Log", log],
  ["/nodes", "Nodes", nodes],
];
const WORDS = {
  offline: "Offline",
  configured: "Configured",
  ready: "Ready",
  running: "Running",
  draining: "Draining",
  error: "Error",
};
const ORDERS = { arm: "Arm", start: "Start", stop: "Stop", abort: "Abort", reset: "Reset" };
const LOOKS = { start: "good", abort: "bad", stop: "main" };
const ABORT = "Abort the run? What is on its way is given up, and the run is marked as aborted.";
const TOKENS = "anello ctl page prints the address with its token; both tokens are in control-tokens.json in the "
  + "directory of the runs.";

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
  strip.replaceChildren(
    h("span", { class: `state ${state.state}`, id: "state" }, WORDS[state.state] ?? state.state),
    whichRun(),
    orderButtons());
  if (state.cause) strip.append(h("p", { class: "cause", role: "alert" }, state.cause));
  if (focused) strip.querySelector(`[data-order="${focused}"]`)?.focus();
  showSince();
}

function whichRun() {
  return h("div", { class: "which" },
    h("strong", null, state.run ? `Run ${state.run}` : "No run yet"),
    h("span", { class: "soft" }, [state.name, state.chain].filter(Boolean).join(" · ")),
    h("span", { class: "soft", id: "since" }));
}

function orderButtons() {
  return h("div", { class: "orders operates" },
    state.busy ? h("span", { class: "soft" }, `${state.busy}…`) : null,
    state.possible.filter((step) => ORDERS[step]).map(orderButton));
}

function orderButton(step) {
  const disabled = Boolean(state.busy) && step !== "abort";
  const about = { type: "button", "data-order": step, class: LOOKS[step] ?? "", disabled, onclick: () => order(step) };
  return h("button", about, ORDERS[step]);
}

function showSince() {
  const since = document.getElementById("since");
  if (since && state?.since_ns) since.textContent = `for ${elapsed(Date.now() - state.since_ns / 1e6)}`;
}

async function order(step) {
  if (step === "abort" && !(await sure(ABORT, "Abort"))) return;
  for (const button of document.querySelectorAll("[data-order]")) button.disabled = button.dataset.order !== "abort";
  try {
    take("state", await api.post(step));
    say(`${ORDERS[step]}: done`);
  } catch (error) {
    say(error.message, true);
    take("state", await api.get("state"));
  }
}

// --- Events
function take(kind, message) {
  if (kind === "state") takeState(message);
  if (kind === "tick" && JSON.stringify(message.state) !== JSON.stringify(state)) takeState(message.state);
  if (kind === "alarm") takeAlarm(message);
  shown.update?.(kind, message);
}

function takeState(message) {
  state = message;
  showStrip();
}

function takeAlarm(message) {
  showRaised();
  if (!message.cleared_ns && !message.acked_ns) say(`Alarm: ${message.text ?? message.rule}`, true);
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
  document.getElementById("pages").replaceChildren(...PAGES.map(([own, words]) => pageLink(own, words, own === path)));
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

function pageLink(address, words, isShown) {
  const badge = address === "/alarms" ? h("span", { class: "badge" }, raised ? String(raised) : "") : null;
  return h("a", { href: address, "aria-current": isShown ? "page" : null }, words, badge);
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

// --- Begin
function askToken() {
  const field = h("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const send = (event) => {
    event.preventDefault();
    api.setToken(field.value);
    begin();
  };
  document.getElementById("main").replaceChildren(h("form", { class: "panel narrow", onsubmit: send },
    h("h1", null, "Who is there?"),
    h("p", { class: "about" }, TOKENS),
    h("label", { for: "token" }, "Token"),
    field,
    h("button", { type: "submit", class: "main" }, "Continue")));
}

async function begin() {
  try {
    const { role } = await api.get("role");
    document.documentElement.dataset.role = role; // page.css hides what a viewer would be refused
    take("state", await api.get("state"));
  } catch (error) {
    if (error.status === 401) {
      askToken();
      return;
    }
    say(error.message, true);
  }
  await show();
  showRaised().catch(() => {});
  setInterval(showSince, 1000);
  api.follow(take, sayLost).catch((error) => say(error.message, true));
}

// Empty words mean that the connection is there.
function sayLost(words) {
  document.body.classList.toggle("away", Boolean(words));
  if (words) say(words, true);
  else if (document.body.dataset.was) say("");
  document.body.dataset.was = words;
}

api.takeToken();
begin();
