// SPDX-License-Identifier: Apache-2.0
// The log book, and the notices of the runs.

import { h, nothing, panel, wide } from "./dom.js";
import { moment } from "./format.js";
import { signed } from "./signed.js";

const LOOKS = { warning: "amber", bad: "bad" };

export function writer(api, run, again) {
  const text = h("textarea", { id: "entry", required: true, maxlength: 10000 });
  const written = () => {
    text.value = "";
    return again();
  };
  const write = (event) => {
    event.preventDefault();
    return signed(api, "log", { text: text.value, run }, written);
  };
  return h("form", { class: "operates", onsubmit: write },
    h("label", { for: "entry" }, run ? `New entry for run ${run}` : "New entry"),
    text,
    h("p", null, h("button", { type: "submit", class: "main" }, "Write")));
}

export function entries(rows) {
  return rows.length ? h("ul", { class: "list" }, rows.map(entry)) : nothing("Nothing yet.");
}

function entry(row) {
  const times = row.times > 1 ? ` (${row.times} times)` : "";
  return h("li", null,
    h("span", { class: "soft" }, moment(row.t_ns)),
    row.run ? h("a", { href: `/runs/${row.run}` }, `run ${row.run}`) : null,
    h("span", { class: "grow", style: "white-space:pre-wrap" }, row.text, times),
    whose(row));
}

function whose(row) {
  if (row.author) return h("span", { class: "tag" }, row.author);
  return row.severity ? h("span", { class: `tag ${LOOKS[row.severity] || ""}` }, row.severity) : null;
}

export async function log({ api }) {
  const [book, said] = [h("div"), h("div")];
  const showBook = async () => book.replaceChildren(entries(await api.get("log?limit=500")));
  const showSaid = async () => said.replaceChildren(entries(await api.get("notices?limit=500")));
  await Promise.all([showBook(), showSaid()]);
  const element = h("div", null, h("h1", null, "Log"), h("div", { class: "grid" },
    wide("half", panel("Log book", "", writer(api, null, showBook), book)),
    wide("half", panel("What the runs said", "", said))));
  const update = (kind) => {
    if (kind === "log") showBook();
    if (kind === "notice") showSaid();
  };
  return { element, update };
}
