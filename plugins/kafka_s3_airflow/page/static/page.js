// The page in the browser. Whatever comes from a topic, a record or the bucket is only ever the text of a node.

const wanted = new URLSearchParams(location.search);
const dagId = wanted.get("dag_id");
const runId = wanted.get("run_id");
const main = document.getElementById("main");

const STATES = {
  ok: ["OK", "●"],
  late: ["Late", "▲"],
  failed: ["Failed", "✖"],
  broken: ["Broken configuration", "✖"],
  never_ran: ["Never ran", "○"],
  kafka_down: ["Kafka down", "▲"],
  asking: ["Looking …", "…"],
};
const WORST_FIRST = ["broken", "failed", "kafka_down", "late", "never_ran", "asking", "ok"];

// Nodes. Children that are no nodes become text; nothing is ever parsed as HTML.

function fill(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(printable(String(child))));
  }
  return node;
}

// Control characters and marks of direction, of names and keys that anybody wrote, as what they are.
function printable(text) {
  const odd = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
  return text.replace(odd, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  return fill(node, children);
}

function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return fill(node, children);
}

// Roles are written out, since on a phone the rows are no table to the browser any more.
function table(caption, columns, rows) {
  const head = columns.map(([name, kind]) => make("th", { scope: "col", role: "columnheader", class: kind }, name));
  return make("table", { class: "table", role: "table", "aria-label": caption },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, head)),
    make("tbody", { role: "rowgroup" }, rows.map((cells) => row(columns, cells))));
}

function row(columns, cells) {
  return make("tr", { role: "row" }, cells.map((cell, at) =>
    make("td", { role: "cell", class: columns[at][1], "data-label": columns[at][0] }, cellOf(cell))));
}

function cellOf(cell) {
  const shown = [cell].flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false && each !== "");
  return make("div", {}, shown.length === 0 ? make("span", { class: "soft" }, "–") : shown);
}

// Values for people.

const count = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

function number(value) {
  return value === null || value === undefined ? null : count.format(value);
}

function bytes(value) {
  if (value === null || value === undefined) return null;
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) { value /= 1000; at += 1; }
  return `${at === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[at]}`;
}

