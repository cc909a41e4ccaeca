// SPDX-License-Identifier: Apache-2.0
// One run: its end, losses, files, counters, configuration, notices, log; and the shift's judgement.

import { h, nothing, panel, refill, say, table, tile, wide } from "./dom.js";
import { big, count, duration, elapsed, moment, scaled, worth } from "./format.js";
import { entries, writer } from "./log.js";
import { allOf } from "./nodes.js";
import { tag } from "./runs.js";
import { signed } from "./signed.js";

export async function run({ api, number }) {
  const element = h("div", { oninput: (event) => { event.target.dataset.typed = ""; } });
  const read = async () => view(await api.get(`runs/${number}`), api, show);
  const show = async () => element.replaceChildren(...await read());
  await show();
  const update = async (kind) => {
    if (kind === "log" || kind === "state") refill(element, await read());
  };
  return { element, update };
}

function view(row, api, again) {
  return [
    h("h1", null, `Run ${row.number} · ${row.name} `, tag(row.state), " ", tag(row.quality)),
    h("p", { class: "about" }, origin(row)),
    h("div", { class: "grid" },
      tiles(row),
      wide("half", panel("How it ended", "", ...howItEnded(row, api))),
      wide("half", panel("What the shift thinks", "", mark(row, api, again))),
      wide("half", panel("Log book", "", writer(api, row.number, again), entries(row.log ?? []))),
      wide("half", panel("Notices", "", entries(row.notices))),
      panel("Files", "", files(row.files), h("p", { class: "soft mono" }, row.directory)),
      panel("Counters at the end", "", ...Object.entries(row.counters).map(counters)),
      panel("Configuration", "", configuration(row.configuration), h("p", { class: "soft mono" }, row.command)))];
}

function origin(row) {
  const took = row.ended_ns ? elapsed((row.ended_ns - row.started_ns) / 1e6) : "in progress";
  const version = `Anello ${row.version} ${row.commit_sha ?? ""}`;
  return `${moment(row.started_ns)}, ${took}; ${row.operator} at ${row.host}; ${version}`;
}

function tiles(row) {
  return h("div", { class: "tiles" },
    tile(row.events === null ? "–" : big(row.events), "events"),
    tile(row.rate_hz ? scaled(row.rate_hz, "Hz") : "–", "rate"),
    tile(row.word ?? "–", "verdict", row.word ? worth(row.word) : ""),
    tile(duration(row.p50_ns), "p50"),
    tile(duration(row.p999_ns), "p99.9", row.p999_ns > 1e6 ? "bad" : ""),
    tile(...ledger(row.balanced)));
}

function ledger(balanced) {
  if (balanced === null) return ["–", "ledger"];
  return balanced ? ["closed", "ledger", "good"] : ["off", "ledger", "bad"];
}

function howItEnded(row, api) {
  return [h("p", null, row.verdict || "It has not ended."), losses(row), links(row, api)];
}

function losses(row) {
  if (!row.losses.length) return nothing("Nothing was lost.");
  const line = (one) => [count(one.n), one.cause, one.ordered ? "as configured" : ""];
  return table(["lost", "why", ""], row.losses.map(line), ["n"]);
}

function links(row, api) {
  const open = () => api.open(`runs/${row.number}/report`).catch((error) => say(error.message, true));
  return h("p", { class: "orders" },
    h("button", { type: "button", class: "main", onclick: open }, "Open its report"),
    h("a", { href: `/compare?runs=${row.number - 1},${row.number}` }, "Compare with the one before"));
}

function files(list) {
  if (!list.length) return nothing("None.");
  const line = (one) => [one.path, scaled(one.bytes, "B"), h("span", { class: "mono" }, one.sha256 ?? "")];
  return table(["file", "size", "SHA-256"], list.map(line), ["", "n"]);
}

function counters([process, blocks]) {
  const lines = allOf(blocks).map(([name, value]) => [name, count(value)]);
  return h("details", null, h("summary", null, process), table(["counter", "value"], lines, ["", "n"]));
}

function configuration(used) {
  const summary = `As it was: ${(used?.digest ?? "").slice(0, 12)}`;
  return h("details", null, h("summary", null, summary), h("pre", null, used?.toml ?? ""));
}

function mark(row, api, again) {
  const option = (one) => h("option", { value: one, selected: one === row.quality }, one);
  const quality = h("select", { id: "mark" }, ["unknown", "good", "bad", "test"].map(option));
  const comment = h("input", { id: "comment", value: row.comment ?? "", maxlength: 10000 });
  const marked = () => {
    say(`Run ${row.number} is marked ${quality.value}`);
    return again();
  };
  const send = (event) => {
    event.preventDefault();
    return signed(api, `runs/${row.number}/quality`, { quality: quality.value, comment: comment.value }, marked);
  };
  return h("form", { class: "row operates", onsubmit: send },
    h("div", null, h("label", { for: "mark" }, "Quality"), quality),
    h("div", { class: "grow" }, h("label", { for: "comment" }, "Comment"), comment),
    h("button", { type: "submit", class: "main" }, "Mark"));
}
