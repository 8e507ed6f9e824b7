// One connector: where it stands, what to do, its partitions and its commits.

import { startActions } from "./actions.js";
import { startCharts } from "./charts.js";
import { apiOf, awaited, into, replaceAll, watch } from "./data.js";
import { refusals, rowsOf, schemas } from "./inside.js";
import { kafkaAge, lossOf } from "./list.js";
import { airflowLink, bytes, copyButton, draw, duration, figure, fill, instant, interval, make, number, pageLink, rate, row, silences, state, table, tick, timesChoice, when } from "./nodes.js";

const AGE_MAX_MS = 30_000;  // a page that is open asks for commits more often
const asked = new URLSearchParams(location.search);
const dagId = asked.get("dag_id");
const runId = asked.get("run_id");

function fact(name, value, more) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value ?? "–", more && make("span", { class: "small soft" }, more)));
}

function facts(each) {
  const ages = each.ages_max_ms;
  const ofKafka = (value) => figure(value ?? "–", each.kafka_at_ms, kafkaAge(each, ages), true);
  const ofLog = (value) => figure(value ?? "–", each.log_at_ms, each.log_error === null ? ages.log : 0, true);
  return make("dl", { class: "facts" },
    fact("Records waiting", ofKafka(number(each.lag_records))),
    fact("Oldest waiting record", ofKafka(each.lag_ms ? duration(each.lag_ms) : null)),
    fact("Retention deletes in", ofKafka(lossOf(each))),
    fact("Overdue", ofKafka(each.overdue_ms ? duration(each.overdue_ms) : each.overdue_ms === null ? null : "no")),
    fact("Last commit", ofLog(when(each.last_commit_ms)), each.last_records !== null && `${number(each.last_records)} records`),
    fact("Rate of the last commit", ofLog(rate(each.records_per_s)), "from its plan on, Spark's start included"),
    fact("Rejected", ofKafka(each.rejected_fraction === null ? null : `${(each.rejected_fraction * 100).toFixed(each.rejected_fraction > 0 ? 2 : 0)} %`), "of the newest records"),
    fact("Runs", each.schedule || null, each.is_paused && "paused"),
    fact("Verified", each.verify && airflowLink(["dags", each.verify.dag_id, "runs", each.verify.run_id], each.verify.state),
      !each.verify && "export.verify.schedule has it done"));
}

// The names of runs in a sentence are links to them.
function linked(text, each) {
  const run = each.runs.find((name) => text.includes(name));
  if (run === undefined) return text;
  const [before, after] = [text.slice(0, text.indexOf(run)), text.slice(text.indexOf(run) + run.length)];
  return [before, named("run", airflowLink(["dags", each.runs_in, "runs", run], run)), after];
}

function whatNow(each) {
  if (each.remedies.length === 0) return null;
  return make("div", { class: "remedies" }, make("strong", {}, "What now"), make("span", { class: "small soft" }, " Commands name files as they are called in the connectors folder: run them there."), each.remedies.map(({ text, command, action }, at) => {
    const button = action && actions.button(action.kind, action.values, at);
    const copied = command && [make("code", {}, command), " ", named(`copy-${at}`, copyButton(command, command)), " "];
    return (copied || button) && make("div", { class: "remedy" }, text, " ", copied, button);
  }));
}

function problems(each) {
  const notes = [];
  if (each.why.length > 0) {
    notes.push(make("div", { class: `note ${["failed", "broken"].includes(each.state) ? "bad" : ""}`, role: "alert" },
      each.why.length === 1 ? linked(each.why[0], each) : make("ul", {}, each.why.map((why) => make("li", {}, linked(why, each)))), whatNow(each)));
  }
  if (each.kafka_error !== null && each.state !== "kafka_down") notes.push(make("div", { class: "note" }, each.kafka_error));
  for (const text of each.notes ?? []) notes.push(make("div", { class: "note" }, text));
  const plan = each.open_plan;
  if (plan) {
    notes.push(make("div", { class: "note" },
      `Plan ${plan.seq} is open: ${number(plan.offsets)} offsets in ${number(plan.ranges)} ranges. Either a run is executing it, or its driver died and the next run will finish it.`,
      plan.run_id !== null && [" Run: ", plan.dag_id === null ? make("code", {}, plan.run_id) : airflowLink(["dags", plan.dag_id, "runs", plan.run_id], plan.run_id)], plan.notes.map((text) => make("div", { class: "small soft" }, text))));
  }
  return notes;
}

