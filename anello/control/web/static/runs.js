// SPDX-License-Identifier: Apache-2.0
// All runs, newest first; two of them can be compared.

import { h, nothing, say, table } from "./dom.js";
import { big, duration, moment, scaled, worth } from "./format.js";

const LOOKS = {
  running: "good", ended: "", crashed: "bad", failed: "bad", aborted: "amber", good: "good", bad: "bad", test: "amber",
};
const HEAD = ["", "run", "name", "state", "quality", "began", "events", "rate", "verdict", "p50", "p99.9", "ledger"];
const KINDS = ["", "", "", "", "", "", "n", "n", "", "n", "n", ""];
const QUALITIES = ["unknown", "good", "bad", "test"];
const STATES = ["running", "ended", "crashed", "aborted", "failed"];
const PAGE = 100; // runs that are asked for at a time

export const tag = (word, kind = LOOKS[word]) => h("span", { class: `tag ${kind ?? ""}` }, word);

export async function runs({ api, query, go }) {
  const list = h("div");
  const chosen = new Set();
  const compareThem = () => go(`/compare?runs=${[...chosen].join(",")}`);
  const asMain = { type: "button", class: "main", disabled: true };
  const compare = h("button", { ...asMain, onclick: compareThem }, "Compare the two");
  const older = h("button", { type: "button", onclick: () => show(null, last) }, "Older ones");
  const quality = choice("quality", QUALITIES, query, show);
  const state = choice("state", STATES, query, show);
  let last = null;

  async function show(event, before) {
    const wanted = new URLSearchParams({ limit: String(PAGE) });
    for (const select of [quality, state]) if (select.value) wanted.set(select.id, select.value);
    if (before) wanted.set("before", before);
    try {
      const rows = await api.get(`runs?${wanted}`);
      last = rows.at(-1)?.number;
      older.hidden = rows.length < PAGE;
      list.replaceChildren(rows.length ? listed(rows, chosen, pick) : nothing("No run."));
    } catch (error) {
      say(error.message, true);
    }
  }

  function pick(box, number) {
    if (box.checked) chosen.add(number);
    else chosen.delete(number);
    compare.disabled = chosen.size !== 2;
  }

  await show();
  const form = h("form", { class: "row", onsubmit: (event) => event.preventDefault() },
    labelled("Quality", quality), labelled("State", state), compare);
  const panel = h("section", { class: "panel", "aria-label": "Runs" }, form, list, h("p", null, older));
  const element = h("div", null, h("h1", null, "Runs"), panel);
  return { element, update: (kind) => { if (kind === "state") show(); } };
}

function choice(id, choices, query, onchange) {
  const option = (one) => h("option", { value: one, selected: query.get(id) === one }, one || "all");
  return h("select", { id, onchange }, ["", ...choices].map(option));
}

const labelled = (words, select) => h("div", null, h("label", { for: select.id }, words), select);

function listed(rows, chosen, pick) {
  return table(HEAD, rows.map((row) => [box(row, chosen, pick), ...line(row)]), KINDS, "Runs");
}

function box(row, chosen, pick) {
  return h("input", {
    type: "checkbox",
    "aria-label": `choose run ${row.number}`,
    checked: chosen.has(row.number),
    onchange: (event) => pick(event.target, row.number),
  });
}

function line(row) {
  return [
    h("a", { href: `/runs/${row.number}` }, String(row.number)),
    row.name,
    tag(row.state),
    tag(row.quality),
    moment(row.started_ns),
    row.events === null ? "" : big(row.events),
    row.rate_hz ? scaled(row.rate_hz, "Hz") : "",
    row.word ? tag(row.word, worth(row.word)) : "",
    row.p50_ns ? duration(row.p50_ns) : "",
    row.p999_ns ? h("span", { class: row.p999_ns > 1e6 ? "is-bad" : "" }, duration(row.p999_ns)) : "",
    ledger(row.balanced)];
}

function ledger(balanced) {
  if (balanced === null) return "";
  return balanced ? "closed" : h("span", { class: "is-bad" }, "off");
}
