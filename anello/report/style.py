# SPDX-License-Identifier: Apache-2.0
"""The style of reports: light or dark as the reader's system is, from a phone to a wall screen, and on paper."""

import json

from anello.report import plot

# fmt: off
FOR_THE_DARK = {  # colour of plot.py -> its replacement on dark ground
    "white": "#161b22", plot.INK: "#e6edf3", plot.SOFT: "#8b98a5", plot.FAINT: "#2d333b", plot.BLUE: "#58a6ff",
    plot.ORANGE: "#ff9f5a", plot.GREEN: "#56d364", plot.RED: "#ff7b72", plot.PURPLE: "#bc8cff", plot.TEAL: "#39c5cf",
}
# fmt: on
_LIGHT = f"""color-scheme: light; --ground: #f6f8fa; --paper: white; --ink: {plot.INK}; --words: #52606d;
  --line: {plot.FAINT}; --rule: {plot.SOFT}; --good: #1f7434; --bad: {plot.RED}; --found: #a84300;"""
_DARK = """color-scheme: dark; --ground: #0d1117; --paper: #161b22; --ink: #e6edf3; --words: #a5b1bd; --line: #2d333b;
  --rule: #8b98a5; --good: #56d364; --bad: #ff7b72; --found: #ff9f5a;"""
STYLE = f"""
:root {{ {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
* {{ box-sizing: border-box; }}
body {{ font: 15px/1.55 {plot.FONT}; color: var(--ink); background: var(--ground); margin: 0; }}
main {{ max-width: 1160px; margin: 0 auto; padding: 28px 24px 64px; overflow-wrap: anywhere; }}
h1 {{ font-size: 28px; font-weight: 650; margin: 0; letter-spacing: -0.01em; }}
h2 {{ font-size: 18px; font-weight: 650; margin: 0 0 2px; }} h3 {{ font-size: 15px; }}
p.about {{ color: var(--words); margin: 0 0 10px; max-width: 74ch; }}
header p {{ color: var(--words); margin: 2px 0 20px; }}
section {{ background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 18px 22px;
  margin: 18px 0; }}
.tiles {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; }}
.tile {{ background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 10px 12px; }}
.tile b {{ display: block; font-size: 22px; font-weight: 650; font-variant-numeric: tabular-nums; }}
.tile span {{ color: var(--words); font-size: 13px; }}
.good b {{ color: var(--good); }} .bad b {{ color: var(--bad); }}
.pair {{ display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px 24px; }}
.three {{ display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 8px; }}
figure {{ margin: 0 0 8px; min-width: 0; }} .plot {{ overflow: hidden; max-width: 100%; }}
figcaption {{ color: var(--words); font-size: 13.5px; max-width: 84ch; }}
.scroll {{ overflow-x: auto; max-width: 100%; overflow-wrap: normal; }}
.scroll:focus-visible {{ outline: 2px solid var(--rule); }}
table {{ border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }}
th {{ text-align: left; font-weight: 600; color: var(--words); border-bottom: 1px solid var(--rule); }}
td {{ border-bottom: 1px solid var(--line); vertical-align: top; }}
th, td {{ padding: 4px 10px 4px 0; }}
.n {{ text-align: right; white-space: nowrap; }} .off td {{ color: var(--bad); font-weight: 600; }}
.parts span {{ color: var(--words); }} code {{ font-size: 12.5px; white-space: pre-wrap; }}
.key {{ margin: 0; font-size: 13.5px; }} .key span {{ margin-right: 18px; white-space: nowrap; }}
.true {{ color: var(--good); }} .found {{ color: var(--found); }} a {{ color: inherit; }}
details summary {{ cursor: pointer; color: var(--words); }}
@media (max-width: 800px) {{ .pair, .three {{ grid-template-columns: minmax(0, 1fr); }} }}
@media (max-width: 600px) {{ main {{ padding: 16px 10px 40px; }} section {{ padding: 14px 12px; }}
  h1 {{ font-size: 22px; }}
  .tiles {{ grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; }} .tile b {{ font-size: 18px; }} }}
@media print {{ :root {{ {_LIGHT} }} body {{ background: white; }} main {{ max-width: none; padding: 0; }}
  section {{ border: 0; padding: 0; }} figure, tr, .tile {{ break-inside: avoid; }} h2 {{ break-after: avoid; }}
  .scroll {{ overflow: visible; }} details:not([open]) {{ display: none; }} @page {{ margin: 14mm; }} }}
"""
SCRIPT = f"""
(() => {{
  const forTheDark = {json.dumps(FOR_THE_DARK)};
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const seen = (value, dark) => typeof value === "string" ? (dark && forTheDark[value]) || value
    : Array.isArray(value) ? value.map((one) => seen(one, dark))
    : value && typeof value === "object"
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, seen(one, dark)])) : value;
  const draw = (dark) => document.querySelectorAll(".plot").forEach((place) => {{
    const plot = JSON.parse(place.nextElementSibling.textContent);
    if (!window.Plotly) {{ place.textContent = "No plot: plotly.min.js is not where this page expects it."; return; }}
    Plotly.react(place, seen(plot.data, dark), seen(plot.layout, dark), {{displayModeBar: false, responsive: true}});
  }});
  draw(isDark.matches);
  isDark.addEventListener("change", () => draw(isDark.matches));
  addEventListener("beforeprint", () => draw(false));
  addEventListener("afterprint", () => draw(isDark.matches));
}})();
"""
