// SPDX-License-Identifier: Apache-2.0
// Alarms: raised, seen by somebody, over.

import { h, nothing, panel, say } from "./dom.js";
import { moment } from "./format.js";

export function alarmList(rows, api, again) {
  if (!rows.length) return nothing("No alarm.");
  return h("ul", { class: "list" }, rows.map((row) => {
    const [words, kind] = row.cleared_ns ? ["over", ""] : row.acked_ns ? ["seen", "amber"] : ["raised", "bad"];
    return h("li", null, h("span", { class: `tag ${kind}` }, words), h("span", { class: "grow" }, h("strong", null, row.rule), row.text ? `: ${row.text}` : ""),
      h("span", { class: "soft" }, moment(row.raised_ns), row.run ? `, run ${row.run}` : "", row.acked_by ? `, seen by ${row.acked_by}` : ""),
      row.acked_ns ? null : h("button", { type: "button", class: "operates", "aria-label": `Acknowledge the alarm ${row.rule}`, onclick: () => acknowledge(row, api, again) }, "Acknowledge"));
  }));
}

async function acknowledge(row, api, again) {
  const author = api.author();
  if (!author) return;
  try {
    await api.post(`alarms/${row.id}/ack`, { author });
    await again();
  } catch (error) {
    say(error.message, true);
  }
}

export async function alarms({ api }) {
  const list = h("div");
  const show = async () => list.replaceChildren(alarmList(await api.get("alarms?limit=500"), api, show));
  await show();
  const element = h("div", null, h("h1", null, "Alarms"), panel("All", "Those that stand first. Rules: the section alarms of the configuration.", list));
  return { element, update: (kind) => { if (kind === "alarm") show(); } };
}
