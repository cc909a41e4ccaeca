// SPDX-License-Identifier: Apache-2.0
// The processes of the run: their threads, buffers, and every counter.

import { h, nothing, panel, table } from "./dom.js";
import { count, duration, percent, scaled } from "./format.js";

const THREADS = ["thread", "busy, last second", "whole run", "longest step, last second", "whole run"];
const MEMBERS = [
  "node", "machine", "state", "packets built", "data built", "incomplete", "parts sent", "busiest thread", "page",
];
const MOST_COUNTERS = 500; // of a process, on the page

export async function nodes({ api }) {
  const [about, farm, machines, counters] = [h("div"), h("div"), h("div"), h("div")];
  const filter = h("input", { id: "filter", type: "search", oninput: () => show() });
  let values = {};
  let previous = null;

  function show() {
    const lists = Object.entries(values).map(([process, blocks]) => countersOf(process, blocks, filter.value));
    counters.replaceChildren(...(lists.length ? lists : [nothing("No process runs.")]));
  }

  async function read() {
    const [agents, counted] = await Promise.all([api.get("agents"), api.get("counters")]);
    machines.replaceChildren(agents.length ? agentTable(agents) : "");
    machines.parentElement.hidden = !agents.length;
    values = counted;
    if (document.activeElement !== filter) show();
  }

  function tick(message) {
    const now = message.live;
    const seconds = previous?.live && now ? (message.t_ns - previous.t_ns) / 1e9 : 0;
    farm.replaceChildren(...farmTable(now, previous?.live, seconds));
    farm.parentElement.hidden = !now?.members.length;
    previous = message;
    about.replaceChildren(now ? processes(message.state, now) : nothing("No process runs."));
  }

  const element = h("div", null, h("h1", null, "Nodes"), h("div", { class: "grid" },
    panel("Farm", "", farm),
    panel("Machines", "", machines),
    panel("Processes", "", about),
    panel("Counters", "Those that are not 0; a filter shows all that fit.", filterForm(filter), counters)));
  await read();
  show();
  const timer = setInterval(read, 2000);
  const update = (kind, message) => {
    if (kind === "tick") tick(message);
    if (kind === "begin") api.get("now").then(tick);
  };
  return { element, close: () => clearInterval(timer), update };
}

function filterForm(filter) {
  return h("form", { class: "row", onsubmit: (event) => event.preventDefault() },
    h("div", null, h("label", { for: "filter" }, "Filter"), filter));
}

// Counters whose name contains the typed text; without a text, those that are not 0.
function countersOf(process, blocks, typed) {
  const wanted = typed.toLowerCase();
  const rows = allOf(blocks).filter(([name, value]) => name.includes(wanted) && (wanted || value));
  const row = ([name, value]) => [h("span", { class: "mono" }, name), count(value)];
  const list = () => rows.slice(0, MOST_COUNTERS).map(row);
  return h("div", null, h("h3", null, process),
    rows.length ? table(["counter", "value"], list(), ["", "n"], `Counters of ${process}`) : nothing("None."));
}

// [[block.name, value]] of a process's blocks of counters.
export function allOf(blocks) {
  return Object.entries(blocks).flatMap(([block, own]) => Object.entries(own).map(([name, value]) => [
    `${block}.${name}`, value,
  ]));
}

function agentTable(agents) {
  const node = (one) => `node ${one.node} of ${one.run}`;
  const row = (one) => [one.name, one.host, one.version, one.nodes.map(node).join(", ") || "–"];
  return table(["agent", "host", "version", "runs"], agents.map(row), [], "Agents of other machines");
}

function processes(state, now) {
  return h("div", null,
    h("p", { class: "mono" }, [state.node_page, state.source_page].filter(Boolean).join(", ")),
    threadTable(now.threads),
    bufferTable(now.buffers));
}

function threadTable(threads) {
  const row = (one) => [
    one.name, bar(one.busy_1s), percent(one.busy), duration(one.longest_1s_ns), duration(one.longest_ns),
  ];
  return table(THREADS, threads.map(row), ["", "", "n", "n", "n"], "Threads");
}

function bufferTable(buffers) {
  const row = (one) => [one.stage, bar(1 - one.n_free / one.n_buffers), count(one.n_buffers)];
  return table(["buffers of", "in use", "of"], buffers.map(row), ["", "", "n"], "Buffers");
}

// One row for each node of a farm; rates since the previous message.
function farmTable(now, before, seconds) {
  if (!now?.members.length) return [];
  const rows = now.members.map((node, n) => {
    const old = before?.members[n]?.rank === node.rank ? before.members[n] : null;
    return memberRow(node, old, seconds);
  });
  return [table(MEMBERS, rows, ["n", "", "", "n", "n", "n", "n"], "Nodes of the farm")];
}

function memberRow(node, old, seconds) {
  const isGone = node.state === "silent";
  const state = h("span", { class: isGone ? "is-bad" : "" },
    isGone ? "gone" : node.state, node.cause ? `: ${node.cause}` : "");
  const per_s = (key, factor) => ((node[key] - old[key]) * factor) / seconds;
  const rate = (key, factor, unit) => (old && seconds > 0 ? scaled(per_s(key, factor), unit) : "–");
  return [
    node.rank,
    node.machine,
    state,
    rate("packets", 1, "/s"),
    rate("bytes_built", 8, "b/s"),
    count(node.incomplete),
    rate("parts_sent", 1, "/s"),
    node.busy === null ? "–" : bar(node.busy),
    h("span", { class: "mono" }, node.page)];
}

function bar(share) {
  return h("div", { style: "display:flex;gap:8px;align-items:center" },
    h("div", { class: "bars", style: "display:block;width:110px;margin:0" },
      h("div", { class: "track" }, h("i", { style: `width:${100 * share}%` }))),
    percent(share));
}
