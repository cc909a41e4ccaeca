// SPDX-License-Identifier: Apache-2.0
// All runs, newest first; two of them can be compared.

import { h, nothing, say, table } from "./dom.js";
import { big, duration, moment, scaled, worth } from "./format.js";

const KINDS = { running: "good", ended: "", crashed: "bad", failed: "bad", aborted: "amber", good: "good", bad: "bad", test: "amber" };
export const tag = (word, kind = KINDS[word]) => h("span", { class: `tag ${kind ?? ""}` }, word);

export async function runs({ api, query, go }) {
  const list = h("div");
  const chosen = new Set();
  const choose = (id, words, choices) => h("div", null, h("label", { for: id }, words), h("select", { id, onchange: show },
    ["", ...choices].map((one) => h("option", { value: one, selected: query.get(id) === one }, one || "all"))));
  const quality = choose("quality", "Quality", ["unknown", "good", "bad", "test"]);
  const state = choose("state", "State", ["running", "ended", "crashed", "aborted", "failed"]);
  const compare = h("button", { type: "button", class: "main", disabled: true, onclick: () => go(`/compare?runs=${[...chosen].join(",")}`) }, "Compare the two");
  const older = h("button", { type: "button", onclick: () => show(null, last) }, "Older ones");
  let last = null;

  async function show(event, before) {
    const wanted = new URLSearchParams({ limit: "100" });
    for (const select of [quality, state].map((one) => one.querySelector("select"))) if (select.value) wanted.set(select.id, select.value);
    if (before) wanted.set("before", before);
    try {
      const rows = await api.get(`runs?${wanted}`);
      last = rows.at(-1)?.number;
      older.hidden = rows.length < 100;
      list.replaceChildren(rows.length ? listed(rows) : nothing("No run."));
    } catch (error) { say(error.message, true); }
  }

  const listed = (rows) => table(["", "run", "name", "state", "quality", "began", "events", "rate", "verdict", "p50", "p99.9", "ledger"], rows.map((row) => [
    h("input", { type: "checkbox", "aria-label": `choose run ${row.number}`, checked: chosen.has(row.number), onchange: (event) => pick(event.target, row.number) }),
    h("a", { href: `/runs/${row.number}` }, String(row.number)), row.name, tag(row.state), tag(row.quality), moment(row.started_ns),
    row.events === null ? "" : big(row.events), row.rate_hz ? scaled(row.rate_hz, "Hz") : "", row.word ? tag(row.word, worth(row.word)) : "", row.p50_ns ? duration(row.p50_ns) : "",
    row.p999_ns ? h("span", { class: row.p999_ns > 1e6 ? "is-bad" : "" }, duration(row.p999_ns)) : "", row.balanced === null ? "" : row.balanced ? "closed" : h("span", { class: "is-bad" }, "off")]),
  ["", "", "", "", "", "", "n", "n", "", "n", "n", ""], "Runs");

  function pick(box, number) {
    if (box.checked) chosen.add(number); else chosen.delete(number);
    compare.disabled = chosen.size !== 2;
  }

  await show();
  return { element: h("div", null, h("h1", null, "Runs"), h("section", { class: "panel", "aria-label": "Runs" }, h("form", { class: "row", onsubmit: (event) => event.preventDefault() }, quality, state, compare), list, h("p", null, older))),
    update: (kind) => { if (kind === "state") show(); } };
}
