/** A flame graph as a file, for the page's export and for `bactrian flame`. */
import { byChange } from "../pictures/flame-frames";
import { layOut, type Layout } from "../pictures/flame-layout";
import { flameSvg, USUAL_WIDTH } from "../pictures/flame-svg";
import { estimate, isExact } from "../format";
import type { Flame } from "./answers";
import { byModule, tellFrame } from "./frames";
import { shortOf, wordsOf } from "./telling";

export interface FlameAbout {
  /** By default the program. */
  title?: string;
  /** What was lost or estimated. */
  notes: readonly string[];
  up: boolean;
  width?: number;
}

/** The picture below `root` as a file. */
export function flameFileOf(flame: Flame, layout: Layout, root: number, about: FlameAbout): string {
  const paint = layout.tree.before ? byChange(layout, false, false) : byModule(layout, false);
  const words = wordsOf(flame.measure);
  const sure = isExact(flame.all) ? "exact: every allocation was recorded" : "estimated from samples";
  const all = `${words.charAt(0).toUpperCase()}${words.slice(1)}: ${estimate(flame.all, shortOf(flame.measure))}, ${sure}`;
  return flameSvg(layout, root, {
    title: about.title ?? flame.program ?? "flame graph",
    lines: layout.tree.before ? [all, "Red grew, blue shrank; pale frames changed insignificantly"] : [all],
    warnings: about.notes,
    up: about.up,
    width: about.width ?? USUAL_WIDTH,
    fill: paint.fill,
    figures: (node) => tellFrame(flame, layout, node, root).lines.map(([name, value]) => `${name}: ${value}`),
  });
}

/** Called by crates/web/src/pictures.rs. */
export function flameFile(flame: Flame, about: FlameAbout): string {
  return flameFileOf(flame, layOut(flame), 0, about);
}
