// SPDX-License-Identifier: Apache-2.0
// Pictures in SVG: the ledger's ring, the millisecond, the last event. Each has words for those who cannot see it.

import { h, s } from "./dom.js";
import { duration, percent } from "./format.js";

// A ring that is whole where the run is good. kind: of its verdict.
export function ledgerRing(kind) {
  const gap = { "is-good": 0, "is-amber": 0.1, "is-bad": 0.2 }[kind] ?? 0.5;
  const length = 2 * Math.PI * 42;
  const sign = { "is-good": "M36 53 L48 65 L70 41", "is-amber": "M52 34 L52 58 M52 70 L52 71", "is-bad": "M42 42 L62 62 M62 42 L42 62" }[kind];
  return s("svg", { viewBox: "0 0 104 104", class: kind, "aria-hidden": "true" },
    s("circle", { cx: 52, cy: 52, r: 42, fill: "none", stroke: "var(--faint)", "stroke-width": 11 }),
    s("circle", { cx: 52, cy: 52, r: 42, fill: "none", stroke: "currentColor", "stroke-width": 11, "stroke-linecap": gap ? "round" : "butt",
      "stroke-dasharray": `${length * (1 - gap)} ${length}`, transform: "rotate(-90 52 52)" }),
    sign ? s("path", { d: sign, fill: "none", stroke: "currentColor", "stroke-width": 7, "stroke-linecap": "round", "stroke-linejoin": "round" }) : null);
}

// The latency of the last 10 s on a logarithmic ruler, with the line at 1 ms.
export function ruler(latency, w = 760) {
  const [top, base] = [34, 118];
  const { us, share } = latency.histogram;
  const low = Math.min(10, ...(us.length ? [us[0]] : [10]));
  const high = Math.max(5000, ...(us.length ? [us.at(-1) * 1.5] : [5000]));
  const at = (value) => 20 + (w - 40) * (Math.log10(value / low) / Math.log10(high / low));
  const most = Math.max(1e-9, ...share.map(Math.sqrt));
  const step = us.length > 1 ? us[1] / us[0] : 1.2;
  const area = (wanted, kind) => {
    const bins = us.map((edge, i) => [edge, share[i]]).filter(([edge]) => wanted(edge));
    if (!bins.length) return null;
    const points = bins.flatMap(([edge, part]) => { const y = base - (base - top) * (Math.sqrt(part) / most); return [`${at(edge)},${y}`, `${at(edge * step)},${y}`]; });
    return s("polygon", { class: kind, points: [`${at(bins[0][0])},${base}`, ...points, `${at(bins.at(-1)[0] * step)},${base}`].join(" ") });
  };
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power += 1) ticks.push(10 ** power);
  const whole = latency.legs.find((leg) => leg.leg === latency.whole) ?? {};
  const marks = [["p50", whole.p50_ns], ["p99.9", whole.p999_ns]].filter(([, value]) => value);
  const words = marks.map(([name, value]) => `${name} ${duration(value)}`).join(", ");
    return s("svg", { viewBox: `0 0 ${w} 148`, class: "ruler", role: "img", "aria-label": `Latency of the last 10 seconds on a logarithmic scale: ${words || "nothing yet"}; the limit is 1 ms` },
    ticks.map((value) => [s("line", { class: "tick", x1: at(value), x2: at(value), y1: top, y2: base + 5 }),
      value === 1000 || (w < 500 && value === 10000) ? null : s("text", { x: at(value), y: base + 21, "text-anchor": "middle" }, duration(value * 1e3))]),
    s("line", { class: "tick", x1: 20, x2: w - 20, y1: base, y2: base }),
    area((edge) => edge < 999.9, "mass"), area((edge) => edge >= 999.9, "late"),
    s("line", { class: "limit", x1: at(1000), x2: at(1000), y1: 18, y2: base + 7 }),
    s("text", { class: "limit-text", x: at(1000), y: base + 23, "text-anchor": "middle" }, "1 ms"),
    marks.map(([name, value], n) => {
      const x = at(Math.max(low, value / 1e3));
      return [s("line", { class: "mark", x1: x, x2: x, y1: n ? 16 : 30, y2: base }),
        s("text", { class: "mark-text", x, y: n ? 12 : 26, "text-anchor": x > w - 90 ? "end" : x < 60 ? "start" : "middle" }, `${name} ${duration(value)}`)];
    }));
}

