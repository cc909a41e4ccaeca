// SPDX-License-Identifier: Apache-2.0
// Makes elements from data. Text is only inserted as text: no code of the page parses markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => ![null, undefined, false].includes(child)));
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// A panel with a heading; the id serves links and screen readers.
export function panel(title, about, ...children) {
  const id = `h-${title.toLowerCase().replace(/\W+/g, "-")}`;
  return h("section", { class: "panel", "aria-labelledby": id },
    h("h2", { id }, title), about ? h("p", { class: "about" }, about) : null, ...children);
}

// A panel of half or a third of the page's width.
export function wide(kind, element) {
  element.classList.add(kind);
  return element;
}

// Replaces the element's children; text that the user has typed there and not yet sent stays.
export function refill(element, children) {
  const typed = [...element.querySelectorAll("[data-typed]")].map((field) => [field.id, field.value]);
  const focused = element.contains(document.activeElement) ? document.activeElement.id : "";
  element.replaceChildren(...children);
  for (const [id, value] of typed) {
    const field = document.getElementById(id);
    if (field) Object.assign(field, { value }).dataset.typed = "";
  }
  if (focused) document.getElementById(focused)?.focus();
}

// rows: arrays of texts or elements; kinds: "n" for columns of numbers.
export function table(head, rows, kinds = [], caption = "") {
  const cell = (tag, value, at) =>
    h(tag, { class: kinds[at] ?? null, scope: tag === "th" ? "col" : null }, value ?? "");
  const label = caption || head.filter(Boolean).join(", ");
  const line = (row, tagOf) => h("tr", null, row.map((one, at) => cell(tagOf(one), one, at)));
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, h("table", null,
    caption ? h("caption", { class: "hidden" }, caption) : null,
    h("thead", null, line(head, (one) => (one ? "th" : "td"))),
    h("tbody", null, rows.map((row) => line(row, () => "td")))));
}

// A number with its description below.
export const tile = (value, words, kind = "") =>
  h("div", { class: `tile ${kind}` }, h("b", null, value), h("span", null, words));

export const nothing = (words) => h("p", { class: "soft" }, words);

// Asks the user before an action that cannot be undone. Resolves to true or false.
export function sure(question, yes) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-labelledby": "question" },
      h("p", { id: "question" }, question),
      h("div", { class: "orders" },
        h("button", { type: "button", class: "bad", onclick: () => dialog.close("yes") }, yes),
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close("") }, "Leave it")));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

let sayTimer = 0;
export function say(words, isBad = false) {
  const said = document.getElementById("said");
  said.textContent = words;
  said.classList.toggle("bad", isBad);
  clearTimeout(sayTimer);
  sayTimer = setTimeout(() => { said.textContent = ""; }, isBad ? 20000 : 6000);
}
