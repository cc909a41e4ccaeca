// SPDX-License-Identifier: Apache-2.0
// Plots against time, by Plotly, which the page loads from this server when it shows the first one.

import { h } from "./dom.js";

let loading = null;
const plotly = () => loading ??= new Promise((resolve, reject) => {
  const onload = () => resolve(window.Plotly);
  const onerror = () => reject(new Error("Plotly was not found"));
  document.head.append(h("script", { src: "/plotly.js", onload, onerror }));
});

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// lines: [{name, key, colour, factor, fill}]; options: {unit, log, limit: [value, words]}.
// draw(columns) may be called often.
export function overTime(title, lines, options) {
  const element = h("div", { class: "plot", role: "img", "aria-label": `${title} against time` });
  let last = null;
  async function draw(columns) {
    last = columns ?? last;
    if (!last || !element.isConnected) return;
    const library = await plotly();
    const x = last.t_ms.map((t) => new Date(t));
    const traces = lines.map((line) => trace(line, last, x, options));
    await library.react(element, traces, layout(options, traces, x), { displayModeBar: false, responsive: true });
  }
  return { element, draw };
}

function trace(line, columns, x, options) {
  const isHidden = (value) => value === null || (options.log && value <= 0);
  return {
    x,
    y: columns[line.key].map((value) => (isHidden(value) ? null : value * (line.factor ?? 1))),
    name: line.name,
    mode: "lines",
    line: { color: colour(line.colour), width: 2 },
    fill: line.fill ? "tozeroy" : "none",
    fillcolor: `${colour(line.colour)}22`,
    connectgaps: false,
    hovertemplate: `%{y:,.4~g} ${options.unit}`,
  };
}

// The decades that contain all values and the limit.
function range(traces, limit) {
  const values = [limit, ...traces.flatMap((trace) => trace.y)].filter((value) => value > 0);
  return [Math.floor(Math.log10(Math.min(...values) / 1.5)), Math.log10(Math.max(...values) * 2)];
}

function layout(options, traces, x) {
  const showlegend = traces.length > 1;
  const line = colour("line");
  const axis = { gridcolor: line, linecolor: line, zeroline: false, automargin: true, fixedrange: true };
  return {
    height: 210,
    margin: { l: 58, r: 10, t: showlegend ? 26 : 10, b: 26 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    hovermode: "x unified",
    font: { family: "inherit", size: 12, color: colour("soft") },
    hoverlabel: { bgcolor: colour("panel"), font: { color: colour("ink") } },
    showlegend,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    xaxis: { ...axis, type: "date", nticks: 4, tickangle: 0, tickformat: "%H:%M:%S" },
    yaxis: { ...axis, ...(options.log ? decades(options, traces) : linear(options)), ...scale(options) },
    ...(options.limit && x.length ? limitLine(options) : { shapes: [], annotations: [] }),
  };
}

const scale = (options) => ({ title: { text: options.unit, standoff: 6 }, nticks: 4, rangemode: "tozero" });

function linear(options) {
  return { type: "linear", minallowed: 0, tickformat: options.whole ? ",.3~r" : "~s", autorange: true };
}

function decades(options, traces) {
  return { type: "log", tickformat: "", dtick: 1, range: range(traces, options.limit?.[0]), autorange: false };
}

function limitLine({ log, limit: [limit, text] }) {
  const red = { color: colour("red") };
  const shape = { type: "line", xref: "paper", x0: 0, x1: 1, y0: limit, y1: limit, line: { ...red, width: 2 } };
  const y = log ? Math.log10(limit) : limit;
  const words = { xref: "paper", x: 1, y, text, showarrow: false, xanchor: "right", yanchor: "bottom", font: red };
  return { shapes: [shape], annotations: [words] };
}
