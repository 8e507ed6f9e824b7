// Charts as SVG: bars and points over time, with axes and units. A bar that is not known is not drawn as zero.

import { bytes, draw, duration, instant, number } from "./nodes.js";

const WIDTH = 480;
const HEIGHT = 170;
const [LEFT, RIGHT, TOP, BOTTOM] = [58, 10, 10, 24];
const INNER = { width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM };
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const DURATIONS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map((each) => each * 1000);

export const UNITS = {
  count: { text: number, tick: (value) => short.format(value), step: roundStep },
  bytes: { text: bytes, tick: bytes, step: roundStep },
  ms: { text: span, tick: spanTick, step: (most) => DURATIONS.find((each) => each * 4 >= most) ?? roundStep(most / 86_400_000) * 86_400_000 },
};

// 95 s is "1 min 35 s": an axis needs steps that are told apart.
function span(ms) {
  if (ms === null || ms === undefined) return null;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return seconds % 60 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${seconds / 60} min`;
  if (seconds < 86_400) return Math.round(seconds / 60) % 60 ? `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min` : `${Math.round(seconds / 3600)} h`;
  return duration(ms);
}

// All ticks of an axis in one unit, so that the longest has room beside it.
function spanTick(ms, top) {
  const [size, name] = top < 300_000 ? [1000, "s"] : top < 10_800_000 ? [60_000, "min"] : top < 259_200_000 ? [3_600_000, "h"] : [86_400_000, "days"];
  return `${short.format(ms / size)} ${name}`;
}

// 1, 2 or 5 of a power of ten, so that at most four steps are above zero.
function roundStep(most) {
  const rough = Math.max(1, most / 4);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
}

// The time of a bar, in its zone: as long as its axis needs it, or in full.
export function barName(ms, per, zone) {
  const text = instant(ms, zone);
  return { hour: text.slice(0, 16), day: text.slice(0, 10), month: text.slice(0, 7) }[per];
}

function tickName(ms, per, zone) {
  const text = instant(ms, zone);
  if (per === "month") return text.slice(0, 7);
  return per === "day" || text.slice(11, 16) === "00:00" ? text.slice(5, 10) : text.slice(11, 16);
}

function frame(most, unit, label) {
  const step = unit.step(most);
  const top = Math.max(step, Math.ceil(most / step) * step);
  const y = (value) => TOP + INNER.height * (1 - value / top);
  const lines = [];
  for (let value = 0; value <= top * 1.001; value += step) {
    lines.push(draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      draw("text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, unit.tick(value, top)));
  }
  const svg = draw("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }, lines);
  return { svg, y };
}

// Hours are named at round ones, days and months so often that the names have room.
function names(at, bars, per, zone) {
  const hour = (each) => Number(instant(each.start_ms, zone).slice(11, 13));
  const step = [1, 2, 3, 6, 12, 24].find((each) => bars.length / each <= 7) ?? 24;
  const every = Math.ceil(bars.length / 7);
  const isNamed = (each, number_) => (per === "hour" && bars.length <= 7 * 24 ? hour(each) % step === 0 : number_ % every === 0);
  return bars.map((each, number_) => (isNamed(each, number_)
    ? draw("text", { class: "tick", x: at(number_), y: HEIGHT - 7, "text-anchor": "middle" }, tickName(each.start_ms, per, zone)) : null)).filter(Boolean);
}

// `of`: a bar's value, null where there is no figure. `pressed`: what a press on a bar does, if anything.
export function barPlot({ title, unit, bars, of, per, zone, pressed }) {
  const values = bars.map((each) => (each.is_known ? of(each) : null));
  const most = Math.max(0, ...values.filter((each) => each !== null));
  const highest = values.indexOf(most);
  const said = values.every((each) => each === null) ? "no figure" : `at most ${unit.text(most)}, ${barName(bars[highest].start_ms, per, zone)}`;
  const { svg, y } = frame(most, unit, `${title} per ${per}: ${said}. The table below has each.`);
  const width = INNER.width / bars.length;
  const x = (at) => LEFT + at * width;
  bars.forEach((each, at) => {
    const name = barName(each.start_ms, per, zone);
    const value = values[at];
    const text = !each.is_known ? `${name}: not read` : value === null ? `${name}: no figure` : `${name}: ${unit.text(value)}`;
    const height = value ? Math.max(1.5, TOP + INNER.height - y(value)) : 0;
    if (!each.is_known) svg.append(draw("rect", { class: "unread", x: x(at), y: TOP, width, height: INNER.height }));
    if (height) svg.append(draw("rect", { class: "value", x: x(at) + width * 0.1, y: TOP + INNER.height - height, width: width * 0.8, height }));
    const whole = draw("rect", { class: pressed ? "whole pressed" : "whole", x: x(at), y: TOP, width, height: INNER.height }, draw("title", {}, text));
    if (pressed) whole.addEventListener("click", () => pressed(each));
    svg.append(whole);
  });
  svg.append(...names((at) => x(at) + width / 2, bars, per, zone));
  if (values.every((each) => each === null)) svg.append(draw("text", { class: "tick", x: LEFT + INNER.width / 2, y: TOP + INNER.height / 2, "text-anchor": "middle" }, "no figure"));
  return svg;
}

// Points of [time, value]; where nobody asked for longer than `gapMs` the line is broken.
export function linePlot({ title, unit, points, gapMs, zone }) {
  const known = points.filter((each) => each[1] !== null);
  const most = Math.max(0, ...known.map((each) => each[1]));
  const last = known[known.length - 1];
  const { svg, y } = frame(most, unit, `${title}: ${last ? `${unit.text(last[1])} last, at most ${unit.text(most)}` : "no figure"}. The table below has each.`);
  if (known.length === 0) return svg;
  const [from, to] = [known[0][0], last[0]];
  const x = (at) => LEFT + (to === from ? 0.5 : (at - from) / (to - from)) * INNER.width;
  let path = "";
  known.forEach(([at, value], number_) => {
    const isJoined = number_ > 0 && at - known[number_ - 1][0] <= gapMs;
    path += `${isJoined ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  svg.append(draw("path", { class: "line", d: path }));
  const every = Math.ceil(known.length / 120);
  known.forEach(([at, value], number_) => {
    if (number_ % every && number_ !== known.length - 1) return;
    svg.append(draw("circle", { class: "point", cx: x(at), cy: y(value), r: 2.5 }, draw("title", {}, `${instant(at, zone)}: ${unit.text(value)}`)));
  });
  for (const share of [0, 0.5, 1]) {
    const at = from + (to - from) * share;
    svg.append(draw("text", { class: "tick", x: x(at), y: HEIGHT - 7, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, instant(at, zone).slice(11, 16)));
    if (to === from) break;
  }
  return svg;
}

// What happened when, over the time of the bars.
export function timeLine({ marks, fromMs, toMs, zone }) {
  const [width, height] = [1000, 26];
  const x = (at) => Math.min(width - 4, Math.max(4, ((at - fromMs) / (toMs - fromMs)) * width));
  return draw("svg", { class: "timeline", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${marks.length} ${marks.length === 1 ? "event" : "events"}; the table below has each.` },
    draw("line", { class: "grid", x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
    marks.map((each) => draw("rect", { class: `mark ${each.kind}`, x: x(each.at_ms) - 3, y: 3, width: 6, height: height - 6 }, draw("title", {}, `${instant(each.at_ms, zone)}, commit ${each.seq}: ${each.kind} ${each.text}`))));
}
