// What the page asks Airflow for. An answer that has not changed is 304, and the earlier one is shown.

import { empty, fill, make, setClock } from "./nodes.js";

export const main = document.getElementById("main");
export class Refused extends Error {}

// Too much is asked at once; the answer says when to come back.
class Busy extends Error {
  constructor(message, seconds) {
    super(message);
    this.seconds = seconds;
  }
}

const kept = new Map();  // of each path its tag and its answer
const KEPT_MAX = 50;

async function data(path) {
  const before = kept.get(path);
  const headers = { Accept: "application/json", ...(before && { "If-None-Match": before.tag }) };
  const answer = await fetch(path, { credentials: "same-origin", cache: "no-store", headers });
  if (answer.status === 304 && before) return before.found;
  if (answer.ok) {
    const found = await answer.json();
    setClock(found.now_ms);
    kept.delete(path);
    kept.set(path, { tag: answer.headers.get("ETag") ?? "", found });
    if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
    return found;
  }
  const said = await answer.json().then((body) => body.detail, () => null);
  if (answer.status === 401) throw new Refused("You are logged out. Log in to Airflow and come back.");
  if (answer.status === 403) {
    const what = typeof said === "string" && said.startsWith("You may") ? said : "You may not read this DAG.";
    throw new Refused(`${what} Whoever administers Airflow can let you.`);
  }
  if (answer.status === 503) {
    const seconds = Number(answer.headers.get("Retry-After")) || 2;
    throw new Busy(typeof said === "string" ? said : "Airflow is busy.", seconds);
  }
  if (answer.status === 404) throw new Refused(typeof said === "string" ? said : "Not found.");
  throw new Error(`Airflow answered ${answer.status}.`);
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// When many come back at once, not all of them do at the same moment.
function pauseOf(busy) {
  return busy.seconds * 1000 * (1 + Math.random());
}

// What is not known yet is asked for again.
export async function awaited(path) {
  for (;;) {
    try {
      const found = await data(path);
      if (!found.pending) return found;
      await pause(1000);
    } catch (error) {
      if (!(error instanceof Busy)) throw error;
      told(error.message);
      await pause(pauseOf(error));
      told(null);
    }
  }
}

export function apiOf(id, ...more) {
  return ["api/connectors", id, ...more].map((part, at) => (at ? encodeURIComponent(part) : part)).join("/");
}

// Until the page is looked at again, or for so long.
function looked(ms) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
      resolve();
    };
    const seen = () => { if (!document.hidden) done(); };
    const timer = setTimeout(done, ms);
    document.addEventListener("visibilitychange", seen);
  });
}

// Calls `show` with what the path answers, again and again, while somebody looks. `show` says whether more is on its way.
export async function watch(path, show) {
  for (;;) {
    let ms = 10_000;
    if (!document.hidden) {
      try {
        const found = await data(path);
        told(null);
        ms = found.every_ms ?? ms;
        if (show(found)) ms = Math.max(1000, ms / 5 - 1000);
      } catch (error) {
        if (error instanceof Refused) { replaceAll(empty("Nothing to show", error.message)); return; }
        if (error instanceof Busy) {
          ms = pauseOf(error);
          told(error.message);
        } else {
          told(`Airflow does not answer (${error.message}). Showing earlier data; retrying.`);
        }
      }
    }
    await looked(ms);
  }
}

function told(text) {
  let node = document.getElementById("said");
  if (node === null) { node = make("p", { id: "said", role: "status" }); main.prepend(node); }
  node.className = text === null ? "hidden" : "note";
  const said = text ?? "";
  if (node.textContent !== said) node.textContent = said;
}

export function replaceAll(...nodes) {
  main.replaceChildren(make("p", { id: "said", role: "status", class: "hidden" }), ...nodes);
}

// Puts what is found into a node, or why it was not.
export async function into(node, find) {
  try {
    node.replaceChildren();
    fill(node, await find());
  } catch (error) {
    node.replaceChildren(make("span", { class: "alert" }, error.message));
  }
}
