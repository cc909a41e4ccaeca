// SPDX-License-Identifier: Apache-2.0
// The chain as a row of stages; between two of them the number of buffers that wait.

import { h, nothing } from "./dom.js";
import { count, percent, scaled } from "./format.js";

export function chain(now, before, seconds) {
  if (!now) return nothing("No run is in progress.");
  return h("ol", { class: "chain" }, now.stages.map((stage, n) => {
    const old = before?.stages[n]?.name === stage.name ? before.stages[n] : null;
    const rate = (key) => (old && seconds > 0 ? (stage[key] - old[key]) / seconds : null);
    return h("li", null, n ? pipe(now.stages[n - 1]) : wire(), card(stage, rate));
  }));
}

function card(stage, rate) {
  return h("div", { class: `stage ${stage.lost ? "losing" : ""}` },
    h("b", null, stage.name),
    h("small", null, stage.about),
    h("span", { class: "flow" }, scaled(rate("went"), "").trimEnd(), h("small", null, ` ${stage.went_unit}/s`)),
    h("small", null, `of ${scaled(rate("came"), `${stage.came_unit}/s`)}`),
    Object.entries(stage.remarks).map(([words, n]) => h("span", { class: "remark" }, `${count(n)} ${words}`)),
    losses(stage));
}

function losses(stage) {
  if (!stage.lost) return h("span", { class: "ok" }, "nothing lost");
  const causes = Object.entries(stage.causes).filter(([, lost]) => lost);
  const words = causes.map(([cause, lost]) => `${count(lost)} ${cause}`).join(", ");
  return h("span", { class: "lost" }, `${count(stage.lost)} lost: ${words}`);
}

const arrow = () => h("span", { "aria-hidden": "true" }, "→");
const wire = () => h("div", { class: "pipe", "aria-hidden": "true" }, "UDP", arrow());

function pipe(from) {
  const full = from.occupancy;
  if (full === null) return h("div", { class: "pipe" }, arrow());
  const kind = full > 0.9 ? "full" : full > 0.5 ? "half" : "";
  const label = `buffers of ${from.name} are ${percent(full)} full`;
  return h("div", { class: "pipe" },
    h("span", null, percent(full)),
    h("div", { class: `level ${kind}`, role: "img", "aria-label": label },
      h("i", { style: `width:${(100 * full).toFixed(1)}%` })),
    arrow());
}
