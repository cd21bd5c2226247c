/** The differential flame graph of two heaps: its texts, and its file for the page's export and `bactrian heap diff --flame`. */
import { bytes, count, grouped, percent } from "../format";
import type { Told } from "../pictures/flame";
import { byChange } from "../pictures/flame-frames";
import { labelOf, layOut, type Layout } from "../pictures/flame-layout";
import { flameSvg, USUAL_WIDTH } from "../pictures/flame-svg";
import type { HeapDiffFlame } from "./answers";

/** Swaps before and after. */
export function swapped(flame: HeapDiffFlame): HeapDiffFlame {
  const { total, before, own, own_before, blocks, blocks_before } = flame;
  return { ...flame, total: before, before: total, own: own_before, own_before: own, blocks: blocks_before, blocks_before: blocks };
}

/** The numbers of a frame. */
export function told(flame: HeapDiffFlame, layout: Layout, node: number): Told {
  const own = flame.own[node] ?? 0;
  const [before, after] = [flame.blocks_before[node] ?? 0, flame.blocks[node] ?? 0];
  const lines: [string, string][] = [
    ["before", bytes(flame.before[node] ?? 0)],
    ["after", bytes(flame.total[node] ?? 0)],
    ["change", signed(flame, node)],
  ];
  if (before > 0 || after > 0) lines.push(["its own", `${bytes(own)} in ${count(after)} blocks, before ${count(before)}`]);
  const more = flame.more[node] ?? 0;
  if (more > 0) {
    const [before, after] = leftOut(flame, layout, node);
    lines.push(["left out", `${grouped(more)} small ${more === 1 ? "one" : "ones"} of ${bytes(after)}, before ${bytes(before)}`]);
  }
  return { title: labelOf(layout, node).name, lines };
}

/** What the frames left out below this one retain, before and after: all but its own blocks and the frames that are shown. */
function leftOut(flame: HeapDiffFlame, layout: Layout, node: number): [number, number] {
  let [before, after] = [(flame.before[node] ?? 0) - (flame.own_before[node] ?? 0), (flame.total[node] ?? 0) - (flame.own[node] ?? 0)];
  for (let child = node + 1; child < (layout.end[node] ?? 0); child = layout.end[child] ?? child + 1) {
    before -= flame.before[child] ?? 0;
    after -= flame.total[child] ?? 0;
  }
  return [Math.max(0, before), Math.max(0, after)];
}

/** `3 MB before, 5 MB after`. */
export function sizes(flame: HeapDiffFlame, node: number): string {
  return `${bytes(flame.before[node] ?? 0)} before, ${bytes(flame.total[node] ?? 0)} after`;
}

/** `+1.2 MB (+30 %)`, `−3 kB (−5 %)`, `+7 MB (new)`. */
export function signed(flame: HeapDiffFlame, node: number): string {
  const before = flame.before[node] ?? 0;
  const change = (flame.total[node] ?? 0) - before;
  const sign = change > 0 ? "+" : "";
  const share = before > 0 ? `${sign}${percent(change / before)}` : "new";
  return change === 0 ? "no change" : `${sign}${bytes(change)} (${share})`;
}

/** The picture below `root` as a file. */
export function heapFlameSvg(flame: HeapDiffFlame, layout: Layout, root: number, warnings: readonly string[]): string {
  return flameSvg(layout, root, {
    title: "Holders: what grew and what shrank",
    lines: [sizes(flame, root), "Red grew, blue shrank"],
    warnings,
    up: false,
    width: USUAL_WIDTH,
    fill: byChange(layout, false, false).fill,
    figures: (node) => told(flame, layout, node).lines.map(([name, value]) => `${name}: ${value}`),
  });
}

/** Called by crates/web/src/pictures.rs. */
export function heapFlameFile(flame: HeapDiffFlame, about: { notes: string[] }): string {
  return heapFlameSvg(flame, layOut(flame), 0, about.notes);
}
