// SPDX-License-Identifier: Apache-2.0
// The HTTP API, which the whole page uses. The token stays in this browser and is sent in a header.

const KEY = "anello-token";

export class Refused extends Error {
  constructor(status, body) {
    super(body.message ?? `the server answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

// The browser never sends the part after #; the page removes it from the address at once.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    localStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
}
export const hasToken = () => Boolean(localStorage.getItem(KEY));
export const setToken = (token) => localStorage.setItem(KEY, token.trim());
const headers = (more) => ({ authorization: `Bearer ${localStorage.getItem(KEY) ?? ""}`, ...more });

async function answer(response) {
  if (response.status === 204) return null;
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, body);
  return body;
}

export const get = async (path) => answer(await fetch(`/api/v1/${path}`, { headers: headers() }));
export const post = async (path, body = {}) => answer(await fetch(`/api/v1/${path}`, {
  method: "POST",
  headers: headers({ "content-type": "application/json" }),
  body: JSON.stringify(body),
}));

// Opens a file in a tab of its own, which has no token and needs none.
export async function open(path) {
  const { address } = await get(`ticket?path=${encodeURIComponent(`/api/v1/${path}`)}`);
  window.open(address, "_blank", "noopener");
}

// The user's name for signatures: asked once, then stored in the browser.
export function author() {
  let name = localStorage.getItem("anello-author");
  if (!name) {
    name = (prompt("Your name, for log, alarms and marks:") ?? "").trim().slice(0, 100);
    if (name) localStorage.setItem("anello-author", name);
  }
  return name || null;
}

// Reads server-sent events by hand: EventSource can send no header. lost(words) is called while there is no connection.
export async function follow(deliver, lost) {
  let last = "";
  for (;;) {
    try {
      const response = await fetch("/api/v1/stream", { headers: headers(last ? { "last-event-id": last } : {}) });
      if (!response.ok) await answer(response);
      lost("");
      for await (const event of events(response.body)) {
        if (event.id) last = event.id;
        if (event.data) deliver(event.kind, JSON.parse(event.data));
      }
    } catch (error) {
      if (error instanceof Refused && error.status === 401) throw error;
    }
    lost("No connection to the control room; the run continues without it. Trying again.");
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value.replaceAll("\r", "");
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) yield parsed(block);
  }
}

function parsed(block) {
  const event = { kind: "message", data: "", id: "" };
  for (const line of block.split("\n")) {
    const [name, value] = [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trimStart()];
    if (name === "event") event.kind = value;
    else if (name === "data") event.data += value;
    else if (name === "id") event.id = value;
  }
  return event;
}