const PARTITIONS = [["Partition", "name"], ["Progress", "name"], ["Log start", "number"], ["Position", "number"],
  ["Last stable offset", "number"], ["High watermark", "number"], ["Lag", "number"], ["Generation", "number"]];
const SHOWN = 20;

// From where Kafka's log begins to its end: what is exported, what waits, what a transaction holds back, what is lost.
function picture(each) {
  if (each.log_start === null) return make("span", { class: "soft" }, "No answer from Kafka yet");
  const first = Math.min(each.log_start, each.position);
  const size = Math.max(1, Math.max(each.high_watermark, each.position) - first);
  const at = (offset) => ((offset - first) / size) * 1000;
  const parts = [
    ["done", each.log_start, Math.max(each.log_start, each.position)],
    ["lost", each.position, each.log_start],
    ["wait", Math.max(each.position, each.log_start), each.last_stable],
    ["held", Math.max(each.position, each.last_stable), each.high_watermark],
  ].filter(([, start, end]) => end > start);
  const text = `exported up to ${number(each.position)} of ${number(each.log_start)} to ${number(each.high_watermark)}`;
  return draw("svg", { class: "picture", viewBox: "0 0 1000 14", preserveAspectRatio: "none", role: "img", "aria-label": text },
    parts.map(([kind, start, end]) => draw("rect", { class: kind, x: at(start), y: 2, width: Math.max(2, at(end) - at(start)), height: 10 })),
    draw("rect", { class: "mark", x: Math.min(997, at(each.position)), y: 0, width: 3, height: 14 }));
}

let areAllShown = false;

function partitions(each, again) {
  const rows = [...each.partitions].sort((a, b) => (b.trouble !== null) - (a.trouble !== null) || (b.lag ?? 0) - (a.lag ?? 0));
  const heading = make("h2", { id: "partitions" }, figure(`Partitions (${number(rows.length + each.partitions_omitted)})`, each.kafka_at_ms, kafkaAge(each, each.ages_max_ms), true));
  if (rows.length === 0) return [heading, make("p", { class: "soft" }, "None known yet: Kafka has not answered, and nothing has been exported.")];
  const shown = areAllShown ? rows : rows.slice(0, SHOWN);
  const key = [["done", "exported"], ["wait", "waits"], ["held", "held back by a transaction"], ["lost", "gone before it was exported"]];
  return [heading,
    make("ul", { class: "key small soft" }, key.map(([kind, text]) => make("li", {}, make("i", { class: kind }), text))),
    table("Partitions", PARTITIONS, shown.map((one) => [
      [`${one.topic}-${one.partition}`, one.trouble && make("div", { class: "why small alert" }, one.trouble)],
      picture(one), number(one.log_start), number(one.position), number(one.last_stable), number(one.high_watermark), number(one.lag),
      one.generation === 0 ? "0" : `${one.generation} (began again)`])),
    shown.length < rows.length && make("p", {}, make("button", { type: "button", "data-name": "all", click: () => { areAllShown = true; again(); } },
      `Show all ${number(rows.length)} (these have the greatest lag)`)),
    each.partitions_omitted > 0 && make("p", { class: "soft" }, `${number(each.partitions_omitted)} more are not listed: kafka-s3 status has them.`)];
}

// Commits.

const COMMITS = [["Commit", "name"], ["When", "number"], ["Run", "name"], ["Interval", "name"], ["Records", "number"], ["Objects", "number"],
  ["Size", "number"], ["Rejected", "number"], ["Duration", "number"], ["Rate, plan to commit", "number"]];

