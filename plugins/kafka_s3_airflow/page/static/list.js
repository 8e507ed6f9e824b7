// All connectors: what the address asks for, sorted as it was last.

import { replaceAll, watch } from "./data.js";
import { STATES, WORST_FIRST, copyButton, duration, empty, figure, make, number, pageLink, rate, remembered, row, silences, state, tick, timesChoice, when } from "./nodes.js";

const GOOD = ["ok", "asking"];
const by = (field) => (each) => each[field];
const COLUMNS = [
  { id: "name", title: "Connector", kind: "name", of: by("name") },
  { id: "state", title: "State", kind: "name", of: (each) => WORST_FIRST.indexOf(each.state) },
  { id: "waiting", title: "Records waiting", kind: "number", of: by("lag_records"), isMostFirst: true },
  { id: "oldest", title: "Oldest waiting record", kind: "number", of: by("lag_ms"), isMostFirst: true },
  { id: "loss", title: "Retention deletes in", kind: "number", of: by("loss_in_ms") },
  { id: "commit", title: "Last commit", kind: "number", of: by("last_commit_ms"), isMostFirst: true },
  { id: "rate", title: "Rate, plan to commit", kind: "number", of: by("records_per_s"), isMostFirst: true },
  { id: "asof", title: "As of", kind: "number", of: by("kafka_at_ms") },
];
const CELLS = COLUMNS.map(({ title, kind }) => [title, kind]);
const FILTERS = {
  tag: ["Tag", by("tags")],
  owner: ["Owner", (each) => [each.owner]],
  topic: ["Topic", (each) => (each.topics_regex === null ? each.topics : [each.topics_regex])],
  bucket: ["Bucket", (each) => [each.bucket]],
  group: ["Group", (each) => [each.group]],
};
const FIRST = { sort: "state", order: "up" };

export function lossOf(each) {
  if (each.loss_in_ms === null) return null;
  const text = duration(each.loss_in_ms);
  return each.loss_in_ms < 86_400_000 ? make("span", { class: "alert" }, text) : text;
}

// When an answer of Kafka's is old: an error says that it is old already.
export function kafkaAge(each, ages) {
  return each.kafka_error === null ? ages.kafka : 0;
}

function listRow(each, ages) {
  const topics = each.topics_regex ?? each.topics.join(", ");
  const ofKafka = (value) => figure(value, each.kafka_at_ms, kafkaAge(each, ages));
  const ofLog = (value) => figure(value, each.log_at_ms, each.log_error === null ? ages.log : 0);
  const made = row(CELLS, [
    [pageLink({ dag_id: each.dag_id }, each.name), each.is_paused && make("span", { class: "small soft" }, " (paused)"),
      make("div", { class: "small soft clamp" }, topics)],
    [state(each.state), each.why.length > 0 && make("div", { class: "why small clamp" }, each.why[0]),
      each.why.length > 1 && make("div", { class: "small soft" }, `and ${each.why.length - 1} more`), silences(each)],
    ofKafka(number(each.lag_records)),
    ofKafka(each.lag_ms ? duration(each.lag_ms) : null),
    ofKafka(lossOf(each)),
    ofLog(when(each.last_commit_ms)),
    ofLog(rate(each.records_per_s)),
    when(each.kafka_at_ms ?? each.log_at_ms),
  ]);
  made.dataset.dag = each.dag_id;
  return made;
}

// What is asked for, in the address: so it can be shared, and the browser's "back" knows it.

function wantedNow() {
  const asked = new URLSearchParams(location.search);
  const wanted = { q: asked.get("q") ?? "", state: asked.get("state") ?? "" };
  for (const name of Object.keys(FILTERS)) wanted[name] = asked.get(name) ?? "";
  const [sort, order] = (remembered("sort") ?? "").split(" ");
  wanted.sort = asked.get("sort") ?? (sort || FIRST.sort);
  wanted.order = asked.get("order") ?? (order || FIRST.order);
  if (!COLUMNS.some(({ id }) => id === wanted.sort)) Object.assign(wanted, FIRST);
  return wanted;
}

function queryOf(wanted) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(wanted)) if (value && value !== FIRST[name]) query.set(name, value);
  if (wanted.sort !== FIRST.sort || wanted.order !== FIRST.order) { query.set("sort", wanted.sort); query.set("order", wanted.order); }
  return String(query);
}

function addressOf(wanted) {
  const query = queryOf(wanted);
  return `${location.pathname}${query ? `?${query}` : ""}`;
}

function isOf(each, wanted) {
  const text = wanted.q.toLowerCase();
  const words = [each.name, each.topics_regex, each.owner, each.group, each.bucket, ...each.topics, ...each.tags];
  if (text && !words.some((word) => word?.toLowerCase().includes(text))) return false;
  if (wanted.state === "attention" ? GOOD.includes(each.state) : wanted.state && each.state !== wanted.state) return false;
  return Object.entries(FILTERS).every(([name, [, values]]) => !wanted[name] || values(each).includes(wanted[name]));
}

function compared(wanted) {
  const { of } = COLUMNS.find(({ id }) => id === wanted.sort);
  const sign = wanted.order === "down" ? -1 : 1;
  return (a, b) => {
    const [one, other] = [of(a), of(b)];
    const isNone = (value) => value === null || value === undefined;
    if (isNone(one) || isNone(other)) return isNone(one) - isNone(other) || a.name.localeCompare(b.name);  // last, whatever the order
    return sign * (typeof one === "string" ? one.localeCompare(other) : one - other) || a.name.localeCompare(b.name);
  };
}

