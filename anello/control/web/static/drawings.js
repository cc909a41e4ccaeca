// SPDX-License-Identifier: Apache-2.0
// Pictures in SVG: the ledger's ring, the last event, counts as bars. Each has a description for screen readers.

import { h, s } from "./dom.js";
import { percent } from "./format.js";

const GAPS = { "is-good": 0, "is-amber": 0.1, "is-bad": 0.2 };
const SIGNS = {
  "is-good": "M36 53 L48 65 L70 41",
  "is-amber": "M52 34 L52 58 M52 70 L52 71",
  "is-bad": "M42 42 L62 62 M62 42 L42 62",
};

// A ring that is closed if the run is good. kind: of its verdict.
export function ledgerRing(kind) {
  const gap = GAPS[kind] ?? 0.5;
  const length = 2 * Math.PI * 42;
  const stroke = { fill: "none", stroke: "currentColor" };
  const round = { "stroke-linecap": "round", "stroke-linejoin": "round" };
  const circle = { cx: 52, cy: 52, r: 42, ...stroke, "stroke-width": 11 };
  const dashes = { "stroke-dasharray": `${length * (1 - gap)} ${length}`, transform: "rotate(-90 52 52)" };
  return s("svg", { viewBox: "0 0 104 104", class: kind, "aria-hidden": "true" },
    s("circle", { ...circle, stroke: "var(--faint)" }),
    s("circle", { ...circle, "stroke-linecap": gap ? "round" : "butt", ...dashes }),
    SIGNS[kind] ? s("path", { d: SIGNS[kind], ...stroke, "stroke-width": 7, ...round }) : null);
}

// The last event, lengths in mm: {"kind": "rings", hits: [[x, y]], rings: [[x, y, r]], extent} |
// {"kind": "image", x, y, value, size} | {"kind": "hits", x, y, labels}.
export function drawing(event) {
  if (!event) return h("p", { class: "soft" }, "No event has been noted yet.");
  const made = { rings, image, hits }[event.kind]?.(event);
  return made ?? h("p", { class: "soft" }, "This page does not know how to draw such an event.");
}

const picture = (viewBox, label, ...children) =>
  s("svg", { viewBox, class: "drawing", role: "img", "aria-label": label }, ...children);

function rings(event) {
  const r = event.extent;
  const line = (of, colour, width) => ({ r: of, fill: "none", stroke: `var(--${colour})`, "stroke-width": width });
  const hit = ([x, y, inTime]) => s("circle", {
    cx: x,
    cy: -y,
    r: r / 62,
    fill: inTime === false ? "var(--soft)" : "var(--blue)",
    "fill-opacity": inTime === false ? 0.45 : 1,
  });
  return picture(`${-r} ${-r} ${2 * r} ${2 * r}`, `${event.hits.length} hits, ${event.rings.length} rings`,
    s("circle", { cx: 0, cy: 0, ...line(r * 0.98, "line", r / 180) }),
    event.rings.map(([x, y, radius]) => s("circle", { cx: x, cy: -y, ...line(radius, "orange", r / 90) })),
    event.hits.map(hit));
}

function image(event) {
  const { x, y, value, size } = event;
  const most = Math.max(1, ...value);
  const [left, right, top, bottom] = [Math.min(...x), Math.max(...x), Math.max(...y), Math.min(...y)];
  const colour = (share) => `hsl(${250 - 205 * share} ${60 + 30 * share}% ${22 + 48 * share}%)`;
  const fill = (one) => colour(Math.sqrt(Math.max(0, one) / most));
  const viewBox = `${left - size} ${-top - size} ${right - left + 2 * size} ${top - bottom + 2 * size}`;
  return picture(viewBox, `Image, ${value.length} channels, ${event.kept ? "kept" : "rejected"}`,
    value.map((one, n) => s("circle", { cx: x[n], cy: -y[n], r: size * 0.54, fill: fill(one) })));
}

function hits(event) {
  const [x, y] = [places(event.x), places(event.y)];
  const [across, up] = [event.labels?.[0] ?? "", event.labels?.[1] ?? ""];
  const label = `${event.x.length} hits: ${event.labels?.join(" against ") ?? ""}`;
  const words = { "text-anchor": "middle", fill: "var(--soft)", "font-size": 13 };
  const hit = (_, n) => s("circle", {
    cx: 40 + 540 * x[n], cy: 280 - 250 * y[n], r: 4, fill: "var(--blue)", "fill-opacity": 0.75,
  });
  const drawn = picture("0 0 600 320", label,
    event.x.map(hit),
    s("text", { x: 300, y: 314, ...words }, across),
    s("text", { x: 14, y: 150, transform: "rotate(-90 14 150)", ...words }, up));
  drawn.classList.add("ruler-text");
  return drawn;
}

// Scales values from the least and the greatest to 0 and 1; the two differ by at least 1.
function places(values) {
  const least = Math.min(...values);
  const most = Math.max(...values, least + 1);
  return values.map((value) => (value - least) / (most - least));
}

// Counts as bars, with labels and shares.
export function bars(found) {
  const sum = found.counts.reduce((one, other) => one + other, 0);
  const most = Math.max(1, ...found.counts);
  const bar = (label, n) => [
    h("dt", null, label),
    h("dd", null, h("div", { class: "track" }, h("i", { style: `width:${(100 * found.counts[n]) / most}%` }))),
    h("dd", null, sum ? percent(found.counts[n] / sum) : "–"),
  ];
  return h("dl", { class: "bars" }, found.labels.map(bar));
}
