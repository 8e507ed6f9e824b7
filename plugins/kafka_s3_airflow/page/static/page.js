// The page in the browser: all connectors, or the one of a DAG.

import { startList } from "./list.js";
import { tick } from "./nodes.js";
import { startOne } from "./one.js";

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
setInterval(tick, 1000);
if (new URLSearchParams(location.search).has("dag_id")) startOne();
else startList();
