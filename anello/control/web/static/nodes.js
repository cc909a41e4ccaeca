// SPDX-License-Identifier: Apache-2.0
// The processes of the run: their threads, buffers, and every counter.

import { h, nothing, panel, table } from "./dom.js";
import { count, duration, percent, scaled } from "./format.js";

export async function nodes({ api }) {
  const about = h("div");
  const farm = h("div");
  const machines = h("div");
  const counters = h("div");
  const filter = h("input", { id: "filter", type: "search", oninput: () => show() });
  let values = {};
  let previous = null;

  function show() {
    const wanted = filter.value.toLowerCase();
    const lists = Object.entries(values).map(([process, blocks]) => {
      const rows = Object.entries(blocks).flatMap(([block, own]) => Object.entries(own).map(([name, value]) => [`${block}.${name}`, value])).filter(([name, value]) => name.includes(wanted) && (wanted || value));
      return h("div", null, h("h3", null, process), rows.length ? table(["counter", "value"], rows.slice(0, 500).map(([name, value]) => [h("span", { class: "mono" }, name), count(value)]), ["", "n"], `Counters of ${process}`) : nothing("None."));
    });
    counters.replaceChildren(...(lists.length ? lists : [nothing("No process runs.")]));
  }

  async function read() {
    const [agents, counted] = await Promise.all([api.get("agents"), api.get("counters")]);
    machines.replaceChildren(agents.length ? table(["agent", "host", "version", "runs"], agents.map((one) => [one.name, one.host, one.version, one.nodes.map((node) => `node ${node.node} of ${node.run}`).join(", ") || "–"]), [], "Agents of other machines") : "");
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
    about.replaceChildren(now ? h("div", null, h("p", { class: "mono" }, [message.state.node_page, message.state.source_page].filter(Boolean).join(", ")),
      table(["thread", "busy, last second", "whole run", "longest step, last second", "whole run"], now.threads.map((one) => [one.name, bar(one.busy_1s), percent(one.busy), duration(one.longest_1s_ns), duration(one.longest_ns)]), ["", "", "n", "n", "n"], "Threads"),
      table(["buffers of", "in use", "of"], now.buffers.map((one) => [one.stage, bar(1 - one.n_free / one.n_buffers), count(one.n_buffers)]), ["", "", "n"], "Buffers")) : nothing("No process runs."));
  }

  const element = h("div", null, h("h1", null, "Nodes"), h("div", { class: "grid" }, panel("Farm", "", farm), panel("Machines", "", machines), panel("Processes", "", about),
    panel("Counters", "Those that are not 0; a filter shows all that fit.", h("form", { class: "row", onsubmit: (event) => event.preventDefault() }, h("div", null, h("label", { for: "filter" }, "Filter"), filter)), counters)));
  await read();
  show();
  const timer = setInterval(read, 2000);
  return { element, close: () => clearInterval(timer), update: (kind, message) => { if (kind === "tick") tick(message); if (kind === "begin") api.get("now").then(tick); } };
}

// One row for each node of a farm; rates since the message before.
function farmTable(now, before, seconds) {
  if (!now?.members.length) return [];
  const rows = now.members.map((node, n) => {
    const old = before?.members[n]?.rank === node.rank ? before.members[n] : null;
    const rate = (key, factor, unit) => (old && seconds > 0 ? scaled(((node[key] - old[key]) * factor) / seconds, unit) : "–");
    return [node.rank, node.machine, h("span", { class: node.state === "silent" ? "is-bad" : "" }, node.state === "silent" ? "gone" : node.state, node.cause ? `: ${node.cause}` : ""),
      rate("packets", 1, "/s"), rate("bytes_built", 8, "b/s"), count(node.incomplete), rate("parts_sent", 1, "/s"), node.busy === null ? "–" : bar(node.busy), h("span", { class: "mono" }, node.page)];
  });
  return [table(["node", "machine", "state", "packets built", "data built", "incomplete", "parts sent", "busiest thread", "page"], rows, ["n", "", "", "n", "n", "n", "n"], "Nodes of the farm")];
}

const bar = (share) => h("div", { style: "display:flex;gap:8px;align-items:center" }, h("div", { class: "bars", style: "display:block;width:110px;margin:0" }, h("div", { class: "track" }, h("i", { style: `width:${100 * share}%` }))), percent(share));
