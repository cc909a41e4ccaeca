// SPDX-License-Identifier: Apache-2.0
// Entries that a user signs: acknowledged alarms, entries of the log book, marks of runs.

import { say } from "./dom.js";

// Asks for the user's name, sends the entry, and then calls done; a refusal by the server is shown.
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
