// A connector over time: what its log says of its commits, and what waited in Kafka as often as that was asked.

import { apiOf, awaited, into } from "./data.js";
import { bytes, duration, figure, fill, hereOrUtc, instant, make, number, row, table, when } from "./nodes.js";
import { UNITS, barName, barPlot, linePlot, timeLine } from "./plots.js";

const PERS = [["hour", "Hour"], ["day", "Day"], ["month", "Month"]];
const INNER = { month: "day", day: "hour" };
const OUTER = { hour: "day", day: "month" };
const MORE = 1000;
const COMMITS = { hour: 200, day: 1200, month: 1200 };  // read without being asked: what the newest bars of hourly runs take, or so
const AGE_MAX_MS = 120_000;
const FOLLOW_MS = 60_000;  // Kafka's lag is kept by the minute
const AT_ONCE_MS = 10_000;
const GAP_MS = 20 * 60_000;  // a long list of connectors is asked about in turn
const LAGS_SHOWN = 60;
const PLOTS = [
  ["Records", UNITS.count, (each) => each.records],
  ["Size", UNITS.bytes, (each) => each.bytes],
  ["Longest duration", UNITS.ms, (each) => each.duration_ms],
  ["Longest delay", UNITS.ms, (each) => each.delay_ms],
  ["Rejected records", UNITS.count, (each) => each.rejected],
];
const COLUMNS = [["From", "name"], ["Commits", "number"], ["Records", "number"], ["Rejected", "number"], ["Size", "number"], ["Objects", "number"],
  ["Duration", "number"], ["Longest duration", "number"], ["Delay", "number"], ["Longest delay", "number"]];
const KINDS = { gap: ["Lost", "alert"], failed: ["Failed", "alert"], damaged: ["Damaged", "alert"], restart: ["Restart", "warn"], schema: ["Schema", ""], adopt: ["Adopted", "warn"], rewind: ["Rewound", "warn"], replace: ["Replaced", "warn"], void: ["Voided", "soft"] };

// In the address, so that what is looked at can be shared.
function wantedNow() {
  const query = new URLSearchParams(location.search);
  const time = (name) => (/^\d{1,13}$/.test(query.get(name) ?? "") ? Number(query.get(name)) : null);
  const wanted = { per: query.get("per"), from: time("from"), to: time("to") };
  if (!PERS.some(([name]) => name === wanted.per)) wanted.per = "hour";
  wanted.commits = COMMITS[wanted.per];
  if (wanted.from === null || wanted.to === null || wanted.from >= wanted.to) wanted.from = wanted.to = null;
  return wanted;
}

export function startCharts(section, dagId) {
  const wanted = wantedNow();
  const controls = make("div", { class: "bar" });
  const plots = make("div", { class: "plots" });
  const about = make("div", {});
  const numbers = make("div", {});
  const events = make("div", {});
  const waiting = make("div", {});
  const asOf = make("span", {});
  let loadedMs = 0;
  let knownEntries = null;
  let isLoading = false;
  section.replaceChildren(make("div", { class: "bar" }, make("h2", { id: "overtime" }, "Over time"), asOf), controls, plots, about,
    make("details", {}, make("summary", {}, "The same in numbers"), numbers), events, waiting);

  function change(what) {
    Object.assign(wanted, what);
    wanted.commits = Math.max(wanted.commits, COMMITS[wanted.per]);
    const query = new URLSearchParams(location.search);
    for (const [name, value] of [["per", wanted.per === "hour" ? null : wanted.per], ["from", wanted.from], ["to", wanted.to]]) {
      if (value === null) query.delete(name); else query.set(name, value);
    }
    history.replaceState(null, "", `${location.pathname}?${query}`);
    load();
  }

  function pathOf() {
    const query = new URLSearchParams({ per: wanted.per, zone: hereOrUtc(), commits: wanted.commits });
    if (wanted.from !== null) { query.set("from_ms", wanted.from); query.set("to_ms", wanted.to); }
    return `${apiOf(dagId, "charts")}?${query}`;
  }

  const ofBar = (found, at) => ({ from: found.bars[at].start_ms, to: at + 1 < found.bars.length ? found.bars[at + 1].start_ms : found.to_ms });
  const zoomIn = (found, at) => change({ per: INNER[found.per], ...ofBar(found, at) });

  function control(name, text, what, attributes = {}) {
    return make("button", { type: "button", "data-name": name, click: () => change(what()), ...attributes }, text);
  }

  function drawControls(found) {
    const size = found.to_ms - found.from_ms;
    const held = controls.contains(document.activeElement) ? document.activeElement.dataset.name : undefined;
    const isNewest = wanted.from === null;
    controls.replaceChildren();
    fill(controls, [
      make("span", { class: "choice", role: "group", "aria-label": "One bar for each" }, PERS.map(([per, text]) =>
        control(per, text, () => ({ per, from: null, to: null }), { "aria-pressed": String(per === found.per) }))),
      control("earlier", "Earlier", () => ({ from: Math.max(0, found.from_ms - size), to: found.from_ms }), { disabled: found.from_ms <= 0 }),
      control("later", "Later", () => ({ from: found.to_ms, to: found.to_ms + size }), { disabled: isNewest }),
      control("newest", "Newest", () => ({ from: null, to: null }), { disabled: isNewest }),
      OUTER[found.per] && control("out", "Zoom out", () => ({ per: OUTER[found.per], from: null, to: null })),
      make("span", { class: "small soft" }, `${barName(found.from_ms, found.per, found.zone)} – ${barName(found.to_ms, found.per, found.zone)}, ${found.zone}`),
    ]);
    if (held !== undefined) controls.querySelector(`[data-name="${held}"]`)?.focus();
  }

  function drawn(found) {
    asOf.replaceChildren();
    fill(asOf, [figure("", found.at_ms, found.is_old ? 0 : AGE_MAX_MS, true)]);
    drawControls(found);
    const pressed = INNER[found.per] && ((bar) => zoomIn(found, found.bars.indexOf(bar)));
    plots.replaceChildren(...PLOTS.map(([title, unit, of]) => make("figure", {},
      make("figcaption", { class: "small soft" }, `${title} per ${found.per}`),
      barPlot({ title, unit, bars: found.bars, of, per: found.per, zone: found.zone, pressed }))));
    about.replaceChildren();
    fill(about, [
      make("p", { class: "small soft" }, "A commit counts when it was written. Duration: from its plan to the commit, Spark's start included. ",
        "Delay: from the end of its interval to the commit. How long reading took is not in the log, so throughput has no figure here."),
      !found.is_whole && make("p", {}, `${number(found.read)} of ${number(found.entries)} commits are read, back to `, when(found.since_ms), "; what is older is grey. ",
        make("button", { type: "button", click: () => { wanted.commits = Math.min(100_000, found.read + MORE); load(); } }, `Read ${number(Math.min(MORE, found.entries - found.read))} more`)),
    ]);
    const open = (each, at) => (INNER[found.per] && each.is_known && each.commits
      ? make("button", { type: "button", class: "copy", "aria-label": `Zoom in to ${barName(each.start_ms, found.per, found.zone)}`, click: () => zoomIn(found, at) }, barName(each.start_ms, found.per, found.zone))
      : barName(each.start_ms, found.per, found.zone));
    const rows = found.bars.map((each, at) => (each.is_known
      ? [open(each, at), number(each.commits), number(each.records), number(each.rejected), bytes(each.bytes), number(each.objects),
        duration(each.duration_mean_ms), duration(each.duration_ms), duration(each.delay_mean_ms), duration(each.delay_ms)]
      : [barName(each.start_ms, found.per, found.zone), make("span", { class: "soft" }, "not read")])).reverse();
    numbers.replaceChildren(numbersTable(`Commits per ${found.per}`, rows));
    events.replaceChildren();
    fill(events, drawnEvents(found));
    waiting.replaceChildren();
    fill(waiting, drawnLags(found));
  }

  async function load() {
    if (isLoading) { isLoading = "again"; return; }
    isLoading = true;
    try {
      const found = await awaited(pathOf());
      if (found.error && !found.bars) await into(plots, async () => [make("span", { class: "alert" }, found.error)]);
      else drawn(found);
    } catch (error) {
      await into(plots, async () => [make("span", { class: "alert" }, error.message)]);
    }
    loadedMs = Date.now();
    const isAgain = isLoading === "again";
    isLoading = false;
    if (isAgain) load();
  }

  // `entries`: how many the log has now. Without a new one there is only Kafka's lag to follow.
  section.follow = (entries) => {
    if (isLoading || (wanted.from !== null && entries === knownEntries)) return;
    if (Date.now() - loadedMs > (entries === knownEntries ? FOLLOW_MS : AT_ONCE_MS)) load();
    knownEntries = entries;
  };
  document.addEventListener("times", load);
  load();
}

