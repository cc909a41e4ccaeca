// SPDX-License-Identifier: Apache-2.0
// The present run: the closed ledger, the latency at 1 ms, the chain and its waiting buffers, history, last event.

import { alarmList } from "./alarms.js";
import { boards, nodeCards, threads } from "./boards.js";
import { chain } from "./chain.js";
import { bars, drawing } from "./drawings.js";
import { h, nothing, panel, wide } from "./dom.js";
import { clock } from "./format.js";
import { overTime } from "./plots.js";
import { latencyPart, ledgerPart, tiles, wholeLeg } from "./verdict.js";

const POINTS = 1200;
const PARTS = ["ledger", "latency", "tiles", "chain", "boards", "event", "found", "alarms", "log", "threads"];
const CHAIN = "From the wire to the decision. Between two stages: how full the buffers are; where they fill up, the "
  + "next stage holds them up.";

export async function live({ api }) {
  const parts = Object.fromEntries(PARTS.map((name) => [name, h("div", { id: `live-${name}` })]));
  const boardsTitle = h("h2", { id: "h-boards" }, "Boards");
  const plots = [ratePlot(), latencyPlot(), lossPlot()];
  const element = page(parts, boardsTitle, plots);
  const history = await api.get("recent");
  let previous = null;
  let ticks = 0;
  let open = true;

  function tick(message) {
    const now = message.live;
    const seconds = previous?.live && now ? (message.t_ns - previous.t_ns) / 1e9 : 0;
    showNow(parts, now, previous?.live, seconds);
    boardsTitle.textContent = now?.members.length ? "Nodes and boards" : "Boards";
    if (now && seconds > 0) remember(history, message.t_ns, now);
    if (ticks % 4 === 1) plots.forEach((plot) => plot.draw(history));
    if (ticks % 4 === 0 && now) showEvent();
    ticks += 1;
    previous = message;
  }

  async function showEvent() {
    const { drawing: event } = await api.get("event");
    if (!open) return;
    const about = event ? h("p", { class: "about" }, `${event.about ?? ""} ${clock(event.t_ns)}`) : "";
    parts.event.replaceChildren(drawing(event), about);
  }

  function update(kind, message) {
    if (kind === "tick") tick(message);
    if (kind === "theme") plots.forEach((plot) => plot.draw());
    if (kind === "alarm" || kind === "begin") showAlarms(parts.alarms, api);
    if (kind === "notice" || kind === "log" || kind === "begin") showLog(parts.log, api);
    if (kind === "begin") api.get("now").then(tick);
  }

  return { element, close() { open = false; }, update };
}

function ratePlot() {
  const lines = [
    { name: "built", key: "built_hz", colour: "blue", fill: true },
    { name: "kept", key: "kept_hz", colour: "purple" },
  ];
  return overTime("Rate", lines, { unit: "Hz" });
}

function latencyPlot() {
  const lines = [
    { name: "p99.9", key: "p999_us", colour: "orange" },
    { name: "p99", key: "p99_us", colour: "purple" },
    { name: "p50", key: "p50_us", colour: "blue" },
  ];
  return overTime("Latency", lines, { unit: "µs", log: true, limit: [1000, "1 ms"] });
}

function lossPlot() {
  return overTime("Loss", [{ name: "lost", key: "lost_hz", colour: "red", fill: true }], { unit: "1/s", whole: true });
}

function page(parts, boardsTitle, [rate, latency, loss]) {
  return h("div", null, h("h1", { class: "hidden" }, "Live"), h("div", { class: "grid" },
    titled("half", "h-ledger", "Every fragment accounted for", parts.ledger),
    titled("half", "h-latency", "The millisecond", parts.latency),
    h("div", null, parts.tiles),
    panel("The chain", CHAIN, parts.chain),
    titled("third", "h-rate", "Rate", rate.element),
    titled("third", "h-quantiles", "Latency, last 10 s", latency.element),
    titled("third", "h-loss", "Loss", loss.element),
    h("section", { class: "panel third", "aria-labelledby": "h-boards" }, boardsTitle, parts.boards),
    wide("third", panel("Last event", "", parts.event)),
    wide("third", panel("Found", "", parts.found, parts.threads)),
    wide("half", panel("Alarms", "", parts.alarms)),
    wide("half", panel("Log", "", parts.log))));
}

function titled(width, id, title, element) {
  return h("section", { class: `panel ${width}`, "aria-labelledby": id }, h("h2", { id }, title), element);
}

function showNow(parts, now, before, seconds) {
  parts.ledger.replaceChildren(ledgerPart(now));
  parts.latency.replaceChildren(latencyPart(now, parts.latency.clientWidth));
  parts.tiles.replaceChildren(tiles(now));
  parts.chain.replaceChildren(chain(now, before, seconds));
  parts.boards.replaceChildren(nodeCards(now), boards(now, before, seconds));
  parts.found.replaceChildren(found(now?.found));
  parts.threads.replaceChildren(threads(now?.threads ?? []));
}

function found(counts) {
  if (!counts) return nothing("Nothing yet.");
  return h("div", null, h("p", { class: "about" }, counts.about), bars(counts));
}

// Appends to the columns of the plots, and drops values older than their axis.
function remember(history, t_ns, now) {
  const whole = wholeLeg(now.latency);
  const values = {
    ...now.rates,
    t_ms: t_ns / 1e6,
    p50_us: whole?.p50_ns / 1e3,
    p99_us: whole?.p99_ns / 1e3,
    p999_us: whole?.p999_ns / 1e3,
  };
  for (const [name, column] of Object.entries(history)) {
    column.push(Number.isFinite(values[name]) ? values[name] : null);
    if (column.length > POINTS) column.shift();
  }
}

async function showAlarms(part, api) {
  const rows = await api.get("alarms?limit=20");
  const open = rows.filter((row) => !row.cleared_ns || !row.acked_ns).slice(0, 6);
  part.replaceChildren(alarmList(open, api, () => showAlarms(part, api)));
}

async function showLog(part, api) {
  const [notices, entries] = await Promise.all([api.get("notices?limit=12"), api.get("log?limit=12")]);
  const lines = [...notices, ...entries].sort((one, other) => other.t_ns - one.t_ns).slice(0, 12);
  part.replaceChildren(lines.length ? h("ul", { class: "list" }, lines.map(said)) : nothing("Nothing has been said."));
}

function said(line) {
  return h("li", null,
    h("span", { class: "soft" }, clock(line.t_ns)),
    h("span", { class: "grow" }, line.text, line.times > 1 ? ` (${line.times} times)` : ""),
    line.author ? h("span", { class: "tag" }, line.author) : null);
}
