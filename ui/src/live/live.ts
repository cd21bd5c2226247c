/** How numbers of observers are read, and where it is looked at. Pure, so that it can be tested. */
import type { Observer, TreeNode } from "../api/generated";
import { bytes, count, percent, seconds } from "../format";

/** A number with its unit, as the command line writes it. */
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

/** A moment as clocks show it: `1:02:03.4`. */
export function clock(at: number): string {
  const tenths = Math.floor(at * 10 + 1e-6);
  const [hours, minutes, rest] = [Math.floor(tenths / 36000), Math.floor(tenths / 600) % 60, tenths % 600];
  const two = (n: number) => String(n).padStart(2, "0");
  const end = `${two(minutes)}:${two(Math.floor(rest / 10))}.${rest % 10}`;
  return hours > 0 ? `${hours}:${end}` : end;
}

/** Kinds in the order in which they are shown, as people call them. */
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
 * The sizes of a program that are known. A program that has ended has none any more: they are what was known last, and 0 is not that
 * but its memory going away, which older recordings have as their last value.
 */
export function sizesOf(observers: readonly Observer[], hasEnded: boolean): { title: string; bytes: number }[] {
  return SIZES.flatMap(([name, title]) => {
    const value = observers.find((one) => one.name === name)?.value;
    return typeof value === "number" && (value > 0 || !hasEnded) ? [{ title, bytes: value }] : [];
  });
}

/** The tree as lines with their depth: each node once, so that graphs with cycles end. */
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

/** Where it is looked at: following the program, or at a moment. */
export interface Watch {
  /** Seconds since the start; null: the last moment. */
  at: number | null;
  /** So many seconds are shown; 0: all. */
  span: number;
}

export const SPANS: readonly (readonly [string, string])[] = [["30", "30 s"], ["120", "2 min"], ["600", "10 min"], ["0", "All"]];

export function watchFrom(params: URLSearchParams): Watch {
  const at = Number.parseFloat(params.get("at") ?? "");
  const span = Number.parseFloat(params.get("span") ?? "0");
  return { at: Number.isFinite(at) && at >= 0 ? at : null, span: Number.isFinite(span) && span > 0 ? span : 0 };
}

/** A step of time back or on, within what is known; null is the end. */
export function stepped(at: number | null, by: number, from: number, to: number): number | null {
  const next = Math.max(from, (at ?? to) + by);
  return next >= to && by > 0 ? null : Math.round(next * 1000) / 1000;
}

/** How far one step of the arrows goes: a sixtieth of what is shown. */
export function stepOf(span: number, from: number, to: number): number {
  return Math.max(0.1, (span > 0 ? span : to - from) / 60);
}
