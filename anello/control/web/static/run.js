// SPDX-License-Identifier: Apache-2.0
// One run: how it ended, what it lost, its files, counters, configuration, notices, log; and what the shift thinks of it.

import { h, nothing, panel, refill, say, table } from "./dom.js";
import { big, count, duration, elapsed, moment, scaled, worth } from "./format.js";
import { entries, writer } from "./log.js";
import { tag } from "./runs.js";

export async function run({ api, number }) {
  const element = h("div", { oninput: (event) => { event.target.dataset.typed = ""; } });
  const read = async () => view(await api.get(`runs/${number}`), api, show);
  const show = async () => element.replaceChildren(...await read());
  await show();
  return { element, update: async (kind) => { if (kind === "log" || kind === "state") refill(element, await read()); } };
}

function view(row, api, again) {
  const took = row.ended_ns ? elapsed((row.ended_ns - row.started_ns) / 1e6) : "goes on";
  const tile = (value, words, kind = "") => h("div", { class: `tile ${kind}` }, h("b", null, value), h("span", null, words));
  const report = h("button", { type: "button", class: "main", onclick: () => api.open(`runs/${row.number}/report`).catch((error) => say(error.message, true)) }, "Open its report");
  return [
    h("h1", null, `Run ${row.number} · ${row.name} `, tag(row.state), " ", tag(row.quality)),
    h("p", { class: "about" }, `${moment(row.started_ns)}, ${took}; ${row.operator} at ${row.host}; Anello ${row.version} ${row.commit_sha ?? ""}`),
    h("div", { class: "grid" },
      h("div", { class: "tiles" }, tile(row.events === null ? "–" : big(row.events), "events"), tile(row.rate_hz ? scaled(row.rate_hz, "Hz") : "–", "rate"),
        tile(row.word ?? "–", "verdict", row.word ? worth(row.word) : ""), tile(duration(row.p50_ns), "p50"), tile(duration(row.p999_ns), "p99.9", row.p999_ns > 1e6 ? "bad" : ""),
        tile(row.balanced === null ? "–" : row.balanced ? "closed" : "off", "ledger", row.balanced === null ? "" : row.balanced ? "good" : "bad")),
      half(panel("How it ended", "", h("p", null, row.verdict || "It has not ended."), row.losses.length ? table(["lost", "why", ""], row.losses.map((one) => [count(one.n), one.cause, one.ordered ? "as configured" : ""]), ["n"]) : nothing("Nothing was lost."), h("p", { class: "orders" }, report,
        h("a", { href: `/compare?runs=${row.number - 1},${row.number}` }, "Compare with the one before")))),
      half(panel("What the shift thinks", "", mark(row, api, again))),
      half(panel("Log book", "", writer(api, row.number, again), entries(row.log ?? []))), half(panel("Notices", "", entries(row.notices))),
      panel("Files", "", row.files.length ? table(["file", "size", "SHA-256"], row.files.map((one) => [one.path, scaled(one.bytes, "B"), h("span", { class: "mono" }, one.sha256 ?? "")]), ["", "n"]) : nothing("None."), h("p", { class: "soft mono" }, row.directory)),
      panel("Counters at the end", "", ...Object.entries(row.counters).map(([process, blocks]) => h("details", null, h("summary", null, process), table(["counter", "value"], Object.entries(blocks).flatMap(([block, values]) => Object.entries(values).map(([name, value]) => [`${block}.${name}`, count(value)])), ["", "n"])))),
      panel("Configuration", "", h("details", null, h("summary", null, `As it was: ${(row.configuration?.digest ?? "").slice(0, 12)}`), h("pre", null, row.configuration?.toml ?? "")), h("p", { class: "soft mono" }, row.command)))];
}

function mark(row, api, again) {
  const quality = h("select", { id: "mark" }, ["unknown", "good", "bad", "test"].map((one) => h("option", { value: one, selected: one === row.quality }, one)));
  const comment = h("input", { id: "comment", value: row.comment ?? "", maxlength: 10000 });
  const send = async (event) => {
    event.preventDefault();
    const author = api.author();
    if (!author) return;
    try {
      await api.post(`runs/${row.number}/quality`, { quality: quality.value, comment: comment.value, author });
      say(`Run ${row.number} is marked ${quality.value}`);
      await again();
    } catch (error) { say(error.message, true); }
  };
  return h("form", { class: "row operates", onsubmit: send }, h("div", null, h("label", { for: "mark" }, "Quality"), quality), h("div", { class: "grow" }, h("label", { for: "comment" }, "Comment"), comment), h("button", { type: "submit", class: "main" }, "Mark"));
}

function half(element) {
  element.classList.add("half");
  return element;
}
