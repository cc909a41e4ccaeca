// SPDX-License-Identifier: Apache-2.0
// The log book, and what the runs said.

import { h, nothing, panel, say } from "./dom.js";
import { moment } from "./format.js";

const LOOKS = { warning: "amber", bad: "bad" };

export function writer(api, run, again) {
  const text = h("textarea", { id: "entry", required: true, maxlength: 10000 });
  const write = async (event) => {
    event.preventDefault();
    const author = api.author();
    if (!author) return;
    try {
      await api.post("log", { text: text.value, author, run });
      text.value = "";
      await again();
    } catch (error) {
      say(error.message, true);
    }
  };
  return h("form", { class: "operates", onsubmit: write }, h("label", { for: "entry" }, run ? `New entry for run ${run}` : "New entry"), text, h("p", null, h("button", { type: "submit", class: "main" }, "Write")));
}

export const entries = (rows) => (rows.length ? h("ul", { class: "list" }, rows.map((row) => h("li", null, h("span", { class: "soft" }, moment(row.t_ns)),
  row.run ? h("a", { href: `/runs/${row.run}` }, `run ${row.run}`) : null, h("span", { class: "grow", style: "white-space:pre-wrap" }, row.text, row.times > 1 ? ` (${row.times} times)` : ""), row.author ? h("span", { class: "tag" }, row.author) : row.severity ? h("span", { class: `tag ${LOOKS[row.severity] || ""}` }, row.severity) : null))) : nothing("Nothing yet."));

export async function log({ api }) {
  const [book, said] = [h("div"), h("div")];
  const showBook = async () => book.replaceChildren(entries(await api.get("log?limit=500")));
  const showSaid = async () => said.replaceChildren(entries(await api.get("notices?limit=500")));
  await Promise.all([showBook(), showSaid()]);
  const element = h("div", null, h("h1", null, "Log"), h("div", { class: "grid" }, panel("Log book", "", writer(api, null, showBook), book), panel("What the runs said", "", said)));
  element.querySelectorAll(".panel").forEach((one) => one.classList.add("half"));
  return { element, update: (kind) => { if (kind === "log") showBook(); if (kind === "notice") showSaid(); } };
}
