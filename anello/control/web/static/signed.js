// SPDX-License-Identifier: Apache-2.0
// What somebody signs: acknowledged alarms, entries of the log book, marks of runs.

import { say } from "./dom.js";

// Asks who it is, sends it, and then calls done; what the server refuses is said.
export async function signed(api, path, body, done) {
  const author = api.author();
  if (!author) return;
  try {
    await api.post(path, { ...body, author });
    await done();
  } catch (error) {
    say(error.message, true);
  }
}
