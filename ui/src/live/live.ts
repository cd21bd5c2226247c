/** Formatting of observers' numbers, and the viewed moment. Pure, so that it can be tested. */
import type { Observer, TreeNode } from "../api/generated";
import { bytes, count, percent, seconds } from "../format";
import type { DrawnLink, DrawnNode } from "../pictures/links-drawing";

/** A number with its unit, in the format of the command line. */
export function amount(value: number, unit: string | null, isRate = false): string {
  if (unit === "nanoseconds" && isRate) return percent(value / 1e9);
  const text =
    unit === "bytes" ? bytes(value) : unit === "nanoseconds" ? seconds(value / 1e9) : unit === "percent" ? percent(value / 100) : plain(value);
  return isRate ? `${text}/s` : text;
}

function plain(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return count(value);
  return String(Number(value.toPrecision(3)));
}

/** A moment as a clock time: `1:02:03.4`. */
export function clock(at: number): string {
  const tenths = Math.floor(at * 10 + 1e-6);
  const [hours, minutes, rest] = [Math.floor(tenths / 36000), Math.floor(tenths / 600) % 60, tenths % 600];
  const two = (n: number) => String(n).padStart(2, "0");
  const end = `${two(minutes)}:${two(Math.floor(rest / 10))}.${rest % 10}`;
  return hours > 0 ? `${hours}:${end}` : end;
}

/** Kinds in display order, with their titles. */
export const KINDS: readonly (readonly [string, string])[] = [
  ["point", "Points"], ["counter", "Counters"], ["gauge", "Gauges"], ["int", "Numbers"], ["float", "Numbers"], ["bool", "Truth values"], ["text", "Texts"],
  ["time", "Times"], ["tag", "Tags"], ["table", "Hash tables"], ["tree", "Trees"], ["histogram", "Histograms"], ["span", "Spans"],
];

export function isOfRuntime(name: string): boolean {
  return name === "sites" || name.startsWith("runtime.") || name.startsWith("process.");
}

/** A program's own observers by kind. */
export function byKind(observers: readonly Observer[]): { title: string; observers: Observer[] }[] {
  const groups: { title: string; observers: Observer[] }[] = [];
  for (const [kind, title] of KINDS) {
    const found = observers.filter((observer) => observer.kind === kind && !isOfRuntime(observer.name));
    if (found.length === 0) continue;
    const group = groups.find((group) => group.title === title);
    if (group) group.observers.push(...found);
    else groups.push({ title, observers: found });
  }
  return groups;
}

/** The sizes that come first. */
const SIZES = [
  ["runtime.live", "live"],
  ["runtime.heap", "heap"],
  ["process.rss", "memory of the process"],
] as const;

/**
 * The known sizes of a program. For a program that has ended they are the last known ones. A 0 is not among them: older
 * recordings end with it as the memory is released.
 */
export function sizesOf(observers: readonly Observer[], hasEnded: boolean): { title: string; bytes: number }[] {
  return SIZES.flatMap(([name, title]) => {
    const value = observers.find((one) => one.name === name)?.value;
    return typeof value === "number" && (value > 0 || !hasEnded) ? [{ title, bytes: value }] : [];
  });
}

/** The tree as lines with their depth. Each node occurs once in full, so that cycles end. */
export function treeLines(tree: { nodes: TreeNode[] }, most = 400): { label: string; depth: number; again: boolean }[] {
  const lines: { label: string; depth: number; again: boolean }[] = [];
  const seen = new Set<number>();
  const waiting: { node: number; depth: number }[] = tree.nodes.length > 0 ? [{ node: 0, depth: 0 }] : [];
  for (let next = waiting.pop(); next && lines.length < most; next = waiting.pop()) {
    const node = tree.nodes[next.node];
    if (!node) continue;
    const again = seen.has(next.node);
    lines.push({ label: node.label, depth: next.depth, again });
    if (again) continue;
    seen.add(next.node);
    for (const child of [...node.children].reverse()) waiting.push({ node: child, depth: next.depth + 1 });
  }
  return lines;
}

/** A tree or graph as boxes with arrows; a shared node has several arrows. */
export function drawnTree(nodes: readonly TreeNode[]): { nodes: DrawnNode[]; links: DrawnLink[] } {
  return {
    nodes: nodes.map(({ label, children }, at) => ({
      id: String(at),
      name: label || "(no name)",
      note: "",
      title: `${label}: ${children.length} ${children.length === 1 ? "child" : "children"}`,
      colour: "",
      isMarked: at === 0,
    })),
    links: nodes.flatMap(({ children }, at) => children.map((child) => ({ from: String(at), to: String(child), label: "" }))),
  };
}

/** A chart of observers. */
export interface Graph {
  title: string;
  names: string[];
  unit?: string | null;
}

/** The charts of the chosen observers: one each, or one per unit. A table has separate charts for its bindings and its fill. */
export function graphsOf(chosen: readonly Observer[], isTogether: boolean): Graph[] {
  const graphs = new Map<string, Graph>();
  const add = (key: string, title: string, name: string, unit?: string | null) => {
    const known = graphs.get(isTogether ? key : `${key} ${name}`);
    if (known) {
      known.title += `, ${title}`;
      known.names.push(name);
    } else graphs.set(isTogether ? key : `${key} ${name}`, { title, names: [name], ...(unit === undefined ? {} : { unit }) });
  };
  for (const { title, kind, unit } of chosen) {
    if (kind === "text" || kind === "sites") continue;
    if (kind === "table") {
      add("table", title, title, null);
      add("fill", `${title} filled`, title, "percent");
    } else add(`${kind === "time" ? "share" : (unit ?? "")} ${kind === "counter" || kind === "point"}`, title, title);
  }
  return [...graphs.values()];
}

/** The viewed time: following the program, or at a moment. */
export interface Watch {
  /** Seconds since the start; null for the last moment. */
  at: number | null;
  /** The number of seconds shown; 0 for all. */
  span: number;
}

export const SPANS: readonly (readonly [string, string])[] = [["30", "30 s"], ["120", "2 min"], ["600", "10 min"], ["0", "All"]];

export function watchFrom(params: URLSearchParams): Watch {
  const at = Number.parseFloat(params.get("at") ?? "");
  const span = Number.parseFloat(params.get("span") ?? "0");
  return { at: Number.isFinite(at) && at >= 0 ? at : null, span: Number.isFinite(span) && span > 0 ? span : 0 };
}

/** A step back or forward in time, clamped to the known range; null means the end. */
export function stepped(at: number | null, by: number, from: number, to: number): number | null {
  const next = Math.max(from, (at ?? to) + by);
  return next >= to && by > 0 ? null : Math.round(next * 1000) / 1000;
}

/** The size of a step with the arrow keys: a sixtieth of what is shown. */
export function stepOf(span: number, from: number, to: number): number {
  return Math.max(0.1, (span > 0 ? span : to - from) / 60);
}
