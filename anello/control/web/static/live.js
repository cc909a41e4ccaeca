// SPDX-License-Identifier: Apache-2.0
// The run as it goes: the closed ledger, the millisecond, the chain with what waits in it, history, boards, last event.

import { bars, drawing, ledgerRing, ruler } from "./drawings.js";
import { h, nothing, panel, table } from "./dom.js";
import { big, clock, count, duration, percent, scaled, worth } from "./format.js";
import { overTime } from "./plots.js";
import { alarmList } from "./alarms.js";

const POINTS = 1200;

export async function live({ api }) {
  const parts = Object.fromEntries(["ledger", "latency", "tiles", "chain", "boards", "event", "found", "alarms", "log", "threads"].map((name) => [name, h("div", { id: `live-${name}` })]));
  const boardsName = h("h2", { id: "h-boards" }, "Boards");
  const plots = [
    overTime("Rate", [{ name: "built", key: "built_hz", colour: "blue", fill: true }, { name: "kept", key: "kept_hz", colour: "purple" }], { unit: "Hz" }),
    overTime("Latency", [{ name: "p99.9", key: "p999_us", colour: "orange" }, { name: "p99", key: "p99_us", colour: "purple" }, { name: "p50", key: "p50_us", colour: "blue" }], { unit: "µs", log: true, limit: [1000, "1 ms"] }),
    overTime("Loss", [{ name: "lost", key: "lost_hz", colour: "red", fill: true }], { unit: "1/s", whole: true })];
  const element = h("div", null, h("h1", { class: "hidden" }, "Live"), h("div", { class: "grid" },
    h("section", { class: "panel half", "aria-labelledby": "h-ledger" }, h("h2", { id: "h-ledger" }, "Every fragment accounted for"), parts.ledger),
    h("section", { class: "panel half", "aria-labelledby": "h-latency" }, h("h2", { id: "h-latency" }, "The millisecond"), parts.latency),
    h("div", null, parts.tiles), panel("The chain", "From the wire to the decision. Between two stages: how full the buffers are; where they fill up, the stage behind them is waited for.", parts.chain),
    h("section", { class: "panel third", "aria-labelledby": "h-rate" }, h("h2", { id: "h-rate" }, "Rate"), plots[0].element),
    h("section", { class: "panel third", "aria-labelledby": "h-quantiles" }, h("h2", { id: "h-quantiles" }, "Latency, last 10 s"), plots[1].element),
    h("section", { class: "panel third", "aria-labelledby": "h-loss" }, h("h2", { id: "h-loss" }, "Loss"), plots[2].element),
    h("section", { class: "panel third", "aria-labelledby": "h-boards" }, boardsName, parts.boards), wide("third", panel("Last event", "", parts.event)), wide("third", panel("Found", "", parts.found, parts.threads)),
    wide("half", panel("Alarms", "", parts.alarms)), wide("half", panel("Log", "", parts.log))));
  const history = await api.get("recent");
  let previous = null;
  let ticks = 0;
  let open = true;

  function tick(message) {
    const now = message.live;
    const seconds = previous?.live && now ? (message.t_ns - previous.t_ns) / 1e9 : 0;
    parts.ledger.replaceChildren(ledgerPart(now));
    parts.latency.replaceChildren(latencyPart(now, parts.latency.clientWidth));
    parts.tiles.replaceChildren(tiles(now));
    parts.chain.replaceChildren(chain(now, previous?.live, seconds));
    boardsName.textContent = now?.members.length ? "Nodes and boards" : "Boards";
    parts.boards.replaceChildren(nodeCards(now), boards(now, previous?.live, seconds));
    parts.found.replaceChildren(now?.found ? h("div", null, h("p", { class: "about" }, now.found.about), bars(now.found)) : nothing("Nothing yet."));
    parts.threads.replaceChildren(threads(now?.threads ?? []));
    if (now && seconds > 0) remember(message, now);
    if (ticks % 4 === 1) plots.forEach((plot) => plot.draw(history));
    if (ticks % 4 === 0 && now) showEvent();
    ticks += 1;
    previous = message;
  }

  function remember(message, now) {
    const whole = now.latency.legs.find((leg) => leg.leg === now.latency.whole);
    const values = { ...now.rates, t_ms: message.t_ns / 1e6, p50_us: whole?.p50_ns / 1e3, p99_us: whole?.p99_ns / 1e3, p999_us: whole?.p999_ns / 1e3 };
    for (const [name, column] of Object.entries(history)) {
      column.push(Number.isFinite(values[name]) ? values[name] : null);
      if (column.length > POINTS) column.shift();
    }
  }

  async function showEvent() {
    const { drawing: event } = await api.get("event");
    if (open) parts.event.replaceChildren(drawing(event), event ? h("p", { class: "about" }, `${event.about ?? ""} ${clock(event.t_ns)}`) : "");
  }

  const showAlarms = async () => parts.alarms.replaceChildren(alarmList((await api.get("alarms?limit=20")).filter((row) => !row.cleared_ns || !row.acked_ns).slice(0, 6), api, showAlarms));
  const showLog = async () => {
    const [notices, entries] = await Promise.all([api.get("notices?limit=12"), api.get("log?limit=12")]);
    const lines = [...notices, ...entries].sort((one, other) => other.t_ns - one.t_ns).slice(0, 12);
    parts.log.replaceChildren(lines.length ? h("ul", { class: "list" }, lines.map((line) => h("li", null, h("span", { class: "soft" }, clock(line.t_ns)),
      h("span", { class: "grow" }, line.text, line.times > 1 ? ` (${line.times} times)` : ""), line.author ? h("span", { class: "tag" }, line.author) : null))) : nothing("Nothing has been said."));
  };

  return {
    element,
    close() { open = false; },
    update(kind, message) {
      if (kind === "tick") tick(message);
      if (kind === "theme") plots.forEach((plot) => plot.draw());
      if (kind === "alarm" || kind === "begin") showAlarms();
      if (kind === "notice" || kind === "log" || kind === "begin") showLog();
      if (kind === "begin") api.get("now").then(tick);
    },
  };
}