function remarks(each) {
  const lines = [
    ...each.failed.map((text) => ["alert", `Failed: ${text}`]),
    ...each.gaps.map((text) => ["alert", `Lost: ${text}`]),
    ...each.restarts.map((text) => ["warn", `Restart: ${text}`]),
    ...(each.reason ? [["soft", each.reason]] : []),
    ...(each.error ? [["alert", each.error]] : []),
    ...(each.omitted ? [["soft", `and ${number(each.omitted)} more`]] : []),
  ];
  return lines.map(([kind, text]) => make("div", { class: `why small ${kind}` }, text));
}

function commitRow(each) {
  const run = each.dag_id === null ? each.run_id : airflowLink(["dags", each.dag_id, "runs", each.run_id], each.run_id);
  const open = make("button", { type: "button", "aria-expanded": "false", "aria-label": `Objects of commit ${each.seq}`, click: () => toggle(made, each, open) }, `${each.seq}`);
  const made = row(COMMITS, [
    [each.error ? `${each.seq}` : open, each.kind === "commit" ? null : ` ${each.kind}`, remarks(each)],
    when(each.at_ms),
    [run, each.try_number > 1 && make("span", { class: "small soft" }, ` (try ${each.try_number})`)],
    interval(each.interval_ms), number(each.records), number(each.objects), bytes(each.bytes),
    each.rejected ? make("span", { class: "alert" }, number(each.rejected)) : "0", duration(each.duration_ms), rate(each.records_per_s)]);
  return made;
}

async function toggle(made, each, open) {
  if (open.getAttribute("aria-expanded") === "true") {
    open.setAttribute("aria-expanded", "false");
    made.nextElementSibling.remove();
    return;
  }
  open.setAttribute("aria-expanded", "true");
  const cell = make("td", { role: "cell", colspan: COMMITS.length }, "Reading the log …");
  made.after(make("tr", { role: "row", class: "inner" }, cell));
  await into(cell, async () => {
    const found = await awaited(apiOf(dagId, "commits", each.seq));
    return found.error ? [found.error] : objects(found, each);
  });
}

const OBJECTS = [["Object", "name mono"], ["Records", "number"], ["Offsets", "number"], ["Size", "number"], ["Schema", "name"], ["Closed by", "name"]];
const RANGES = [["Partition", "name"], ["Offsets", "number"], ["Records", "number"], ["Rejected", "number"], ["Tombstones", "number"], ["No visible record", "number"]];

function objects(found, each) {
  const letters = make("div", {});
  return [
    make("p", { class: "small soft" }, `Engine ${found.engine}, ${found.isolation_level}, s3://${found.bucket}`,
      found.spark_application && `, Spark ${found.spark_application}`),
    found.ranges.length > 0 && table(`Ranges of commit ${each.seq}`, RANGES, found.ranges.map((one) => [
      `${one.topic}-${one.partition}`, `${number(one.start)} – ${number(one.next_offset - 1)}`, number(one.records),
      one.rejected ? make("span", { class: "alert" }, number(one.rejected)) : "0", number(one.tombstones), number(one.skipped)])),
    found.ranges_omitted > 0 && make("p", { class: "soft" }, `and ${number(found.ranges_omitted)} more ranges`),
    found.objects.length === 0 ? make("p", { class: "soft" }, "No objects were written.") : table(`Objects of commit ${each.seq}`, OBJECTS,
      found.objects.map((one, at) => [[one.key, one.companions.map((key) => make("div", { class: "soft" }, key)), rowsOf(dagId, each.seq, at, found.has_rows)], number(one.records),
        `${number(one.first_offset)} – ${number(one.last_offset)}`, bytes(one.size), one.schema_id === null ? null : `id ${one.schema_id}`, one.closed_by.replaceAll("_", " ")])),
    found.objects_omitted > 0 && make("p", { class: "soft" }, `and ${number(found.objects_omitted)} more: the log entry lists them.`),
    schemas(found), refusals(found, each.seq),
    found.dead_letters > 0 && make("p", {}, make("button", { type: "button", click: () => rejected(letters, each) }, "Why records were rejected")), letters];
}

