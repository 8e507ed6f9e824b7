// What may be done about a connector: runs that Airflow's own API starts, with the viewer's login. Nothing else writes.

import { apiOf, awaited, pause } from "./data.js";
import { airflowLink, fill, instant, make, now, number } from "./nodes.js";

const NOTHING = "Nothing was done.";

// Why something was not done, for people.
class NotDone extends Error {}

function refusal(status, said) {
  const why = typeof said === "string" ? said : Array.isArray(said) ? said.map((each) => each.msg).join("; ") : said?.reason ?? "";
  if (status === 401 || (status === 403 && why === "Invalid JWT token")) return `Airflow does not know your login any more. ${NOTHING} Log in again and come back.`;
  if (status === 403) return `You may not do this. ${NOTHING} Whoever administers Airflow can let you.`;
  if (status === 404) return `Airflow does not have it any more. ${NOTHING} Reload the page.`;
  if (status === 409) return `The same was started a moment ago, by you or by somebody else. ${NOTHING}`;
  if (status < 500) return `Airflow refused it: ${why}. ${NOTHING}`;
  return `Airflow answered ${status}: ${why}. Look whether it was done, and try again.`;
}

// A JSON body and a cookie of the same site: no other site's page can send that (docs/trust-model.md).
async function asked(method, parts, body) {
  let answer;
  try {
    answer = await fetch(`../api/v2/${parts.map(encodeURIComponent).join("/")}`, {
      method, credentials: "same-origin", cache: "no-store",
      headers: { Accept: "application/json", "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
  } catch {
    throw new NotDone("Airflow does not answer. Look whether it was done, and try again.");
  }
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new NotDone(refusal(answer.status, said.detail));
  return said;
}

const ENDED = { success: "has ended well.", failed: "has failed: its log in Airflow says why." };

// What becomes of a run, as long as its line is shown.
async function follow(run, node) {
  for (let ms = 1000; ; ms = Math.min(10_000, ms * 1.5)) {
    await pause(ms);
    if (!node.isConnected) return;
    try {
      const { state } = await asked("GET", ["dags", run.dag_id, "dagRuns", run.dag_run_id]);
      node.textContent = ENDED[state] ?? `is ${state}.`;
      if (ENDED[state]) return;
    } catch {
      // its last state stays; the link leads to it
    }
  }
}

// Two who start the same within a minute have started it once: of two runs of one id Airflow takes the first.
function runId(...words) {
  return ["page", ...words, new Date(now()).toISOString().slice(0, 16)].join("__");
}

function start(dag, id, conf, more = {}) {
  const body = { dag_run_id: id, logical_date: new Date(now()).toISOString(), conf: { ...dag.conf, ...conf }, note: "Started from the page Kafka to S3.", ...more };
  return asked("POST", ["dags", dag.dag_id, "dagRuns"], body);
}

async function unpausedFirst(dag) {
  const { is_paused: isPaused } = await asked("GET", ["dags", dag.dag_id]);
  if (!isPaused) return;
  if (!dag.may_unpause) throw new NotDone(`${dag.dag_id} is paused: its run would wait. ${NOTHING}`);
  await asked("PATCH", ["dags", dag.dag_id], { is_paused: false });
}

export function startActions() {
  const bar = make("div", { class: "bar actions", role: "group", "aria-label": "Actions" });
  const said = make("p", { id: "done", role: "status" });
  const node = make("div", {}, bar, said);
  let shown = null;
  let isAtWork = false;

  function say(kind, ...text) {
    said.className = kind;
    said.replaceChildren();
    fill(said, text);
  }

  // One at a time: a second click finds the buttons off.
  async function act(what) {
    if (isAtWork) return false;
    isAtWork = true;
    for (const each of document.querySelectorAll("[data-action]")) each.disabled = true;
    try {
      say("soft", "Asking Airflow …");
      say("note", ...(await what()));
      return true;
    } catch (error) {
      say("alert", error.message);
      return false;
    } finally {
      isAtWork = false;
      for (const each of document.querySelectorAll("[data-action]")) each.disabled = false;
    }
  }

  function started(run) {
    const state = make("span", {}, "is queued.");
    follow(run, state);
    return ["Run ", airflowLink(["dags", run.dag_id, "runs", run.dag_run_id], run.dag_run_id), " ", state];
  }

  const simple = {
    trigger: () => trigger({}),
    now: () => trigger({ until: "now" }),
    pause: () => paused(true),
    unpause: () => paused(false),
    clear,
    verify: async () => { await unpausedFirst(shown.actions.verify); return started(await start(shown.actions.verify, runId("verify"), {})); },
  };

  async function trigger(conf) {
    const dag = shown.actions.trigger;
    const { is_paused: isPaused } = await asked("GET", ["dags", dag.dag_id]);
    if (isPaused) throw new NotDone(`${dag.dag_id} was paused meanwhile: its run would wait. ${NOTHING} Unpause it first.`);
    return started(await start(dag, runId("run", ...(conf.until ? ["now"] : []), shown.dag_id, shown.entries ?? 0), conf));
  }

  async function paused(isPaused) {
    await asked("PATCH", ["dags", shown.actions.pause.dag_id], { is_paused: isPaused });
    return [`${shown.actions.pause.dag_id} is ${isPaused ? "paused: no run begins by itself" : "unpaused"}.`];
  }

  async function clear() {
    const { dag_id: dag, run_id: run } = shown.actions.clear;
    const { state } = await asked("GET", ["dags", dag, "dagRuns", run]);
    if (state !== "failed") throw new NotDone(`Run ${run} is ${state} by now. ${NOTHING}`);
    await asked("POST", ["dags", dag, "dagRuns", run, "clear"], { dry_run: false, only_failed: true });
    return ["Cleared: the failed tasks of run ", airflowLink(["dags", dag, "runs", run], run), " run again."];
  }

  // What a button is for, and whether the viewer may: `null` where there is no such button.
  function button(kind, values = {}, at = "bar") {
    const { actions } = shown;
    const titles = { trigger: "Run now", now: "Run until now", pause: "Pause", unpause: "Unpause", clear: "Clear the failed run", verify: "Verify" };
    const canRun = actions.trigger !== null && !actions.trigger.is_paused;
    const may = { trigger: canRun, now: canRun, pause: actions.pause?.is_paused === false, unpause: actions.pause?.is_paused === true, clear: actions.clear !== null, verify: actions.verify !== null,
      reexport: actions.reexport !== null, redrive: actions.operations !== null, accept: actions.operations !== null, rewind: actions.operations !== null };
    if (!may[kind] || (at === "bar" && shown.state === "broken")) return null;
    const click = () => (FORMS[kind] ? openForm(kind, values) : act(simple[kind]));
    return make("button", { type: "button", "data-action": kind, "data-name": `${kind}-${at}`, disabled: isAtWork, click }, titles[kind] ?? FORMS[kind].button);
  }

  function show(found) {
    shown = found;
    const held = bar.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const losses = (found.partitions ?? []).filter((each) => each.trouble !== null).map((each) => `${each.topic}-${each.partition}`);
    bar.replaceChildren();
    fill(bar, [...["trigger", "now", "unpause", "pause", "clear", "reexport", "redrive", "rewind"].map((kind) => button(kind)),
      losses.length > 0 && button("accept", { partitions: losses })]);
    if (held) bar.querySelector(`[data-name="${held}"]`)?.focus();
  }

  // A form: what is asked for, what that would do, and only then the button that does it.
  function openForm(kind, values) {
    const { title, about, fields, isConfirmed } = FORMS[kind];
    const dag = kind === "reexport" ? shown.actions.reexport : shown.actions.operations;
    const { name, dag_id: dagId } = shown;
    const inputs = fields.map((field) => [field, field.make(values[field.name])]);
    const told = make("div", { class: "told", role: "status" });
    const confirm = make("input", { type: "text", id: "confirm", autocomplete: "off", input: judge });
    const go = make("button", { type: "button", "data-action": kind, disabled: true, click: begin }, title);
    let seen = null;  // what was shown: the parameters, and what the page answered

    function conf() {
      const found = {};
      for (const [field, input] of inputs) {
        const value = field.read(input);
        if (value !== null) found[field.name] = value;
      }
      return { operation: kind, ...(kind === "redrive" ? { letters: found } : found) };
    }

    function judge() {
      go.disabled = seen === null || seen.found.is_empty || (isConfirmed && confirm.value !== name);
    }

    function forget() {
      if (told.hasChildNodes()) told.replaceChildren("This has changed: look again at what it would do.");
      seen = null;
      judge();
    }

    // Asked anew each time: an earlier answer to the same question is not what would be done now.
    function previewOf(wanted) {
      const query = new URLSearchParams({ conf: JSON.stringify(wanted), look: Math.floor(Math.random() * 2 ** 48) });
      return awaited(`${apiOf(dagId, "preview")}?${query}`);
    }

    async function look() {
      seen = null;
      judge();
      told.replaceChildren("Looking …");
      const wanted = conf();
      try {
        const found = await previewOf(wanted);
        told.replaceChildren();
        if (found.error) { fill(told, [make("p", { class: "alert why" }, found.error)]); return; }
        fill(told, [found.window_ms && make("p", {}, `The window: ${instant(found.window_ms[0], "UTC")} – ${instant(found.window_ms[1], "UTC")}`),
          make("ul", {}, found.told.map((text) => make("li", {}, text))), found.omitted > 0 && make("p", { class: "soft" }, `and ${number(found.omitted)} more`)]);
        seen = { wanted, found };
      } catch (error) {
        told.replaceChildren(make("p", { class: "alert" }, error.message));
      }
      judge();
    }

    async function begin() {
      const { wanted, found } = seen;
      const { operation, at_ms: _, ...given } = wanted;
      const isDone = await act(async () => {
        const { error, seq } = await previewOf(wanted);
        if (error) throw new NotDone(`${error} ${NOTHING}`);
        if (isConfirmed && seq !== found.seq) throw new NotDone(`${name} has changed since you looked. ${NOTHING} Look again at what it would do.`);
        await unpausedFirst(dag);
        if (operation === "reexport") {
          const [from, to] = found.window_ms.map((each) => new Date(each).toISOString());
          return started(await start(dag, runId("window", found.window_ms[0], ...(given.anew ? ["anew"] : [])), given, { data_interval_start: from, data_interval_end: to }));
        }
        const more = isConfirmed ? { seen: found.seq, confirm: confirm.value } : {};
        return started(await start(dag, runId(operation, found.seq ?? "letters"), { operation, ...given, ...more }));
      });
      if (isDone) dialog.close();
      else {
        told.replaceChildren(make("p", { class: "alert" }, said.textContent));
        seen = null;
        judge();
      }
    }

    const dialog = make("dialog", { "aria-labelledby": "form-title", close: () => dialog.remove() },
      make("h2", { id: "form-title" }, `${title}: ${name}`), make("p", { class: "soft" }, about),
      dag.is_paused && make("p", { class: "warn" }, `${dag.dag_id} is paused: starting a run unpauses it.`),
      inputs.map(([field, input]) => { input.addEventListener("input", forget); return make("label", { class: "field" }, field.title, input); }),
      make("div", { class: "bar" }, make("button", { type: "button", click: look }, "Show what it would do")), told,
      isConfirmed && make("label", { class: "field", for: "confirm" }, `Type ${name} to confirm`, confirm),
      make("div", { class: "bar" }, go, make("button", { type: "button", click: () => dialog.close() }, "Cancel")));
    document.body.append(dialog);
    dialog.showModal();
  }

  return { node, show, button };
}

// Fields: how they are made from a value, and read. What is left blank is left out.

const text = (name, title, more = {}) => ({ name, title, make: (value) => make("input", { type: "text", value: value ?? "", ...more }), read: (input) => input.value.trim() || null });
const whole = (name, title) => ({ name, title, make: (value) => make("input", { type: "number", min: "0", step: "1", value: value ?? "" }), read: (input) => (input.value === "" ? null : Number(input.value)) });
const flag = (name, title) => ({ name, title, make: () => make("input", { type: "checkbox" }), read: (input) => (input.checked ? true : null) });
const lines = (name, title) => ({ name, title, make: (value) => make("textarea", { rows: "4", spellcheck: "false" }, (value ?? []).join("\n")),
  read: (input) => input.value.split(/[\s,]+/).filter(Boolean) });
const utc = (name, title) => ({ name, title, make: () => make("input", { type: "datetime-local", value: new Date(now() - 3_600_000).toISOString().slice(0, 16) }),
  read: (input) => (input.value ? Date.parse(`${input.value}Z`) : null) });

const FORMS = {
  reexport: { button: "Export a window again …", title: "Export again", about: "All records of one window of the schedule, under a prefix and into a log of the window's own. The live export stays as it is.",
    fields: [utc("at_ms", "A time in the window (UTC)"), flag("anew", "If it is exported already, withdraw that and export it anew")] },
  redrive: { button: "Send dead letters again …", title: "Send dead letters again", about: "To their own topic, unless another one is named. Correct first what refused them.",
    fields: [text("topic", "Only of topic"), whole("partition", "Only of partition"), text("offsets", "Only offsets, like 17-42"), text("error", "Only where the reason contains"), text("to", "To topic"),
      flag("again", "Also those that were sent before"), flag("keep_timestamps", "Keep the records' timestamps")] },
  accept: { button: "Accept what Kafka lost …", title: "Accept losses", isConfirmed: true, about: "These partitions go on where they can, once, and the log says what is missing. This cannot be taken back.",
    fields: [lines("partitions", "Topics, or partitions like orders-0")] },
  rewind: { button: "Rewind …", title: "Rewind", isConfirmed: true, about: "Partitions go back, and the next run exports their offsets again. What was exported from there on is withdrawn; nothing is deleted.",
    fields: [lines("partitions", "Where to, as TOPIC-PARTITION=OFFSET")] },
};