function wide(kind, element) {
  element.classList.add(kind);
  return element;
}

function ledgerPart(now) {
  if (!now) return nothing("No run goes on. When one does, this says whether all that came in has come out or has a cause.");
  const { ledger, flow, verdict } = now;
  const [word, kind] = ledger.closed_s === null && verdict.word === "good" ? ["Nothing yet", "is-soft"] : [verdict.word, `is-${worth(verdict.word)}`];
  const age = ledger.closed_s === null ? "" : ledger.closed_s < 0.1 ? "up to now" : `up to ${ledger.closed_s.toFixed(1)} s ago`;
  const off = ledger.shown.filter((row) => row.closed_s === null);
  return h("div", null, h("div", { class: "verdict" }, ledgerRing(kind), h("div", null,
    h("div", { class: `word ${kind}` }, word), h("p", { class: "why" }, verdict.line),
    h("p", null, ledger.off ? `${ledger.off} of ${ledger.rows} rows do not balance` : `${ledger.rows} rows balance ${age}`),
    h("p", { class: "soft" }, `${count(flow.decided)} ${flow.unit} decided, ${count(ledger.on_the_way)} on their way`))),
  h("ul", { class: "levels" }, ledger.levels.map((one) => h("li", { class: one.off ? "is-bad" : "" }, h("b", null, big(one.total)), ` ${one.level} `, h("span", { class: one.off ? "" : "is-good" }, one.off ? "not closed" : "✓")))),
  off.length ? table(["level", "what", "came", "not accounted for"], off.map((row) => [row.level, row.name, count(row.total), count(row.on_the_way)]), ["", "", "n", "n"], "Rows that do not balance") : null);
}

function latencyPart(now, width) {
  if (!now) return nothing("No run goes on.");
  const whole = now.latency.legs.find((leg) => leg.leg === now.latency.whole);
  if (!whole) return nothing("Nothing was decided in the last 10 s.");
  const late = whole.above_1ms ?? 0;
  return h("div", null, ruler(now.latency, Math.min(760, Math.max(320, width))), h("p", { class: "about" }, `${now.latency.about}, last 10 s: ${count(whole.count)} events, `,
    h("strong", { class: late ? "is-bad" : "is-good" }, late ? `${count(late)} above 1 ms` : "none above 1 ms"), `, the longest ${duration(whole.max_ns)}`));
}

function tiles(now) {
  const whole = now?.latency.legs.find((leg) => leg.leg === now.latency.whole);
  const tile = (value, words, kind = "") => h("div", { class: `tile ${kind}` }, h("b", null, value), h("span", null, words));
  const judged = (ns) => (!ns ? "" : ns <= 1e6 ? "good" : "bad");
  return h("div", { class: "tiles" },
    tile(scaled(now?.rates.built_hz, "Hz"), "built"), tile(scaled(now?.rates.decided_hz, "Hz"), "decided"), tile(scaled(now?.rates.bytes_per_s * 8, "b/s"), "received"),
    tile(duration(whole?.p50_ns), "p50, last 10 s"), tile(duration(whole?.p999_ns), "p99.9, last 10 s", judged(whole?.p999_ns)),
    tile(now ? big(now.flow.kept) : "–", now?.flow.kept_unit ?? "kept"));
}

