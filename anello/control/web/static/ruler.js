// SPDX-License-Identifier: Apache-2.0
// The latency of the last 10 s on a logarithmic ruler, with the line at 1 ms.

import { s } from "./dom.js";
import { duration } from "./format.js";

const [TOP, BASE, HEIGHT, EDGE] = [34, 118, 148, 20];
const LIMIT_US = 1000;

export function ruler(latency, width = 760) {
  const axis = axisOf(latency.histogram.us, width);
  const marks = marksOf(latency);
  return s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "ruler", role: "img", "aria-label": label(marks) },
    axis.ticks.map((value) => tick(value, axis)),
    s("line", { class: "tick", x1: EDGE, x2: width - EDGE, y1: BASE, y2: BASE }),
    area(latency.histogram, axis, (edge) => edge < LIMIT_US - 0.1, "mass"),
    area(latency.histogram, axis, (edge) => edge >= LIMIT_US - 0.1, "late"),
    s("line", { class: "limit", x1: axis.at(LIMIT_US), x2: axis.at(LIMIT_US), y1: 18, y2: BASE + 7 }),
    s("text", { class: "limit-text", x: axis.at(LIMIT_US), y: BASE + 23, "text-anchor": "middle" }, "1 ms"),
    marks.map(([name, ns], n) => mark(`${name} ${duration(ns)}`, axis.at(Math.max(axis.low, ns / 1e3)), n, width)));
}

// at(us): horizontal position of a latency; ticks: the powers of ten between low and the greatest.
function axisOf(us, width) {
  const low = Math.min(10, ...us.slice(0, 1));
  const high = Math.max(5000, ...us.slice(-1).map((edge) => edge * 1.5));
  const at = (value) => EDGE + (width - 2 * EDGE) * (Math.log10(value / low) / Math.log10(high / low));
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power += 1) ticks.push(10 ** power);
  return { low, at, ticks, width };
}

function marksOf(latency) {
  const whole = latency.legs.find((leg) => leg.leg === latency.whole) ?? {};
  return [["p50", whole.p50_ns], ["p99.9", whole.p999_ns]].filter(([, value]) => value);
}

function label(marks) {
  const words = marks.map(([name, ns]) => `${name} ${duration(ns)}`).join(", ") || "nothing yet";
  return `Latency of the last 10 seconds on a logarithmic scale: ${words}; the limit is 1 ms`;
}

// The limit has a label of its own, and a narrow ruler has no room for that of 10 ms.
function tick(value, { at, width }) {
  const isBare = value === LIMIT_US || (width < 500 && value === 10000);
  const words = () => s("text", { x: at(value), y: BASE + 21, "text-anchor": "middle" }, duration(value * 1e3));
  return [s("line", { class: "tick", x1: at(value), x2: at(value), y1: TOP, y2: BASE + 5 }), isBare ? null : words()];
}

// Bars of the bins with a wanted lower edge; heights are square roots, so that the few late events are visible.
function area({ us, share }, { at }, wanted, kind) {
  const most = Math.max(1e-9, ...share.map(Math.sqrt));
  const step = us.length > 1 ? us[1] / us[0] : 1.2;
  const bins = us.map((edge, i) => [edge, share[i]]).filter(([edge]) => wanted(edge));
  if (!bins.length) return null;
  const top = ([edge, part]) => {
    const y = BASE - (BASE - TOP) * (Math.sqrt(part) / most);
    return [`${at(edge)},${y}`, `${at(edge * step)},${y}`];
  };
  const [first, last] = [at(bins[0][0]), at(bins.at(-1)[0] * step)];
  return s("polygon", { class: kind, points: [`${first},${BASE}`, ...bins.flatMap(top), `${last},${BASE}`].join(" ") });
}

function mark(words, x, n, width) {
  const anchor = x > width - 90 ? "end" : x < 60 ? "start" : "middle";
  return [
    s("line", { class: "mark", x1: x, x2: x, y1: n ? 16 : 30, y2: BASE }),
    s("text", { class: "mark-text", x, y: n ? 12 : 26, "text-anchor": anchor }, words)];
}