// Rows may be short: the rest of a bar that was not read is left out.
function numbersTable(caption, rows) {
  return make("table", { class: "table", role: "table", "aria-label": caption },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, COLUMNS.map(([name, kind]) => make("th", { scope: "col", role: "columnheader", class: kind }, name)))),
    make("tbody", { role: "rowgroup" }, rows.map((cells) => row(COLUMNS, cells))));
}

const EVENTS = [["When", "name"], ["Commit", "number"], ["What", "name"], ["Said", "name"]];

function drawnEvents(found) {
  if (found.marks.length === 0 && found.marks_omitted === 0) return [];
  const shown = found.marks;
  return [make("h3", {}, "What happened"),
    timeLine({ marks: shown, fromMs: found.from_ms, toMs: found.to_ms, zone: found.zone }),
    make("details", {}, make("summary", {}, `${number(shown.length)} ${shown.length === 1 ? "event" : "events"}: gaps, restarts, failed ranges, changes of schemas`),
      table("What happened", EVENTS, shown.map((each) => [when(each.at_ms), number(each.seq),
        make("span", { class: (KINDS[each.kind] ?? [])[1] ?? "" }, (KINDS[each.kind] ?? [each.kind])[0]), each.text]))),
    found.marks_omitted > 0 && make("p", { class: "small soft" }, `${number(found.marks_omitted)} more are not shown: kafka-s3 status names gaps and restarts.`)];
}

const LAGS = [["When", "name"], ["Records waiting", "number"], ["Oldest waiting record", "number"]];

function drawnLags(found) {
  const points = found.lags;
  if (points.length < 2) return [make("h3", {}, "Waiting in Kafka"), make("p", { class: "small soft" }, "Lag over time is kept from now on, by this api-server, for as long as somebody looks or Prometheus asks: at most twelve hours.")];
  const plot = (title, unit, at) => make("figure", {}, make("figcaption", { class: "small soft" }, title),
    linePlot({ title, unit, points: points.map((each) => [each[0], each[at]]), gapMs: GAP_MS, zone: found.zone }));
  return [make("h3", {}, "Waiting in Kafka"),
    make("div", { class: "plots" }, plot("Records waiting", UNITS.count, 1), plot("Oldest waiting record", UNITS.ms, 2)),
    make("p", { class: "small soft" }, `Kept by this api-server since ${instant(points[0][0], found.zone)}, as often as it was asked: at most twelve hours.`),
    make("details", {}, make("summary", {}, "The same in numbers"), table("Waiting in Kafka", LAGS, points.slice(-LAGS_SHOWN).reverse().map((each) => [when(each[0]), number(each[1]), duration(each[2])])))];
}
