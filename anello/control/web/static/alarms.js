// SPDX-License-Identifier: Apache-2.0
// The list of alarms: raised, acknowledged, cleared.

import { h, nothing, panel } from "./dom.js";
import { moment } from "./format.js";
import { signed } from "./signed.js";

export function alarmList(rows, api, again) {
  return rows.length ? h("ul", { class: "list" }, rows.map((row) => item(row, api, again))) : nothing("No alarm.");
}

function item(row, api, again) {
  const [words, kind] = standing(row);
  const run = row.run ? `, run ${row.run}` : "";
  const seen = row.acked_by ? `, seen by ${row.acked_by}` : "";
  return h("li", null,
    h("span", { class: `tag ${kind}` }, words),
    h("span", { class: "grow" }, h("strong", null, row.rule), row.text ? `: ${row.text}` : ""),
    h("span", { class: "soft" }, moment(row.raised_ns), run, seen),
    row.acked_ns ? null : acknowledgeButton(row, api, again));
}

function standing(row) {
  if (row.cleared_ns) return ["over", ""];
  return row.acked_ns ? ["seen", "amber"] : ["raised", "bad"];
}

function acknowledgeButton(row, api, again) {
  const label = `Acknowledge the alarm ${row.rule}`;
  const acknowledge = () => signed(api, `alarms/${row.id}/ack`, {}, again);
  return h("button", { type: "button", class: "operates", "aria-label": label, onclick: acknowledge }, "Acknowledge");
}

export async function alarms({ api }) {
  const list = h("div");
  const show = async () => list.replaceChildren(alarmList(await api.get("alarms?limit=500"), api, show));
  await show();
  const about = "Those that stand first. Rules: the section alarms of the configuration.";
  const element = h("div", null, h("h1", null, "Alarms"), panel("All", about, list));
  return { element, update: (kind) => { if (kind === "alarm") show(); } };
}
