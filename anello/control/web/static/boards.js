// SPDX-License-Identifier: Apache-2.0
// The boards of the run, the nodes of a farm, and the threads of this process.

import { h, nothing, table } from "./dom.js";
import { big, count, duration, percent, scaled } from "./format.js";

const COLOURS = {
  live: "var(--green)", silent: "var(--red)", ended: "var(--soft)", waiting: "var(--line)", losing: "var(--amber)",
};
const MOST_CARDS = 12; // more boards than that are squares

export function boards(now, before, seconds) {
  if (!now?.boards.number.length) return now?.members.length ? "" : nothing("No board has sent anything.");
  const kinds = kindsOf(now.boards);
  const tally = Object.entries(kinds.reduce((sums, kind) => ({ ...sums, [kind]: (sums[kind] ?? 0) + 1 }), {}));
  const isFew = now.boards.number.length <= MOST_CARDS;
  const shown = isFew ? cards(now.boards, kinds, ratesOf(now, before, seconds)) : squares(now.boards, kinds, tally);
  return h("div", null, shown, legend(tally));
}

function kindsOf({ number, lost, state, states }) {
  const kindOf = (word, n) => (word === "live" && lost[n] ? "losing" : word);
  return number.map((_, n) => kindOf(states[state[n]], n));
}

// Datagrams of each board per second, since the previous message.
function ratesOf(now, before, seconds) {
  const isKnown = before?.boards.number.length === now.boards.number.length && seconds > 0;
  return now.boards.came.map((came, n) => (isKnown ? (came - before.boards.came[n]) / seconds : null));
}

function cards({ number, lost }, kinds, rates) {
  const card = (one, n) => h("div", { class: `card ${kinds[n]}` },
    h("b", null, `Board ${one}`),
    h("span", null, `${scaled(rates[n], "").trimEnd()}/s`),
    h("span", null, lost[n] ? `${count(lost[n])} lost` : kinds[n]));
  return h("div", { class: "boards few" }, number.map(card));
}

function squares({ number, came, lost }, kinds, tally) {
  const columns = Math.ceil(Math.sqrt(number.length * 1.6));
  const label = tally.map(([kind, n]) => `${n} boards ${kind}`).join(", ");
  const style = `grid-template-columns:repeat(${columns},1fr)`;
  const title = (one, n) => `board ${one}: ${kinds[n]}, ${count(came[n])} came, ${count(lost[n])} lost`;
  const square = (one, n) => h("i", { class: "board", title: title(one, n), style: `background:${COLOURS[kinds[n]]}` });
  return h("div", { class: "boards", role: "img", "aria-label": label, style }, number.map(square));
}

function legend(tally) {
  const item = ([kind, n]) => h("li", null, h("i", { style: `background:${COLOURS[kind]}` }), `${n} ${kind}`);
  return h("ul", { class: "legend" }, tally.map(item));
}

// The nodes of a farm; the page Nodes has more on them.
export function nodeCards(now) {
  if (!now?.members.length) return "";
  const packets = (node) => (node.state === "silent" ? "gone" : `${big(node.packets)} packets`);
  const card = (node) => h("div", { class: `card ${node.state}`, title: node.cause },
    h("b", null, `Node ${node.rank}`),
    h("span", null, node.machine),
    h("span", null, packets(node)));
  return h("div", { class: "boards few" }, now.members.map(card));
}

export function threads(list) {
  if (!list.length) return "";
  const rows = list.map((one) => [one.name, percent(one.busy_1s), duration(one.longest_1s_ns)]);
  return h("div", null, h("h3", null, "Threads"), table(["thread", "busy", "longest step"], rows, ["", "n", "n"]));
}
