// SPDX-License-Identifier: Apache-2.0
// The configuration as a form. Each error is shown next to its field, in the words of the command line.

import { h, panel, say, table, nothing } from "./dom.js";
import { moment } from "./format.js";

const SIGNS = { ge: "≥", gt: ">", le: "≤", lt: "<" };

export async function config({ api }) {
  const form = new Form(api, await api.get("config"));
  form.draw();
  const earlier = panel("Earlier ones", "", earlierOnes(await api.get("configs"), api));
  const element = h("div", null, h("h1", null, "Configuration"), h("div", { class: "grid" }, form.element(), earlier));
  return { element };
}

class Form {
  constructor(api, now) {
    this.api = api;
    this.now = now;
    this.fields = h("div");
    this.problem = h("p", { class: "cause", role: "alert", hidden: true });
    this.file = h("input", { id: "file", value: now.file, required: true, style: "width:100%" });
    this.inputs = new Map(); // dotted key -> {input, key}
  }

  element() {
    const submit = (event) => {
      event.preventDefault();
      this.send("configure", "Configured");
    };
    return h("section", { class: "panel", "aria-label": "Configuration" },
      h("form", { onsubmit: submit }, this.row(), this.problem, this.fields));
  }

  row() {
    const check = () => this.send("check", "Nothing is wrong with it");
    return h("div", { class: "row", style: "display:flex;flex-wrap:wrap;gap:10px;align-items:end" },
      h("div", { class: "grow" }, h("label", { for: "file" }, "File on the control room's machine"), this.file),
      h("button", { type: "button", class: "operates", onclick: () => this.read() }, "Read"),
      h("button", { type: "button", class: "operates", onclick: check }, "Check"),
      h("button", { type: "submit", class: "main operates" }, "Configure"));
  }

  draw() {
    this.inputs.clear();
    const sections = Object.entries(grouped(this.now.keys));
    this.fields.replaceChildren(...sections.map(([section, keys]) => this.section(section, keys)));
  }

  section(name, keys) {
    const summary = h("summary", null, name || "general", h("span", { class: "soft" }, ` ${keys.length} keys`));
    return h("details", { open: keys.some(isChanged) }, summary, keys.map((key) => this.field(key)));
  }

  field(key) {
    const id = `key-${key.key.replaceAll(".", "-")}`;
    const input = inputOf(key, { id, "aria-describedby": `${id}-about` });
    this.inputs.set(key.key, { input, key });
    const otherwise = isChanged(key) ? h("span", { class: "changed" }, ` default ${shown(key.default)}`) : "";
    return h("div", { class: "field" },
      h("label", { for: id, class: "mono" }, key.key),
      h("div", null, input),
      h("p", { id: `${id}-about` }, key.meaning, bounds(key), otherwise));
  }

  settings() {
    const typed = [...this.inputs.values()].filter((one) => value(one) !== asGiven(one));
    return [...new Set([...this.now.settings, ...typed.map((one) => `${one.key.key}=${value(one)}`)])];
  }

  async send(path, words) {
    this.problem.hidden = true;
    this.inputs.forEach(({ input }) => input.removeAttribute("aria-invalid"));
    try {
      await this.api.post(path, { file: this.file.value, settings: this.settings() });
      if (path === "configure") await this.takeConfigured();
      say(words);
    } catch (error) {
      this.refused(error);
    }
  }

  async takeConfigured() {
    this.now = await this.api.get("config");
    this.file.value = this.now.file;
    this.draw();
  }

  refused(error) {
    this.problem.hidden = false;
    this.problem.textContent = error.message;
    const wrong = this.inputs.get(error.body?.field)?.input;
    if (!wrong) return;
    wrong.closest("details").open = true;
    wrong.setAttribute("aria-invalid", "true");
    wrong.focus();
  }

  async read() {
    try {
      this.now = await this.api.post("check", { file: this.file.value, settings: [] });
      this.draw();
      this.problem.hidden = true;
    } catch (error) {
      this.problem.hidden = false;
      this.problem.textContent = error.message;
    }
  }
}

const shown = (value) => (Array.isArray(value) ? JSON.stringify(value) : String(value ?? ""));
const isChanged = (key) => shown(key.value) !== shown(key.default);
const value = ({ input }) => (input.type === "checkbox" ? String(input.checked) : input.value);
const asGiven = ({ key }) => (key.type === "switch" ? String(Boolean(key.value)) : shown(key.value));

function inputOf(key, attributes) {
  if (key.type === "switch") return h("input", { ...attributes, type: "checkbox", checked: Boolean(key.value) });
  if (!key.choices.length) return h("input", { ...attributes, value: shown(key.value) });
  const option = (one) => h("option", { value: String(one), selected: one === key.value }, String(one));
  return h("select", attributes, key.choices.map(option));
}

function bounds(key) {
  const words = Object.entries(key.bounds).map(([word, bound]) => `${SIGNS[word]} ${bound}`).join(", ");
  return words ? ` (${words})` : "";
}

function grouped(keys) {
  const found = {};
  for (const key of keys) (found[sectionOf(key)] ??= []).push(key);
  return found;
}

const sectionOf = (key) => key.key.split(".").slice(0, -1).join(".");

function earlierOnes(configs, api) {
  if (!configs.length) return nothing("No run has had one yet.");
  const row = (one) => [look(one, api), one.chain, moment(one.at_ns), one.author, String(one.runs)];
  return table(["digest", "chain", "first used", "by", "runs"], configs.map(row), ["", "", "", "", "n"]);
}

function look(one, api) {
  const text = h("pre", null);
  const fetchOnce = async () => {
    if (!text.textContent) text.textContent = (await api.get(`configs/${one.digest}`)).toml;
  };
  return h("details", { ontoggle: fetchOnce }, h("summary", { class: "mono" }, one.digest.slice(0, 12)), text);
}
