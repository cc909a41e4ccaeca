// SPDX-License-Identifier: Apache-2.0
// The configuration as a form. What is wrong is told in the words of the command line, beside the field.

import { h, panel, say, table, nothing } from "./dom.js";
import { moment } from "./format.js";

const shown = (value) => (Array.isArray(value) ? JSON.stringify(value) : String(value ?? ""));

export async function config({ api }) {
  let now = await api.get("config");
  const fields = h("div");
  const problem = h("p", { class: "cause", role: "alert", hidden: true });
  const file = h("input", { id: "file", value: now.file, required: true, style: "width:100%" });
  const inputs = new Map();

  function draw() {
    inputs.clear();
    const sections = Object.entries(Object.groupBy ? Object.groupBy(now.keys, sectionOf) : grouped(now.keys));
    fields.replaceChildren(...sections.map(([section, keys]) => h("details", { open: keys.some(isChanged) }, h("summary", null, section || "general", h("span", { class: "soft" }, ` ${keys.length} keys`)), keys.map(field))));
  }

  const isChanged = (key) => shown(key.value) !== shown(key.default);

  function field(key) {
    const id = `key-${key.key.replaceAll(".", "-")}`;
    const input = key.type === "switch" ? h("input", { id, type: "checkbox", checked: Boolean(key.value), "aria-describedby": `${id}-about` })
      : key.choices.length ? h("select", { id, "aria-describedby": `${id}-about` }, key.choices.map((one) => h("option", { value: String(one), selected: one === key.value }, String(one))))
      : h("input", { id, value: shown(key.value), "aria-describedby": `${id}-about` });
    inputs.set(key.key, { input, key });
    const bounds = Object.entries(key.bounds).map(([word, value]) => `${{ ge: "≥", gt: ">", le: "≤", lt: "<" }[word]} ${value}`).join(", ");
    return h("div", { class: "field" }, h("label", { for: id, class: "mono" }, key.key), h("div", null, input), h("p", { id: `${id}-about` }, key.meaning, bounds ? ` (${bounds})` : "", isChanged(key) ? h("span", { class: "changed" }, ` default ${shown(key.default)}`) : ""));
  }

  const value = ({ input, key }) => (input.type === "checkbox" ? String(input.checked) : input.value);
  const asGiven = ({ key }) => (key.type === "switch" ? String(Boolean(key.value)) : shown(key.value));
  const settings = () => [...new Set([...now.settings, ...[...inputs.values()].filter((one) => value(one) !== asGiven(one)).map((one) => `${one.key.key}=${value(one)}`)])];

  async function send(path, words) {
    problem.hidden = true;
    inputs.forEach(({ input }) => input.removeAttribute("aria-invalid"));
    try {
      await api.post(path, { file: file.value, settings: settings() });
      if (path === "configure") { now = await api.get("config"); file.value = now.file; draw(); }
      say(words);
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
      const wrong = inputs.get(error.body?.field)?.input;
      if (wrong) { wrong.closest("details").open = true; wrong.setAttribute("aria-invalid", "true"); wrong.focus(); }
    }
  }

  async function read() {
    try { now = { ...(await api.post("check", { file: file.value, settings: [] })) }; draw(); problem.hidden = true; } catch (error) { problem.hidden = false; problem.textContent = error.message; }
  }

  draw();
  const configs = await api.get("configs");
  const element = h("div", null, h("h1", null, "Configuration"), h("div", { class: "grid" },
    h("section", { class: "panel", "aria-label": "Configuration" }, h("form", { onsubmit: (event) => { event.preventDefault(); send("configure", "Configured"); } },
      h("div", { class: "row", style: "display:flex;flex-wrap:wrap;gap:10px;align-items:end" }, h("div", { class: "grow" }, h("label", { for: "file" }, "File on the control room's machine"), file), h("button", { type: "button", class: "operates", onclick: read }, "Read"),
        h("button", { type: "button", class: "operates", onclick: () => send("check", "Nothing is wrong with it") }, "Check"), h("button", { type: "submit", class: "main operates" }, "Configure")), problem, fields)),
    panel("Earlier ones", "", configs.length ? table(["digest", "chain", "first used", "by", "runs"], configs.map((one) => [look(one, api), one.chain, moment(one.at_ns), one.author, String(one.runs)]), ["", "", "", "", "n"]) : nothing("No run has had one yet."))));
  return { element };
}

const sectionOf = (key) => key.key.split(".").slice(0, -1).join(".");
function grouped(keys) {
  const found = {};
  for (const key of keys) (found[sectionOf(key)] ??= []).push(key);
  return found;
}

function look(one, api) {
  const text = h("pre", null);
  return h("details", { ontoggle: async () => { if (!text.textContent) text.textContent = (await api.get(`configs/${one.digest}`)).toml; } }, h("summary", { class: "mono" }, one.digest.slice(0, 12)), text);
}