function duration(ms) {
  if (ms === null || ms === undefined) return null;
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

function rate(value) {
  return value === null || value === undefined ? null : `${short.format(value)} records/s`;
}

function instant(ms) {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return `${ms} ms`;
  return `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function when(ms, nowMs) {
  if (ms === null || ms === undefined) return null;
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return instant(ms);
  return make("time", { datetime: date.toISOString(), title: instant(ms) }, `${duration(Math.max(0, nowMs - ms))} ago`);
}

function interval(pair) {
  if (pair === null) return null;
  const [start, end] = pair.map(instant);
  const sameDay = start.slice(0, 10) === end.slice(0, 10);
  return `${start.slice(0, 16)} – ${sameDay ? end.slice(11, 16) : end.slice(0, 16)}`;
}

function state(name) {
  const [text, sign] = STATES[name] ?? [name, "?"];
  return make("span", { class: `state ${STATES[name] ? name : "asking"}` }, make("span", { "aria-hidden": "true" }, `${sign} `), text);
}

// Links: within the page, and to Airflow around it.

function pageLink(query, text) {
  return make("a", { href: `?${new URLSearchParams(query)}` }, text);
}

function airflowLink(parts, text) {
  const path = `../${parts.map(encodeURIComponent).join("/")}`;
  return make("a", { href: path, click: leave }, text);
}

// Airflow's frame lets no link out of it. Its own document may go where it likes.
function leave(event) {
  if (window.parent === window) return;
  event.preventDefault();
  const link = window.parent.document.createElement("a");
  link.href = event.currentTarget.href;
  window.parent.document.body.append(link);
  link.click();
  link.remove();
}

// Data.

class Refused extends Error {}

// Too much is asked at once; the answer says when to come back.
class Busy extends Error {
  constructor(message, seconds) {
    super(message);
    this.seconds = seconds;
  }
}

async function data(path) {
  const answer = await fetch(path, { credentials: "same-origin", headers: { Accept: "application/json" } });
  if (answer.ok) return answer.json();
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

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// When many come back at once, not all of them do at the same moment.
function pauseOf(busy) {
  return busy.seconds * 1000 * (1 + Math.random());
}

// What is not known yet is asked for again.
async function awaited(path) {
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

function apiOf(id, ...more) {
  return ["api/connectors", id, ...more].map((part, at) => (at ? encodeURIComponent(part) : part)).join("/");
}

// Calls `show` with what the path answers, again and again, while somebody looks.
async function watch(path, show) {
  for (;;) {
    let ms = 10_000;
    if (!document.hidden) {
      try {
        const found = await data(path);
        told(null);
        if (show(found)) ms = 1000;
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
    await pause(ms);
  }
}

function told(text) {
  let node = document.getElementById("said");
  if (node === null) { node = make("p", { id: "said", role: "status" }); main.prepend(node); }
  node.className = text === null ? "hidden" : "note";
  node.textContent = text ?? "";
}

function replaceAll(...nodes) {
  main.replaceChildren(make("p", { id: "said", role: "status", class: "hidden" }), ...nodes);
}

function empty(title, ...text) {
  return make("div", { class: "empty" }, make("h1", {}, title), text.map((each) => make("p", {}, each)),
    dagId !== null && make("p", {}, make("a", { href: "./" }, "All connectors")));
}

// All connectors.

const LIST = [["Connector", "name"], ["State", "name"], ["Lag", "number"], ["Oldest waiting", "number"], ["Time to loss", "number"],
  ["Last commit", "number"], ["Throughput", "number"]];

function lossOf(each) {
  if (each.loss_in_ms === null) return null;
  const text = duration(each.loss_in_ms);
  return each.loss_in_ms < 86_400_000 ? make("span", { class: "alert" }, text) : text;
}

function stale(each, nowMs) {
  if (!each.kafka_is_stale) return null;
  return make("div", { class: "small warn" }, "as of ", when(each.kafka_at_ms, nowMs));
}

function listRow(each, nowMs) {
  const topics = each.topics_regex ?? each.topics.join(", ");
  const made = row(LIST, [
    [pageLink({ dag_id: each.dag_id }, each.name), each.is_paused && make("span", { class: "small soft" }, " (paused)"),
      make("div", { class: "small soft clamp" }, topics)],
    [state(each.state), each.why.length > 0 && make("div", { class: "why small clamp" }, each.why[0]),
      each.why.length > 1 && make("div", { class: "small soft" }, `and ${each.why.length - 1} more`)],
    [number(each.lag_records), stale(each, nowMs)],
    each.lag_ms ? duration(each.lag_ms) : null,
    lossOf(each),
    when(each.last_commit_ms, nowMs),
    rate(each.records_per_s),
  ]);
  made.dataset.dag = each.dag_id;
  return made;
}

function startList() {
  const search = make("input", { type: "search", id: "search", input: () => show(latest) });
  const only = make("input", { type: "checkbox", id: "only", change: () => show(latest) });
  const summary = make("p", { class: "soft grow", "aria-live": "polite" });
  const body = table("All connectors", LIST, []);
  let latest = null;
  let isThere = false;

  function show(found) {
    latest = found;
    if (found === null) return true;
    const all = found.connectors;
    if (all.length === 0) {
      isThere = false;
      replaceAll(empty("No connectors yet", "The connectors folder has no file whose DAG you may read.",
        "Put a configuration of the Confluent S3 sink there, or name another folder in KAFKA_S3_CONNECTORS, in the environment of the api-server too.",
        "kafka-s3 validate FILE says whether it is right."));
      return false;
    }
    if (!isThere) {
      replaceAll(make("h1", {}, "Kafka to S3"), make("div", { class: "bar" }, summary,
        make("label", { for: "search" }, "Search", search),
        make("label", { for: "only" }, only, "Needs attention only")), body);
      isThere = true;
    }
    const text = search.value.toLowerCase();
    const shown = all
      .filter((each) => [each.name, each.topics_regex ?? "", ...each.topics].some((name) => name.toLowerCase().includes(text)))
      .filter((each) => !only.checked || !["ok", "asking"].includes(each.state))
      .sort((a, b) => WORST_FIRST.indexOf(a.state) - WORST_FIRST.indexOf(b.state) || a.name.localeCompare(b.name));
    const counted = WORST_FIRST.map((name) => [name, all.filter((each) => each.state === name).length]).filter((each) => each[1] > 0);
    summary.textContent = `${all.length} connectors: ${counted.map(([name, n]) => `${n} ${STATES[name][0].toLowerCase()}`).join(", ")}`;
    const held = document.activeElement?.closest?.("tr")?.dataset.dag;
    body.tBodies[0].replaceChildren(...shown.map((each) => listRow(each, found.now_ms)));
    if (held !== undefined) [...body.tBodies[0].rows].find((each) => each.dataset.dag === held)?.querySelector("a")?.focus();
    if (shown.length === 0) body.tBodies[0].append(make("tr", { role: "row" }, make("td", { role: "cell", colspan: LIST.length }, "No connector matches.")));
    return all.some((each) => each.state === "asking");
  }
  watch("api/connectors", show);
}

// One connector.

function fact(name, value, more) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value ?? "–", more && make("span", { class: "small soft" }, more)));
}

function facts(each, nowMs) {
  return make("dl", { class: "facts" },
    fact("Records waiting", number(each.lag_records), each.kafka_is_stale && stale(each, nowMs)),
    fact("Oldest waiting record", each.lag_ms ? duration(each.lag_ms) : null),
    fact("Time to data loss", lossOf(each)),
    fact("Overdue", each.overdue_ms ? duration(each.overdue_ms) : each.overdue_ms === null ? null : "no"),
    fact("Last commit", when(each.last_commit_ms, nowMs), each.last_records !== null && `${number(each.last_records)} records`),
    fact("Throughput", rate(each.records_per_s)),
    fact("Rejected", each.rejected_fraction === null ? null : `${(each.rejected_fraction * 100).toFixed(each.rejected_fraction > 0 ? 2 : 0)} %`, "of the newest records"),
    fact("Runs", each.schedule || null, each.is_paused && "paused"),
    fact("Verified", each.verify && airflowLink(["dags", each.verify.dag_id, "runs", each.verify.run_id], each.verify.state),
      !each.verify && "export.verify.schedule has it done"));
}

function problems(each) {
  const notes = [];
  if (each.why.length > 0) {
    notes.push(make("div", { class: `note ${["failed", "broken"].includes(each.state) ? "bad" : ""}`, role: "alert" },
      each.why.length === 1 ? each.why[0] : make("ul", {}, each.why.map((why) => make("li", {}, why)))));
  }
  if (each.kafka_error !== null && each.state !== "kafka_down") notes.push(make("div", { class: "note" }, each.kafka_error));
  for (const text of each.notes ?? []) notes.push(make("div", { class: "note" }, text));
  const plan = each.open_plan;
  if (plan) {
    notes.push(make("div", { class: "note" },
      `Plan ${plan.seq} is open: ${number(plan.offsets)} offsets in ${number(plan.ranges)} ranges. Either a run is executing it, or its driver died and the next run will finish it.`,
      plan.run_id !== null && [" Run: ", airflowLink(["dags", each.runs_in, "runs", plan.run_id], plan.run_id)], plan.notes.map((text) => make("div", { class: "small soft" }, text))));
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
  const heading = make("h2", { id: "partitions" }, `Partitions (${number(rows.length + each.partitions_omitted)})`);
  if (rows.length === 0) return [heading, make("p", { class: "soft" }, "None known yet: Kafka has not answered, and nothing has been exported.")];
  const shown = areAllShown ? rows : rows.slice(0, SHOWN);
  const key = [["done", "exported"], ["wait", "waits"], ["held", "held back by a transaction"], ["lost", "gone before it was exported"]];
  return [heading,
    make("ul", { class: "key small soft" }, key.map(([kind, text]) => make("li", {}, make("i", { class: kind }), text))),
    table("Partitions", PARTITIONS, shown.map((one) => [
      [`${one.topic}-${one.partition}`, one.trouble && make("div", { class: "why small alert" }, one.trouble)],
      picture(one), number(one.log_start), number(one.position), number(one.last_stable), number(one.high_watermark), number(one.lag),
      one.generation === 0 ? "0" : `${one.generation} (began again)`])),
    shown.length < rows.length && make("p", {}, make("button", { type: "button", click: () => { areAllShown = true; again(); } },
      `Show all ${number(rows.length)} (these have the greatest lag)`)),
    each.partitions_omitted > 0 && make("p", { class: "soft" }, `${number(each.partitions_omitted)} more are not listed: kafka-s3 status has them.`)];
}

// Commits.

const COMMITS = [["Commit", "name"], ["When", "number"], ["Run", "name"], ["Interval", "name"], ["Records", "number"], ["Objects", "number"],
  ["Size", "number"], ["Rejected", "number"], ["Duration", "number"], ["Throughput", "number"]];

function chart(rows) {
  const drawn = [...rows].reverse();
  const most = Math.max(1, ...drawn.map((each) => each.records));
  const width = 1000 / Math.max(20, drawn.length);
  return draw("svg", { class: "chart", viewBox: "0 0 1000 72", preserveAspectRatio: "none", role: "img",
    "aria-label": `Records of the ${drawn.length} commits below, the oldest first; the most is ${number(most)}` },
  draw("line", { x1: 0, x2: 1000, y1: 71, y2: 71 }),
  drawn.map((each, at) => draw("rect", { class: each.failed.length || each.gaps.length || each.error ? "odd" : "", x: at * width, width: Math.max(1, width - 2),
    y: 70 - (each.records / most) * 66, height: Math.max(1, (each.records / most) * 66) }, draw("title", {}, `${each.seq}: ${number(each.records)} records`))));
}

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

function commitRow(each, nowMs) {
  const run = each.dag_id === null ? each.run_id : airflowLink(["dags", each.dag_id, "runs", each.run_id], each.run_id);
  const open = make("button", { type: "button", "aria-expanded": "false", "aria-label": `Objects of commit ${each.seq}`, click: () => toggle(made, each, open) }, `${each.seq}`);
  const made = row(COMMITS, [
    [each.error ? `${each.seq}` : open, each.kind === "commit" ? null : ` ${each.kind}`, remarks(each)],
    when(each.at_ms, nowMs),
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

// Puts what is found into a node, or why it was not.
async function into(node, find) {
  try {
    node.replaceChildren();
    fill(node, await find());
  } catch (error) {
    node.replaceChildren(make("span", { class: "alert" }, error.message));
  }
}

const OBJECTS = [["Object", "name mono"], ["Records", "number"], ["Offsets", "number"], ["Size", "number"], ["Closed by", "name"]];
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
      found.objects.map((one) => [[one.key, one.companions.map((key) => make("div", { class: "soft" }, key))], number(one.records),
        `${number(one.first_offset)} – ${number(one.last_offset)}`, bytes(one.size), one.closed_by.replaceAll("_", " ")])),
    found.objects_omitted > 0 && make("p", { class: "soft" }, `and ${number(found.objects_omitted)} more: the log entry lists them.`),
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

function startCommits(section) {
  const shown = [];
  const heading = make("h2", { id: "commits" }, runId === null ? "Commits" : "Commits of one run");
  const about = make("div", {});
  const picture_ = make("div", {});
  const body = table("Commits", COMMITS, []);
  const more = make("p", {});
  section.replaceChildren(heading, about, picture_, body, more);

  async function load(before) {
    more.textContent = "Reading the log …";
    const query = new URLSearchParams();
    if (before !== null) query.set("before", before);
    if (runId !== null) query.set("run_id", runId);
    await into(more, async () => {
      const found = await awaited(`${apiOf(dagId, "commits")}?${query}`);
      if (found.error && !found.commits) return [make("span", { class: "alert" }, found.error)];
      shown.push(...found.commits);
      body.tBodies[0].append(...found.commits.map((each) => commitRow(each, found.now_ms)));
      body.hidden = shown.length === 0;
      picture_.replaceChildren(...(shown.length > 1 ? [chart(shown.slice(-200))] : []));
      if (runId !== null) return ofRun(found);
      if (shown.length === 0) return ["Nothing committed yet. The first run records the topics' positions; later runs commit what they export."];
      const oldest = shown[shown.length - 1].seq;
      return [found.is_last ? "This is the beginning of the log." : make("button", { type: "button", click: () => load(oldest) }, `Older than ${oldest}`)];
    });
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
      shown.length = 0;
      body.tBodies[0].replaceChildren();
      load(Number(from.value) + 1);
    } }, make("label", { for: "from" }, "Go to commit", from), make("button", {}, "Go"));
    about.replaceChildren(form);
  }
  load(null);
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

function startOne() {
  const head = make("div", {});
  const commits = make("section", { "aria-labelledby": "commits" });
  const windows = make("section", { "aria-label": "Intervals that were exported again" });
  let isThere = false;
  let entries = null;

  function show(found) {
    if (!isThere) {
      replaceAll(head, commits, windows);
      isThere = true;
    }
    const again = () => show(found);
    head.replaceChildren();
    fill(head, [
      make("p", { class: "small" }, make("a", { href: "./" }, "All connectors")),
      make("div", { class: "bar" }, make("h1", {}, found.name), state(found.state), airflowLink(["dags", found.runs_in], "DAG")),
      make("p", { class: "soft small" }, "Topics: ", found.topics_regex ?? found.topics.join(", "), ". File: ", found.file, ". ",
        found.log && ["Log: ", make("code", {}, found.log)]),
      problems(found),
      found.state !== "broken" && [facts(found, found.now_ms), partitions(found, again)],
    ]);
    if (found.state === "broken") { commits.replaceChildren(); return false; }
    if (entries === null && found.entries !== null && !commits.hasChildNodes()) { startCommits(commits); startWindows(windows); }
    if (found.entries === null && found.log_at_ms !== null && !commits.hasChildNodes()) {
      commits.append(make("h2", { id: "commits" }, "Commits"), make("p", { class: "soft" }, "Nothing committed yet: unpause the DAG, or trigger it."));
    }
    if (entries !== null && found.entries > entries && runId === null && document.getElementById("newer") === null) {
      commits.prepend(make("p", { id: "newer", role: "status" }, make("button", { type: "button", click: () => startCommits(commits) }, "There are newer commits: show them")));
    }
    entries = found.entries ?? entries;
    return found.state === "asking";
  }
  watch(apiOf(dagId), show);
}

// The theme is Airflow's, which changes it at the push of a button.

function theme() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const outer = window.parent === window ? null : window.parent.document.documentElement;
  const apply = () => {
    const named = outer === null ? [] : [...outer.classList];
    const isDark = named.includes("dark") || (!named.includes("light") && dark.matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
  };
  dark.addEventListener("change", apply);
  if (outer !== null) new MutationObserver(apply).observe(outer, { attributes: true, attributeFilter: ["class"] });
  apply();
}

theme();
if (dagId === null) startList();
else startOne();
