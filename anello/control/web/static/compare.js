// SPDX-License-Identifier: Apache-2.0
// Two runs beside each other: what was set differently, and what came of it.

import { h, nothing, panel, table } from "./dom.js";
import { count, duration, moment } from "./format.js";

export async function compare({ api, query, go }) {
  const [first, second] = (query.get("runs") ?? "").split(",");
  const field = (id, words, value) => h("div", null, h("label", { for: id }, words), h("input", { id, inputmode: "numeric", pattern: "[0-9]+", required: true, value: value ?? "" }));
  const form = h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); go(`/compare?runs=${form.querySelector("#first").value},${form.querySelector("#second").value}`); } },
    field("first", "Run", first), field("second", "with run", second), h("button", { type: "submit", class: "main" }, "Compare"));
  const element = h("div", null, h("h1", null, "Compare"), h("section", { class: "panel", "aria-label": "Which runs" }, form));
  if (first && second) element.append(h("div", { class: "grid", style: "margin-top:16px" }, ...view(await api.get(`compare?runs=${first},${second}`))));
  return { element };
}

function view(found) {
  const [one, other] = found.runs;
  const head = (first) => [first, `run ${one.number}`, `run ${other.number}`, "ratio", ""];
  const row = (words, pair, show = text) => [words, show(pair.first), show(pair.second), pair.ratio ? pair.ratio.toPrecision(3) : "", pair.beyond ? h("span", { class: "tag amber" }, "not by chance") : ""];
  const kinds = ["", "n", "n", "n", ""];
  const both = (words, value) => [words, value(one), value(other), "", ""];
  return [
    panel("What differs", "", found.verdict.length ? h("ul", { class: "list" }, found.verdict.map((line) => h("li", null, line))) : nothing("Nothing that chance does not explain.")),
    panel("Results", "Chance explains what is not marked, all comparisons taken together.", table(head(""), [
      both("began", (run) => moment(run.started_ns)), both("state", (run) => run.state), both("quality", (run) => run.quality), both("version", (run) => `${run.version} ${(run.commit_sha ?? "").slice(0, 10)}`), both("host", (run) => run.host),
      ...found.rates.map((pair) => row(pair.what, pair)), ...found.quality.map((pair) => row(pair.what, pair))], kinds, "Results of both")),
    panel("Configuration", "", found.configuration.length ? table(["key", `run ${one.number}`, `run ${other.number}`], found.configuration.map((pair) => [h("span", { class: "mono" }, pair.key), h("span", { class: "diff-old" }, text(pair.first)), h("span", { class: "diff-new" }, text(pair.second))])) : nothing("The same.")),
    panel("Latency", "Each leg: its quantiles, and how far apart the two distributions are (Kolmogorov and Smirnov).", legs(found.latency, head, row, kinds)),
    panel("Losses", "", found.losses.length ? table(head("why"), found.losses.map((pair) => row(`${pair.cause}${pair.ordered ? " (as configured)" : ""}`, pair, count)), kinds) : nothing("Neither lost anything."))];
}

function legs(latency, head, row, kinds) {
  const rows = Object.entries(latency).flatMap(([leg, pair]) => [
    [h("strong", null, leg), count(pair.first), count(pair.second), `distance ${pair.distance.toPrecision(2)}`, pair.beyond ? h("span", { class: "tag amber" }, "not by chance") : ""],
    ...pair.quantiles.map((one) => row(one.quantile, one, duration))]);
  return rows.length ? table(head("leg"), rows, kinds, "Latency") : nothing("There is nothing to compare.");
}

const text = (value) => (value === undefined || value === null ? "–" : typeof value === "number" ? Number(value.toPrecision(4)).toLocaleString("en") : typeof value === "string" ? value : JSON.stringify(value));