const LETTERS = [["Record", "name"], ["Timestamp", "name"], ["Where", "name"], ["Why", "name"]];

async function rejected(node, each) {
  node.textContent = "Reading the dead letters …";
  await into(node, async () => {
    const found = await awaited(apiOf(dagId, "commits", each.seq, "rejected"));
    if (found.error) return [found.error];
    return [table(`Rejected records of commit ${each.seq}`, LETTERS, found.letters.map((one) => [
      `${one.topic}-${one.partition} offset ${one.offset}`, one.timestamp_ms === null ? null : instant(one.timestamp_ms),
      one.stage.replaceAll("_", " ").toLowerCase(), one.error])),
    found.letters.length === found.letters_max && make("p", { class: "soft" }, `The first ${found.letters_max}. All of them: kafka-s3 redrive, or the objects themselves.`),
    found.too_large > 0 && make("p", { class: "soft" }, `${found.too_large} objects of dead letters are too large to be read here.`)];
  });
}

// The commits of a connector, newest first; `follow` puts what is new on top of those that are shown.
function startCommits(section) {
  const shown = [];
  const heading = make("h2", { id: "commits" }, runId === null ? "Commits" : "Commits of one run");
  const asOf = make("span", {});
  const about = make("div", {});
  const body = table("Commits", COMMITS, []);
  const more = make("p", {});
  section.replaceChildren(make("div", { class: "bar" }, heading, asOf), about, body, more);
  let isAtTop = true;
  let isFollowing = false;

  function pathOf(before) {
    const query = new URLSearchParams();
    if (before !== null) query.set("before", before);
    if (runId !== null) query.set("run_id", runId);
    return `${apiOf(dagId, "commits")}?${query}`;
  }

  function drawn(found) {
    asOf.replaceChildren();
    if (found.at_ms) fill(asOf, [figure("", found.at_ms, found.is_old ? 0 : AGE_MAX_MS, true)]);
    body.hidden = shown.length === 0;
  }

  async function load(before) {
    more.textContent = "Reading the log …";
    await into(more, async () => {
      const found = await awaited(pathOf(before));
      if (found.error && !found.commits) return [make("span", { class: "alert" }, found.error)];
      shown.push(...found.commits);
      body.tBodies[0].append(...found.commits.map(commitRow));
      drawn(found);
      if (found.is_old && before === null) setTimeout(follow, 1000);
      if (runId !== null) return ofRun(found);
      if (shown.length === 0) return ["Nothing committed yet. The first run records the topics' positions; later runs commit what they export."];
      const oldest = shown[shown.length - 1].seq;
      return [found.is_last ? "This is the beginning of the log." : make("button", { type: "button", click: () => load(oldest) }, `Older than ${oldest}`)];
    });
  }

  // Again until the answer is of now; rows that are open stay so.
  async function follow() {
    if (!isAtTop || isFollowing) return;
    isFollowing = true;
    try {
      const found = await awaited(pathOf(null));
      const newest = shown.length === 0 ? -1 : shown[0].seq;
      const fresh = (found.commits ?? []).filter((each) => each.seq > newest);
      if (fresh.length > 0 && fresh.length === found.commits.length && !found.is_last && shown.length > 0) {
        startCommits(section);  // so many that some between would be left out
        return;
      }
      shown.unshift(...fresh);
      body.tBodies[0].prepend(...fresh.map(commitRow));
      drawn(found);
      if (shown.length > 0 && shown.length === fresh.length) more.textContent = found.is_last ? "This is the beginning of the log." : "";
      if (found.is_old && !found.error) setTimeout(follow, 1000);
    } catch {
      // what is shown says how old it is, and the connector's own answers say why
    } finally {
      isFollowing = false;
    }
  }

  function ofRun(found) {
    about.replaceChildren(make("p", {}, "Run ", make("code", {}, runId), ": ", airflowLink(["dags", dagId, "runs", runId], "in Airflow"), ", or ",
      pageLink({ dag_id: dagId }, "all commits of the connector"), "."));
    if (shown.length > 0) return [];
    return [`No commit of this run among the ${number(found.looked)} that were looked at. Nothing was new for it, it has not come so far, or it failed: its log in Airflow says which.`];
  }

  if (runId === null) {
    const from = make("input", { type: "number", id: "from", min: "0", step: "1" });
    const form = make("form", { class: "bar", submit: (event) => {
      event.preventDefault();
      if (from.value === "") return;
      isAtTop = false;
      shown.length = 0;
      body.tBodies[0].replaceChildren();
      load(Number(from.value) + 1);
    } }, make("label", { for: "from" }, "Go to commit", from), make("button", {}, "Go"));
    about.replaceChildren(form);
  }
  load(null);
  section.follow = follow;
}

