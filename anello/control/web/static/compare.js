// SPDX-License-Identifier: Apache-2.0
// Compares two runs: differences in their configuration and in their results.

import { h, nothing, panel, table } from "./dom.js";
import { count, duration, moment } from "./format.js";

const KINDS = ["", "n", "n", "n", ""];
const BY_CHANCE = "Chance explains what is not marked, all comparisons taken together.";
const LEGS = "Each leg: its quantiles, and how far apart the two distributions are (Kolmogorov and Smirnov).";

export async function compare({ api, query, go }) {
  const [first, second] = (query.get("runs") ?? "").split(",");
  const which = h("section", { class: "panel", "aria-label": "Which runs" }, form(first, second, go));
  const element = h("div", null, h("h1", null, "Compare"), which);
  if (first && second) {
    const found = await api.get(`compare?runs=${first},${second}`);
    element.append(h("div", { class: "grid", style: "margin-top:16px" }, ...view(found)));
  }
  return { element };
}

function form(first, second, go) {
  const [one, other] = [numberField("first", first), numberField("second", second)];
  const send = (event) => {
    event.preventDefault();
    go(`/compare?runs=${one.value},${other.value}`);
  };
  return h("form", { class: "row", onsubmit: send },
    h("div", null, h("label", { for: "first" }, "Run"), one),
    h("div", null, h("label", { for: "second" }, "with run"), other),
    h("button", { type: "submit", class: "main" }, "Compare"));
}

const numberField = (id, value) => h("input", {
  id, inputmode: "numeric", pattern: "[0-9]+", required: true, value: value ?? "",
});

function view(found) {
  const head = (first) => [first, ...found.runs.map(title), "ratio", ""];
  return [
    panel("What differs", "", differences(found.verdict)),
    panel("Results", BY_CHANCE, results(found, head(""))),
    panel("Configuration", "", configuration(found)),
    panel("Latency", LEGS, legs(found.latency, head("leg"))),
    panel("Losses", "", losses(found.losses, head("why")))];
}

const title = (run) => `run ${run.number}`;
const chance = (pair) => (pair.beyond ? h("span", { class: "tag amber" }, "not by chance") : "");
const row = (words, pair, show = text) => [
  words, show(pair.first), show(pair.second), pair.ratio ? pair.ratio.toPrecision(3) : "", chance(pair),
];

function differences(verdict) {
  if (!verdict.length) return nothing("Nothing that chance does not explain.");
  return h("ul", { class: "list" }, verdict.map((line) => h("li", null, line)));
}

function results(found, head) {
  const [one, other] = found.runs;
  const both = (words, value) => [words, value(one), value(other), "", ""];
  const rows = [
    both("began", (run) => moment(run.started_ns)),
    both("state", (run) => run.state),
    both("quality", (run) => run.quality),
    both("version", (run) => `${run.version} ${(run.commit_sha ?? "").slice(0, 10)}`),
    both("host", (run) => run.host),
    ...found.rates.map((pair) => row(pair.what, pair)),
    ...found.quality.map((pair) => row(pair.what, pair))];
  return table(head, rows, KINDS, "Results of both");
}

function configuration(found) {
  if (!found.configuration.length) return nothing("The same.");
  const rows = found.configuration.map((pair) => [
    h("span", { class: "mono" }, pair.key),
    h("span", { class: "diff-old" }, text(pair.first)),
    h("span", { class: "diff-new" }, text(pair.second))]);
  return table(["key", ...found.runs.map(title)], rows);
}

function legs(latency, head) {
  const rows = Object.entries(latency).flatMap(([leg, pair]) => {
    const distance = `distance ${pair.distance.toPrecision(2)}`;
    const whole = [h("strong", null, leg), count(pair.first), count(pair.second), distance, chance(pair)];
    return [whole, ...pair.quantiles.map((one) => row(one.quantile, one, duration))];
  });
  return rows.length ? table(head, rows, KINDS, "Latency") : nothing("There is nothing to compare.");
}

function losses(pairs, head) {
  if (!pairs.length) return nothing("Neither lost anything.");
  const cause = (pair) => `${pair.cause}${pair.ordered ? " (as configured)" : ""}`;
  return table(head, pairs.map((pair) => row(cause(pair), pair, count)), KINDS);
}

function text(value) {
  if (value === undefined || value === null) return "–";
  if (typeof value === "number") return Number(value.toPrecision(4)).toLocaleString("en");
  return typeof value === "string" ? value : JSON.stringify(value);
}
