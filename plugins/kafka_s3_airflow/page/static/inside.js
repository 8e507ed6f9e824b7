// Inside a commit: why records were refused, schemas, and the first rows of an object for who may see them.

import { apiOf, awaited, into } from "./data.js";
import { make, number, table } from "./nodes.js";

const REASONS = [["Records", "number"], ["Where", "name"], ["Why", "name"]];

export function refusals(found, seq) {
  const { reasons, others } = found.refusals;
  if (reasons.length === 0) return null;
  return [make("h3", {}, "Rejected, by reason"), table(`Reasons of commit ${seq}`, REASONS, reasons.map((each) => [number(each.records), each.stage.replaceAll("_", " ").toLowerCase(), each.reason])),
    others > 0 && make("p", { class: "small soft" }, `${number(others)} more for other reasons.`)];
}

export function schemas(found) {
  return found.schemas.map((each) => make("details", {}, make("summary", {}, `Schema of ${each.topic}, inferred`), make("pre", { class: "mono" }, pretty(each.schema))));
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

// A button for an object, and where its rows come to stand.
export function rowsOf(dagId, seq, place, isShown) {
  if (!isShown) return null;
  const node = make("div", {});
  const button = make("button", { type: "button", class: "copy", "aria-expanded": "false", click: async () => {
    if (button.getAttribute("aria-expanded") === "true") {
      button.setAttribute("aria-expanded", "false");
      node.replaceChildren();
      return;
    }
    button.setAttribute("aria-expanded", "true");
    node.textContent = "Reading the object …";
    await into(node, async () => {
      const found = await awaited(`${apiOf(dagId, "commits", seq, "sample")}?place=${place}`);
      if (found.error) return [found.error];
      return [found.why_not && make("p", {}, found.why_not),
        found.rows.length > 0 && make("ol", { class: "rows" }, found.rows.map((each) => make("li", {}, make("code", {}, each)))),
        !found.why_not && found.rows.length === 0 && make("p", {}, "No rows."),
        found.hidden.length > 0 && make("p", { class: "small soft" }, `Hidden: ${found.hidden.join(", ")}.`),
        found.schema && make("details", {}, make("summary", {}, "Schema"), make("pre", { class: "mono" }, pretty(found.schema)))];
    });
  } }, "First rows");
  return [button, node];
}
