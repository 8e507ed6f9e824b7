// Nodes, values for people, times, links. Whatever comes from a topic, a record or the bucket is only ever text.

// Children that are no nodes become text; nothing is ever parsed as HTML.
export function fill(node, children) {
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

export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  return fill(node, children);
}

export function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return fill(node, children);
}

// Roles are written out, since on a phone the rows are no table to the browser any more.
export function table(caption, columns, rows) {
  const head = columns.map(([name, kind]) => make("th", { scope: "col", role: "columnheader", class: kind }, name));
  return make("table", { class: "table", role: "table", "aria-label": caption },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, head)),
    make("tbody", { role: "rowgroup" }, rows.map((cells) => row(columns, cells))));
}

export function row(columns, cells) {
  return make("tr", { role: "row" }, cells.map((cell, at) =>
    make("td", { role: "cell", class: columns[at][1], "data-label": columns[at][0] }, cellOf(cell))));
}

function cellOf(cell) {
  const shown = [cell].flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false && each !== "");
  return make("div", {}, shown.length === 0 ? make("span", { class: "soft" }, "–") : shown);
}

// Values.

const count = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function number(value) {
  return value === null || value === undefined ? null : count.format(value);
}

export function bytes(value) {
  if (value === null || value === undefined) return null;
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) { value /= 1000; at += 1; }
  return `${at === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[at]}`;
}

export function duration(ms) {
  if (ms === null || ms === undefined) return null;
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${count.format(Math.round(hours / 24))} days`;
}

export function rate(value) {
  return value === null || value === undefined ? null : `${short.format(value)} records/s`;
}

export function remembered(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(`kafka-s3.${name}`, value);
    return localStorage.getItem(`kafka-s3.${name}`);
  } catch { return null; }  // a browser that keeps nothing for a site
}

// Times: how long ago, or when, in the viewer's zone or in UTC. Ages grow by themselves.

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
export const WAYS = [["ago", "Ages"], ...(HERE === "UTC" ? [] : [["here", HERE]]), ["utc", "UTC"]];
let way = WAYS.some(([name]) => name === remembered("times")) ? remembered("times") : "ago";
let aheadMs = 0;  // Airflow's clock before the browser's

export function setClock(airflowMs) {
  aheadMs = airflowMs - Date.now();
}

export function now() {
  return Date.now() + aheadMs;
}

// The zone of times that are written out.
export function hereOrUtc() {
  return way === "here" ? HERE : "UTC";
}

export function instant(ms, zone = hereOrUtc()) {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return `${ms} ms`;
  if (zone === "UTC") return `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const parts = { dateStyle: "short", timeStyle: "medium", timeZone: zone };
  return `${new Intl.DateTimeFormat("sv", parts).format(date)} ${zone}`;
}

function timeText(ms) {
  return way === "ago" ? `${duration(Math.max(0, now() - ms))} ago` : instant(ms);
}

export function when(ms) {
  if (ms === null || ms === undefined) return null;
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return instant(ms);
  const both = HERE === "UTC" ? instant(ms, "UTC") : `${instant(ms, HERE)}, ${instant(ms, "UTC")}`;
  return make("time", { datetime: date.toISOString(), title: both, "data-at": ms }, timeText(ms));
}

export function interval(pair) {
  if (pair === null) return null;
  const [start, end] = pair.map((each) => instant(each));
  const sameDay = start.slice(0, 10) === end.slice(0, 10);
  return make("span", { "data-interval": pair.join(" ") }, `${start.slice(0, 16)} – ${sameDay ? end.slice(11, 16) : end.slice(0, 16)}${way === "here" ? "" : " UTC"}`);
}

// A number or a word with the time that it is of. What is older than it should be is grey, with its age.
export function figure(value, atMs, ageMaxMs, shownAlways = false) {
  const asOf = atMs === null || atMs === undefined ? null : make("span", { class: "asof small" }, "as of ", when(atMs));
  if (asOf === null || value === null || value === undefined) return value;
  const node = make("span", { class: shownAlways ? "figure always" : "figure", "data-old-at": atMs + ageMaxMs }, make("span", { class: "value" }, value), " ", asOf);
  return age(node);
}

function age(node) {
  node.classList.toggle("old", now() > Number(node.dataset.oldAt));
  return node;
}

export function tick() {
  for (const node of document.querySelectorAll("time[data-at]")) {
    const text = timeText(Number(node.dataset.at));
    if (node.textContent !== text) node.textContent = text;
  }
  for (const node of document.querySelectorAll("[data-interval]")) node.replaceWith(interval(node.dataset.interval.split(" ").map(Number)));
  document.querySelectorAll("[data-old-at]").forEach(age);
}

// One tap from ages to times, in this zone or that one.
export function timesChoice() {
  const group = make("span", { class: "choice", role: "group", "aria-label": "Show times as" }, WAYS.map(([name, text]) =>
    make("button", { type: "button", "aria-pressed": String(name === way), click: (event) => {
      way = name;
      remembered("times", name);
      for (const each of group.children) each.setAttribute("aria-pressed", String(each === event.currentTarget));
      tick();
      document.dispatchEvent(new Event("times"));
    } }, text)));
  return group;
}

const STATE_SIGNS = { ok: "●", late: "▲", failed: "✖", broken: "✖", never_ran: "○", kafka_down: "▲", asking: "…" };
export const STATES = {
  broken: "Broken configuration", failed: "Failed", kafka_down: "Kafka down", late: "Late", never_ran: "Never ran", asking: "Looking …", ok: "Healthy",
};
export const WORST_FIRST = Object.keys(STATES);

export function state(name) {
  const kind = STATES[name] ? name : "asking";
  return make("span", { class: `state ${kind}` }, make("span", { "aria-hidden": "true" }, `${STATE_SIGNS[kind]} `), STATES[name] ?? name);
}

// Alarms that somebody silenced, and until when.
export function silences(each) {
  return each.silences.map(({ kind, until_ms: until }) =>
    make("div", { class: "small soft" }, kind === null ? "Alarms" : `Alarms of the kind ${kind}`, " are silent until ", instant(until), "."));
}

// Links: within the page, and to Airflow around it.

export function pageLink(query, text) {
  return make("a", { href: `?${new URLSearchParams(query)}` }, text);
}

export function airflowLink(parts, text) {
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

// A button that puts a text on the clipboard, and says so.
export function copyButton(text, what) {
  const button = make("button", { type: "button", class: "copy", "aria-label": `Copy ${what}`, click: async () => {
    const made = typeof text === "function" ? text() : text;
    try {
      await navigator.clipboard.writeText(made);
      button.textContent = "Copied";
    } catch {  // without HTTPS, or in a frame that may not: selected by hand
      window.prompt("Copy this:", made);
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  } }, "Copy");
  return button;
}

export function empty(title, ...text) {
  return make("div", { class: "empty" }, make("h1", {}, title), text.map((each) => make("p", {}, each)),
    new URLSearchParams(location.search).has("dag_id") && make("p", {}, make("a", { href: "./" }, "All connectors")));
}
