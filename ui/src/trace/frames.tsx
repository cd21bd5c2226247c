/** What all flame graphs of the view share: colours, tooltips, and actions on frames. */
import type { FlameLabel, Layout } from "../pictures/flame-layout";
import { labelOf } from "../pictures/flame-layout";
import { coloursOf, moduleOf, type Coloured } from "../pictures/colours";
import { inkOn } from "../pictures/contrast";
import type { Told } from "../pictures/flame";
import { INK, type FrameColours } from "../pictures/flame-frames";
import { percent } from "../format";
import type { Flame } from "./answers";
import { inFull, ofAll, placeOf, shortOf } from "./telling";

/** The modules of a picture, those with the largest self size first. */
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

/** What determines the colour of a frame or row: its module. */
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

/** Whether the outermost frame stands for all functions. */
function isAll(layout: Layout): boolean {
  const { file, module } = labelOf(layout, 0);
  return !file && !module;
}

/** The tooltip of a frame, with exact numbers. */
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
    const chance = tree.significant && !tree.significant[node] ? ", not significant" : "";
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