// Intervals that were exported again, each under a prefix of its own.

const WINDOWS = [["Interval", "name"], ["Run", "name"], ["Records", "number"], ["Objects", "number"], ["Size", "number"], ["Where", "name mono"]];

function startWindows(section) {
  into(section, async () => {
    const found = await awaited(apiOf(dagId, "windows"));
    if (found.error && !found.windows) return [make("h2", { id: "windows" }, "Exported again"), make("p", { class: "alert" }, found.error)];
    if (found.windows.length === 0) return [];
    return [make("h2", { id: "windows" }, "Exported again"), table("Exported again", WINDOWS, found.windows.map((each) => [
      [interval(each.interval_ms), !each.is_committed && make("div", { class: "small warn" }, "not finished: its next run goes on")],
      each.dag_id === null ? each.run_id : airflowLink(["dags", each.dag_id, "runs", each.run_id], each.run_id),
      number(each.records), number(each.objects), bytes(each.bytes), each.prefix])),
    found.windows.length === found.windows_max && make("p", { class: "soft" }, `The newest ${found.windows_max}: kafka-s3 status has them all.`)];
  });
}

// Controls that are drawn again keep the focus by their name.
function named(name, node) {
  node.dataset.name = name;
  return node;
}

const actions = startActions();

export function startOne() {
  const head = make("div", {});
  const commits = make("section", { "aria-labelledby": "commits" });
  const charts = make("section", { "aria-label": "Over time" });
  const windows = make("section", { "aria-label": "Intervals that were exported again" });
  let isThere = false;
  let hasLog = false;

  function show(found) {
    if (!isThere) {
      replaceAll(head, actions.node, charts, commits, windows);
      isThere = true;
    }
    const again = () => show(found);
    actions.show(found);
    const held = document.activeElement?.closest?.("[data-name]")?.dataset.name;
    head.replaceChildren();
    fill(head, [
      make("div", { class: "bar small" }, make("a", { href: "./" }, "All connectors"), timesChoice()),
      make("div", { class: "bar" }, make("h1", {}, found.name), state(found.state),
        named("dag", airflowLink(["dags", found.runs_in], "Open DAG"))),
      make("p", { class: "soft small" }, "Topics: ", found.topics_regex ?? found.topics.join(", "), ". File: ", found.file, ". ",
        found.log && ["Log: ", make("code", {}, found.log)]),
      problems(found), silences(found),
      found.state !== "broken" && [facts(found), partitions(found, again)],
    ]);
    if (held !== undefined) head.querySelector(`[data-name="${held}"]`)?.focus();
    tick();
    if (found.state === "broken") { commits.replaceChildren(); charts.replaceChildren(); hasLog = false; return false; }
    if (found.entries !== null) {
      if (!hasLog) {
        if (runId === null) startCharts(charts, dagId);
        startCommits(commits);
        startWindows(windows);
      } else {
        commits.follow();
        charts.follow?.(found.entries);
      }
      hasLog = true;
    } else if (found.log_at_ms !== null && !commits.hasChildNodes()) {
      commits.append(make("h2", { id: "commits" }, "Commits"), make("p", { class: "soft" }, "Nothing committed yet: unpause the DAG, or trigger it."));
    }
    return found.state === "asking" || found.is_asked;
  }
  watch(apiOf(dagId), show);
}