// The last event: {"kind": "rings", hits: [[x, y]], rings: [[x, y, r]], extent} | {"kind": "image", x, y, value, size} |
// {"kind": "hits", x, y, labels}. Lengths in mm.
export function drawing(event) {
  if (!event) return h("p", { class: "soft" }, "No event has been noted yet.");
  const made = { rings, image, hits }[event.kind]?.(event);
  return made ?? h("p", { class: "soft" }, "This page does not know how to draw such an event.");
}

function rings(event) {
  const r = event.extent;
  return s("svg", { viewBox: `${-r} ${-r} ${2 * r} ${2 * r}`, class: "drawing", role: "img", "aria-label": `${event.hits.length} hits, ${event.rings.length} rings` },
    s("circle", { cx: 0, cy: 0, r: r * 0.98, fill: "none", stroke: "var(--line)", "stroke-width": r / 180 }),
    event.rings.map(([x, y, radius]) => s("circle", { cx: x, cy: -y, r: radius, fill: "none", stroke: "var(--orange)", "stroke-width": r / 90 })),
    event.hits.map(([x, y, inTime]) => s("circle", { cx: x, cy: -y, r: r / 62, fill: inTime === false ? "var(--soft)" : "var(--blue)", "fill-opacity": inTime === false ? 0.45 : 1 })));
}

function image(event) {
  const most = Math.max(1, ...event.value);
  const [x0, x1, y0, y1] = [Math.min(...event.x), Math.max(...event.x), Math.min(...event.y), Math.max(...event.y)];
  const size = event.size;
  const colour = (share) => `hsl(${250 - 205 * share} ${60 + 30 * share}% ${22 + 48 * share}%)`;
  return s("svg", { viewBox: `${x0 - size} ${-y1 - size} ${x1 - x0 + 2 * size} ${y1 - y0 + 2 * size}`, class: "drawing", role: "img",
    "aria-label": `Image, ${event.value.length} channels, ${event.kept ? "kept" : "rejected"}` },
    event.value.map((value, n) => s("circle", { cx: event.x[n], cy: -event.y[n], r: size * 0.54, fill: colour(Math.sqrt(Math.max(0, value) / most)) })));
}

function hits(event) {
  const [x0, x1, y0, y1] = [Math.min(...event.x), Math.max(...event.x, Math.min(...event.x) + 1), Math.min(...event.y), Math.max(...event.y, Math.min(...event.y) + 1)];
  const at = (x, y) => ({ cx: 40 + 540 * (x - x0) / (x1 - x0), cy: 280 - 250 * (y - y0) / (y1 - y0) });
  return s("svg", { viewBox: "0 0 600 320", class: "drawing ruler-text", role: "img", "aria-label": `${event.x.length} hits: ${event.labels?.join(" against ") ?? ""}` },
    event.x.map((x, n) => s("circle", { ...at(x, event.y[n]), r: 4, fill: "var(--blue)", "fill-opacity": 0.75 })),
    s("text", { x: 300, y: 314, "text-anchor": "middle", fill: "var(--soft)", "font-size": 13 }, event.labels?.[0] ?? ""),
    s("text", { x: 14, y: 150, transform: "rotate(-90 14 150)", "text-anchor": "middle", fill: "var(--soft)", "font-size": 13 }, event.labels?.[1] ?? ""));
}

// Counts as bars, with words and shares.
export function bars(found) {
  const sum = found.counts.reduce((one, other) => one + other, 0);
  const most = Math.max(1, ...found.counts);
  return h("dl", { class: "bars" }, found.labels.map((label, n) => [h("dt", null, label),
    h("dd", null, h("div", { class: "track" }, h("i", { style: `width:${100 * found.counts[n] / most}%` }))),
    h("dd", null, sum ? percent(found.counts[n] / sum) : "–")]));
}