export function startList() {
  const wanted = wantedNow();
  const summary = make("p", { class: "soft grow", "aria-live": "polite" });
  const search = make("input", { type: "search", id: "search", value: wanted.q, "aria-keyshortcuts": "/", placeholder: "/", input: () => change({ q: search.value }) });
  const choices = make("div", { class: "bar", role: "group", "aria-label": "Filters" });
  const heads = COLUMNS.map(head);
  const body = make("tbody", { role: "rowgroup" });
  const list = make("table", { class: "table list", role: "table", "aria-label": "All connectors" },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, heads)), body);
  const order = make("select", { id: "sort", "aria-label": "Sort by", change: () => sorted(order.value) }, COLUMNS.map(({ id, title }) => make("option", { value: id }, title)));
  let latest = null;
  let isThere = false;
  let offered = "";

  function head(column) {
    return make("th", { scope: "col", role: "columnheader", class: column.kind },
      make("button", { type: "button", class: "sort", click: () => sorted(column.id) }, column.title));
  }

  function sorted(id) {
    const { isMostFirst } = COLUMNS.find((each) => each.id === id);
    const turned = wanted.order === "up" ? "down" : "up";
    change({ sort: id, order: wanted.sort === id ? turned : isMostFirst ? "down" : "up" });
    remembered("sort", `${wanted.sort} ${wanted.order}`);
  }

  function change(what) {
    Object.assign(wanted, what);
    history.replaceState(null, "", addressOf(wanted));
    show(latest);
  }

  // Filters that tell connectors apart, with the values that there are.
  function offer(all) {
    const lists = { state: ["State", [["", "All"], ["attention", "Needs attention"], ...WORST_FIRST.filter((name) => name !== "asking").map((name) => [name, STATES[name]])]] };
    for (const [name, [title, values]] of Object.entries(FILTERS)) {
      const found = [...new Set(all.flatMap(values))].filter(Boolean).sort();
      if (wanted[name] && !found.includes(wanted[name])) found.push(wanted[name]);
      if ((found.length > 0 && new Set(all.map((each) => String(values(each)))).size > 1) || wanted[name]) lists[name] = [title, [["", "All"], ...found.map((each) => [each, each])]];
    }
    const now = JSON.stringify(lists);
    if (now === offered) return;
    offered = now;
    const held = document.activeElement?.id;
    choices.replaceChildren(...Object.entries(lists).map(([name, [title, values]]) => {
      const select = make("select", { id: name, "aria-label": title, change: () => change({ [name]: select.value }) }, values.map(([value, text]) => make("option", { value, selected: value === wanted[name] }, text)));
      return make("label", { for: name }, title, select);
    }), make("label", { for: "sort", class: "narrow" }, "Sort by", order),
    make("span", { class: "small soft" }, "Link to this view: "), copyButton(() => new URL(addressOf(wanted), location.href).href, "the link to this view"));
    if (held) document.getElementById(held)?.focus();
  }

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
      replaceAll(make("div", { class: "bar" }, make("h1", {}, "Kafka to S3"), timesChoice()),
        make("div", { class: "bar" }, summary, make("label", { for: "search" }, "Search", search)), choices, list);
      isThere = true;
    }
    offer(all);
    COLUMNS.forEach(({ id }, at) => heads[at].setAttribute("aria-sort", id !== wanted.sort ? "none" : wanted.order === "up" ? "ascending" : "descending"));
    order.value = wanted.sort;
    const shown = all.filter((each) => isOf(each, wanted)).sort(compared(wanted));
    const counted = WORST_FIRST.map((name) => [name, all.filter((each) => each.state === name).length]).filter((each) => each[1] > 0);
    const said = `${shown.length === all.length ? "" : `${shown.length} of `}${all.length} ${all.length === 1 ? "connector" : "connectors"}: ${counted.map(([name, n]) => `${n} ${STATES[name].toLowerCase()}`).join(", ")}`;
    if (summary.textContent !== said) summary.textContent = said;
    const held = document.activeElement?.closest?.("tr")?.dataset.dag;
    body.replaceChildren(...shown.map((each) => listRow(each, found.ages_max_ms)));
    if (held !== undefined) linkOf([...body.rows].find((each) => each.dataset.dag === held))?.focus();
    if (shown.length === 0) body.append(make("tr", { role: "row" }, make("td", { role: "cell", colspan: COLUMNS.length }, "No connector matches.")));
    tick();
    return found.is_asked || all.some((each) => each.state === "asking");
  }

  const linkOf = (one) => one?.querySelector("a");

  // "/" searches, the arrows (or j and k) go from connector to connector, Escape clears the search.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = event.target.closest?.("input, select, textarea") !== null;
    if (event.key === "Escape" && event.target === search) { search.value = ""; change({ q: "" }); return; }
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (isTyping && !(event.target === search && event.key === "ArrowDown")) return;
    if (event.key === "/") { event.preventDefault(); search.focus(); return; }
    if (step === undefined) return;
    const rows = [...body.rows].filter((each) => each.dataset.dag);
    const at = rows.indexOf(document.activeElement?.closest?.("tr"));
    const next = rows[at + step] ?? (at < 0 ? rows[0] : undefined);
    if (next === undefined) return;
    event.preventDefault();
    linkOf(next).focus();
  });
  watch("api/connectors", show);
}
