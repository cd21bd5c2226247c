/** A heap's graph as a file, for `bactrian heap graph`. The page's export includes what is opened there. */
import { bytes, count } from "../format";
import { linksSvg } from "../pictures/links-svg";
import type { Around, Reduced } from "./answers";
import { drawnAround, drawnReduced } from "./drawn_graph";

/** A one-line summary of the graph. */
export function graphSummary(graph: Reduced | Around): string {
  if (!("sets" in graph)) {
    const away = `${graph.steps} ${graph.steps === 1 ? "pointer" : "pointers"} away`;
    return `${count(graph.told)} of ${count(graph.near)} blocks and roots that are at most ${away}. Areas are what they retain.`;
  }
  const rest = graph.sets.find((set) => set.kind === "rest");
  const shown = graph.sets.length - (rest ? 1 : 0);
  const others = rest ? ` ${bytes(rest.bytes)} in ${count(rest.blocks)} other blocks are not drawn.` : "";
  return `${bytes(graph.total)} in ${count(graph.blocks)} blocks: ${shown} of ${count(graph.all)} sets, each entered through one block. Areas are bytes.${others}`;
}

/** Called by crates/web/src/pictures.rs. */
export function graphFile(graph: Reduced | Around, about: { title: string }): string {
  const { nodes, links } = "sets" in graph ? drawnReduced(graph) : drawnAround(graph);
  return linksSvg(about.title, [graphSummary(graph)], nodes, links);
}
