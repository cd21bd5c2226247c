/** What all flame graphs of the view share: colours of frames, what is said of them, what can be done with one. */
import type { FlameLabel, Layout } from "../pictures/flame-layout";
import { labelOf, pathTo } from "../pictures/flame-layout";
import { colourOfChange, coloursOf, moduleOf, type Coloured } from "../pictures/colours";
import { inkOn } from "../pictures/contrast";
import type { Told } from "../pictures/flame";
import { csvOf } from "../parts/export";
import { percent } from "../format";
import type { Flame } from "./answers";
import { inFull, ofAll, placeOf, shortOf } from "./telling";

export const INK = "#15171b";

export interface FrameColours {
  fill: (node: number) => string;
  ink: (node: number) => string;
}

/** Modules of a picture, those whose frames take most themselves first. */
export function modulesIn({ tree }: Pick<Layout, "tree">): Coloured[] {
  const widths = new Map<string, { module: Coloured; width: number }>();
  tree.label.forEach((label, node) => {
    const module = colouredOf(tree.labels[label] ?? { name: "[unknown]" });
    const known = widths.get(module.name) ?? { module, width: 0 };
    known.width += tree.own[node] ?? 0;
    widths.set(module.name, known);
  });
  return [...widths.values()].sort((a, b) => b.width - a.width).map(({ module }) => module);
}

/** What decides the colour of a frame or row: its module. */
export function colouredOf({ name, module, origin }: FlameLabel): Coloured {
  return name.startsWith("[") ? { name } : { name: module || moduleOf(name), origin: origin ?? "program" };
}

/** A colour for each module. */
export function byModule(layout: Layout, isDark: boolean): FrameColours {
  const colours = coloursOf(modulesIn(layout), isDark);
  const fills = layout.tree.labels.map((label) => colours.get(colouredOf(label).name));
  const inks = new Map(fills.map((fill) => [fill, inkOn(fill ?? "#ffffff", INK)]));
  const root = isDark ? "#5b626c" : "#c9c6bd";
  const fill = (node: number) => (node === 0 && isAll(layout) ? root : (fills[layout.tree.label[node] ?? -1] ?? root));
  return {
    fill,
    ink: (node) => (node === 0 && isDark && isAll(layout) ? "#f4f2ed" : (inks.get(fill(node)) ?? INK)),
  };
}

/** Whether the outermost frame is no function, but all of them. */
function isAll(layout: Layout): boolean {
  const { file, module } = labelOf(layout, 0);
  return !file && !module;
}

/** From -1 (all is gone) to 1 (all is new). */
export function changeOf(before: number, after: number): number {
  const most = Math.max(before, after);
  return most > 0 ? (after - before) / most : 0;
}

/** How much of its colour a frame keeps whose change may be chance. */
const BY_CHANCE = 0.2;

/** Red is more than before, blue is less: in the unit, or, where one trace is much longer than the other, as shares of all. */
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

/** What is said beside the pointer: the numbers in full. */
export function tellFrame(flame: Flame, layout: Layout, node: number, root: number): Told {
  const { tree } = layout;
  const label = labelOf(layout, node);
  const total = tree.total[node] ?? 0;
  const own = tree.own[node] ?? 0;
  const place = placeOf(label);
  const lines: [string, string][] = [];
  if (place) lines.push(["where", place]);
  if (tree.before) {
    const before = tree.before[node] ?? 0;
    lines.push(["before", inFull(before, flame.measure)], ["after", inFull(total, flame.measure)]);
    const change = total - before;
    const share = before > 0 ? ` (${change >= 0 ? "+" : ""}${percent(change / before)})` : "";
    const chance = tree.significant && !tree.significant[node] ? ", no more than chance explains" : "";
    lines.push(["change", `${change >= 0 ? "+" : ""}${inFull(change, flame.measure)}${share}${chance}`]);
    return { title: label.name, lines };
  }
  lines.push(["total", `${inFull(total, flame.measure)} (${shortOf(flame.measure)(total)})`]);
  lines.push(["self", own > 0 ? `${inFull(own, flame.measure)} (${ofAll(own, total)} of it)` : "nothing"]);
  lines.push(["of everything", ofAll(total, flame.all.value)]);
  if (root > 0) lines.push(["of what is shown", ofAll(total, tree.total[root] ?? 0)]);
  const more = tree.more[node] ?? 0;
  if (more > 0) lines.push(["left out", `${more} small ${more === 1 ? "callee" : "callees"}`]);
  return { title: label.name, lines };
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
