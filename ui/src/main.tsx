/** The page's entry point: in a browser, or where reports and pictures are made (crates/web/src/script.rs). */
import "./tour/before-all";
import { render } from "preact";
import { heapFlameFile } from "./heap/compare-file";
import { graphFile } from "./heap/graph-file";
import { App } from "./shell/app";
import { startTheme } from "./state/theme";
import { tour } from "./tour/tour";
import { flameFile } from "./trace/flame-file";
import "uplot/dist/uPlot.min.css";
import "./style.css";

if (globalThis.document) {
  startTheme();
  const page = document.getElementById("page");
  if (page) render(<App />, page);
} else {
  Object.assign(globalThis, { bactrian: { tour, flameFile, graphFile, heapFlameFile } });
}
