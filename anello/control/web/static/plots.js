// SPDX-License-Identifier: Apache-2.0
// Plots against time, by Plotly, which is fetched once from this server when the first one is shown.

import { h } from "./dom.js";

let loading = null;
const plotly = () => loading ??= new Promise((resolve, reject) => {
  const script = h("script", { src: "/plotly.js", onload: () => resolve(window.Plotly), onerror: () => reject(new Error("Plotly was not found")) });
  document.head.append(script);
});

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// lines: [{name, key, colour, factor, fill}]; options: {unit, log, limit: [value, words]}. draw(columns) may be called often.
export function overTime(title, lines, options) {
  const element = h("div", { class: "plot", role: "img", "aria-label": `${title} against time` });
  let last = null;
  async function draw(columns) {
    last = columns ?? last;
    if (!last || !element.isConnected) return;
    const library = await plotly();
    const x = last.t_ms.map((t) => new Date(t));
    const traces = lines.map((line) => ({
      x, y: last[line.key].map((value) => (value === null || (options.log && value <= 0) ? null : value * (line.factor ?? 1))), name: line.name, mode: "lines",
      line: { color: colour(line.colour), width: 2 }, fill: line.fill ? "tozeroy" : "none", fillcolor: `${colour(line.colour)}22`, connectgaps: false, hovertemplate: `%{y:,.4~g} ${options.unit}` }));
    await library.react(element, traces, layout(options, traces, x), { displayModeBar: false, responsive: true });
  }
  return { element, draw };
}

// Decades around all values and the limit.
function range(traces, limit) {
  const values = [limit, ...traces.flatMap((trace) => trace.y)].filter((value) => value > 0);
  return [Math.floor(Math.log10(Math.min(...values) / 1.5)), Math.log10(Math.max(...values) * 2)];
}

function layout(options, traces, x) {
  const legend = traces.length > 1;
  const axis = { gridcolor: colour("line"), linecolor: colour("line"), zeroline: false, automargin: true, fixedrange: true };
  const [limit, words] = options.limit ?? [];
  return {
    height: 210, margin: { l: 58, r: 10, t: legend ? 26 : 10, b: 26 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "x unified",
    font: { family: "inherit", size: 12, color: colour("soft") }, hoverlabel: { bgcolor: colour("panel"), font: { color: colour("ink") } },
    showlegend: legend, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    xaxis: { ...axis, type: "date", nticks: 4, tickangle: 0, tickformat: "%H:%M:%S" },
    yaxis: { ...axis, type: options.log ? "log" : "linear", rangemode: "tozero", minallowed: options.log ? undefined : 0, title: { text: options.unit, standoff: 6 }, tickformat: options.log ? "" : options.whole ? ",.3~r" : "~s", dtick: options.log ? 1 : undefined, nticks: 4, range: options.log ? range(traces, limit) : undefined, autorange: !options.log },
    shapes: limit && x.length ? [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: limit, y1: limit, line: { color: colour("red"), width: 2 } }] : [],
    annotations: limit && x.length ? [{ xref: "paper", x: 1, y: options.log ? Math.log10(limit) : limit, text: words, showarrow: false, xanchor: "right", yanchor: "bottom", font: { color: colour("red") } }] : [],
  };
}