function chain(now, before, seconds) {
  if (!now) return nothing("No run goes on.");
  return h("ol", { class: "chain" }, now.stages.map((stage, n) => {
    const old = before?.stages[n]?.name === stage.name ? before.stages[n] : null;
    const rate = (key) => (old && seconds > 0 ? (stage[key] - old[key]) / seconds : null);
    const causes = Object.entries(stage.causes).filter(([, lost]) => lost);
    return h("li", null, n ? pipe(now.stages[n - 1]) : h("div", { class: "pipe", "aria-hidden": "true" }, "UDP", arrow()),
      h("div", { class: `stage ${stage.lost ? "losing" : ""}` }, h("b", null, stage.name), h("small", null, stage.about),
        h("span", { class: "flow" }, scaled(rate("went"), "").trimEnd(), h("small", null, ` ${stage.went_unit}/s`)), h("small", null, `of ${scaled(rate("came"), `${stage.came_unit}/s`)}`),
        Object.entries(stage.remarks).map(([words, n]) => h("span", { class: "remark" }, `${count(n)} ${words}`)),
        stage.lost ? h("span", { class: "lost" }, `${count(stage.lost)} lost: ${causes.map(([cause, lost]) => `${count(lost)} ${cause}`).join(", ")}`) : h("span", { class: "ok" }, "nothing lost")));
  }));
}

const arrow = () => h("span", { "aria-hidden": "true" }, "→");
function pipe(from) {
  const full = from.occupancy;
  const kind = full > 0.9 ? "full" : full > 0.5 ? "half" : "";
  if (full === null) return h("div", { class: "pipe" }, arrow());
  return h("div", { class: "pipe" }, h("span", null, percent(full)), h("div", { class: `level ${kind}`, role: "img", "aria-label": `buffers of ${from.name} are ${percent(full)} full` },
    h("i", { style: `width:${(100 * full).toFixed(1)}%` })), arrow());
}

const COLOURS = { live: "var(--green)", silent: "var(--red)", ended: "var(--soft)", waiting: "var(--line)", losing: "var(--amber)" };
function boards(now, before, seconds) {
  if (!now?.boards.number.length) return now?.members.length ? "" : nothing("No board has sent anything.");
  const { number, came, lost, state, states } = now.boards;
  const kinds = number.map((_, n) => (states[state[n]] === "live" && lost[n] ? "losing" : states[state[n]]));
  const rate = (n) => (before?.boards.number.length === number.length && seconds > 0 ? (came[n] - before.boards.came[n]) / seconds : null);
  const tally = Object.entries(kinds.reduce((sums, kind) => ({ ...sums, [kind]: (sums[kind] ?? 0) + 1 }), {}));
  const legend = h("ul", { class: "legend" }, tally.map(([kind, n]) => h("li", null, h("i", { style: `background:${COLOURS[kind]}` }), `${n} ${kind}`)));
  if (number.length <= 12) return h("div", null, h("div", { class: "boards few" }, number.map((one, n) => h("div", { class: `card ${kinds[n]}` }, h("b", null, `Board ${one}`),
    h("span", null, `${scaled(rate(n), "").trimEnd()}/s`), h("span", null, lost[n] ? `${count(lost[n])} lost` : kinds[n])))), legend);
  const columns = Math.ceil(Math.sqrt(number.length * 1.6));
  return h("div", null, h("div", { class: "boards", role: "img", "aria-label": tally.map(([kind, n]) => `${n} boards ${kind}`).join(", "), style: `grid-template-columns:repeat(${columns},1fr)` },
    number.map((one, n) => h("i", { class: "board", title: `board ${one}: ${kinds[n]}, ${count(came[n])} came, ${count(lost[n])} lost`, style: `background:${COLOURS[kinds[n]]}` }))), legend);
}

// Of a farm; the page Nodes says more.
function nodeCards(now) {
  if (!now?.members.length) return "";
  return h("div", { class: "boards few" }, now.members.map((node) => h("div", { class: `card ${node.state}`, title: node.cause }, h("b", null, `Node ${node.rank}`),
    h("span", null, node.machine), h("span", null, node.state === "silent" ? "gone" : `${big(node.packets)} packets`))));
}

function threads(list) {
  if (!list.length) return "";
  return h("div", null, h("h3", null, "Threads"), table(["thread", "busy", "longest step"], list.map((one) => [one.name, percent(one.busy_1s), duration(one.longest_1s_ns)]), ["", "n", "n"]));
}
