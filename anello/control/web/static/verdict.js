// SPDX-License-Identifier: Apache-2.0
// The page that a shift looks at first: the closed ledger, the latency at 1 ms, and the run's figures.

import { ledgerRing } from "./drawings.js";
import { h, nothing, table, tile } from "./dom.js";
import { big, count, duration, scaled, worth } from "./format.js";
import { ruler } from "./ruler.js";

const NO_RUN = "No run is in progress. During a run, this shows whether all data are accounted for.";

export function ledgerPart(now) {
  if (!now) return nothing(NO_RUN);
  return h("div", null, verdict(now), levels(now.ledger.levels), offRows(now.ledger.shown));
}

function verdict({ ledger, flow, verdict: { word, line } }) {
  const isEarly = ledger.closed_s === null && word === "good";
  const kind = isEarly ? "is-soft" : `is-${worth(word)}`;
  const decided = `${count(flow.decided)} ${flow.unit} decided, ${count(ledger.on_the_way)} on their way`;
  return h("div", { class: "verdict" }, ledgerRing(kind), h("div", null,
    h("div", { class: `word ${kind}` }, isEarly ? "Nothing yet" : word),
    h("p", { class: "why" }, line),
    h("p", null, balance(ledger)),
    h("p", { class: "soft" }, decided)));
}

function balance({ off, rows, closed_s: closed }) {
  if (off) return `${off} of ${rows} rows do not balance`;
  const age = closed === null ? "" : closed < 0.1 ? "up to now" : `up to ${closed.toFixed(1)} s ago`;
  return `${rows} rows balance ${age}`;
}

function levels(list) {
  const item = (one) => h("li", { class: one.off ? "is-bad" : "" },
    h("b", null, big(one.total)),
    ` ${one.level} `,
    h("span", { class: one.off ? "" : "is-good" }, one.off ? "not closed" : "✓"));
  return h("ul", { class: "levels" }, list.map(item));
}

function offRows(shown) {
  const off = shown.filter((row) => row.closed_s === null);
  if (!off.length) return null;
  const rows = off.map((row) => [row.level, row.name, count(row.total), count(row.on_the_way)]);
  return table(["level", "what", "came", "not accounted for"], rows, ["", "", "n", "n"], "Rows that do not balance");
}

export const wholeLeg = (latency) => latency.legs.find((leg) => leg.leg === latency.whole);

export function latencyPart(now, width) {
  if (!now) return nothing("No run is in progress.");
  const whole = wholeLeg(now.latency);
  if (!whole) return nothing("Nothing was decided in the last 10 s.");
  const late = whole.above_1ms ?? 0;
  const lateWords = late ? `${count(late)} above 1 ms` : "none above 1 ms";
  return h("div", null, ruler(now.latency, Math.min(760, Math.max(320, width))), h("p", { class: "about" },
    `${now.latency.about}, last 10 s: ${count(whole.count)} events, `,
    h("strong", { class: late ? "is-bad" : "is-good" }, lateWords),
    `, the longest ${duration(whole.max_ns)}`));
}

export function tiles(now) {
  const whole = now && wholeLeg(now.latency);
  const judged = (ns) => (!ns ? "" : ns <= 1e6 ? "good" : "bad");
  return h("div", { class: "tiles" },
    tile(scaled(now?.rates.built_hz, "Hz"), "built"),
    tile(scaled(now?.rates.decided_hz, "Hz"), "decided"),
    tile(scaled(now?.rates.bytes_per_s * 8, "b/s"), "received"),
    tile(duration(whole?.p50_ns), "p50, last 10 s"),
    tile(duration(whole?.p999_ns), "p99.9, last 10 s", judged(whole?.p999_ns)),
    tile(now ? big(now.flow.kept) : "–", now?.flow.kept_unit ?? "kept"));
}
