// SPDX-License-Identifier: Apache-2.0
// Numbers and times for people: few digits, each with a unit.

export const count = (n) => (n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en"));

const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

export function scaled(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const [factor, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  if (prefix) return `${(value / factor).toPrecision(3)} ${prefix}${unit.length > 3 ? " " : ""}${unit}`;
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${unit}`;
}

export const big = (n) => (Math.abs(n) < 1e6 ? count(n) : scaled(n, "").trimEnd());

export function duration(ns) {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return "–";
  if (ns >= 1e9) return `${(ns / 1e9).toPrecision(3)} s`;
  if (ns >= 1e6) return `${(ns / 1e6).toPrecision(3)} ms`;
  if (ns >= 1e3) return `${Number((ns / 1e3).toPrecision(3))} µs`;
  return `${Math.round(ns)} ns`;
}

export function elapsed(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  return `${hours ? `${hours}:` : ""}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const DAY = { year: "numeric", month: "2-digit", day: "2-digit" };
export const clock = (ns) => (ns ? new Date(ns / 1e6).toLocaleTimeString("en-GB", CLOCK) : "–");
export const moment = (ns) => (ns ? new Date(ns / 1e6).toLocaleString("sv-SE", { ...CLOCK, ...DAY }) : "–");

export function percent(share) {
  if (share === null || share === undefined) return "–";
  return `${(100 * share).toFixed(share > 0.1 || share === 0 ? 0 : 1)} %`;
}

// The style good, amber or bad for the word of a run's verdict; anello/account/verdict.py has the words.
const WORTH = { good: "good", "good, with the faults that were asked for": "good", degraded: "amber" };
export const worth = (word) => WORTH[word] ?? "bad";
