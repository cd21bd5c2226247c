/** What flame graphs of traces and of heaps share: colours of changes with their legend, the path to a frame, and frames as a table. */
import { csvOf } from "../parts/export";
import { colourOfChange } from "./colours";
import { inkOn } from "./contrast";
import { labelOf, pathTo, type Layout } from "./flame-layout";

export const INK = "#15171b";

export interface FrameColours {
  fill: (node: number) => string;
  ink: (node: number) => string;
}

/** From -1 (all is gone) to 1 (all is new). */
export function changeOf(before: number, after: number): number {
  const most = Math.max(before, after);
  return most > 0 ? (after - before) / most : 0;
}

/** The strength of the colour of an insignificant change. */
const BY_CHANCE = 0.2;

/** Red is more than before, blue is less: in the unit, or, if one trace is much longer than the other, as shares of the total. */
export function byChange(layout: Layout, isDark: boolean, isShares: boolean): FrameColours {
  const { before = [], total, significant } = layout.tree;
  const [allBefore, allAfter] = isShares ? [before[0] || 1, total[0] || 1] : [1, 1];
  const change = (node: number) => {
    const change = changeOf((before[node] ?? 0) / allBefore, (total[node] ?? 0) / allAfter);
    return significant && !significant[node] ? change * BY_CHANCE : change;
  };
  const fill = (node: number) => colourOfChange(change(node), isDark);
  return { fill, ink: (node) => inkOn(fill(node), isDark ? "#ffffff" : INK) };
}

export function ChangeLegend() {
  return (
    <p class="legend faint">
      <i class="less" /> less than before <i class="same" /> the same <i class="more" /> more than before, or new
    </p>
  );
}

export interface PathStep {
  /** The id of the frame; null for the root of all. */
  id: string | null;
  name: string;
}

/** The path from the root of all to a frame. */
export function stepsTo(layout: Layout, node: number): PathStep[] {
  return pathTo(layout, node).map((at) => ({ id: at === 0 ? null : String(layout.tree.id[at] ?? ""), name: labelOf(layout, at).name }));
}

/** More steps than these, and the middle is omitted. */
const MOST_STEPS = 6;

/** The path to the shown frame; a click zooms out to a step. */
export function FramePath({ label, steps, onGo }: { label: string; steps: readonly PathStep[]; onGo: (id: string | null) => void }) {
  const hidden = Math.max(0, steps.length - MOST_STEPS);
  const told = steps.filter((_, place) => place === 0 || place > hidden);
  return (
    <nav class="breadcrumb" aria-label={label} data-testid="breadcrumb">
      {told.map(({ id, name }, place) => (
        <span key={place}>
          {place > 0 && <span class="faint"> › </span>}
          {place === 1 && hidden > 0 && <span class="faint" title={steps.slice(1, hidden + 1).map((step) => step.name).join(" › ")}>… › </span>}
          {place === told.length - 1 ? <b>{name}</b> : <button class="link" onClick={() => onGo(id)}>{name}</button>}
        </span>
      ))}
    </nav>
  );
}

/** The shown frames as a table, outermost first, with their callers. */
export function flameCsv(layout: Layout, root: number): string {
  const { tree } = layout;
  const head = ["stack", "name", "file", "line", "total", "self", ...(tree.before ? ["total before"] : [])];
  const rows: (string | number)[][] = [];
  for (let node = root; node < (layout.end[root] ?? 0); node++) {
    const { name, file, line } = labelOf(layout, node);
    const stack = pathTo(layout, node).slice(1).map((at) => labelOf(layout, at).name);
    const before = tree.before ? [tree.before[node] ?? 0] : [];
    rows.push([stack.join(";"), name, file ?? "", line ?? "", tree.total[node] ?? 0, tree.own[node] ?? 0, ...before]);
  }
  return csvOf([head, ...rows]);
}
