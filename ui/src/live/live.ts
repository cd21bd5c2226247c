/** What `live/..` answers, and how values of observers are read. Pure, so that it can be tested. */
import { bytes, count, percent, seconds } from "../format";

export interface About {
  program: { name: string; pid: number; runtime: string };
  from: number;
  to: number;
  cpu: number | null;
  ended: { time: number; reason: string } | null;
  dropped: { ticks: number; lines: number };
  forgotten_values: number;
  warnings: { name: string; subject: string; since: number; sentence: string; advice: string }[];
  markers: LogLine[];
}

export interface LiveState {
  about: About;
  at: number;
  state: "live" | "lost" | "replay" | "over";
  reason: string | null;
  /** No more will come. */
  is_over: boolean;
  notices: string[];
  /** Observers that can be drawn. */
  names: string[];
}

export interface LogLine {
  time: number;
  text: string;
}

export interface Distribution {
  count: number;
  sum: number;
  min: number;
  max: number;
  p50: number;
  p90: number;
  p99: number;
  p999: number;
}

export interface Site {
  name: string;
  bytes_per_second: number;
  live_bytes: number;
  samples: number;
}

export interface Tree {
  nodes: { label: string; children: number[] }[];
}

export interface Observer {
  name: string;
  /** The name with what tells it apart. */
  title: string;
  kind: string;
  labels: Record<string, string>;
  unit: UnitName | null;
  period_ms: number;
  changes: number;
  state: "unknown" | "observed" | "failed" | "collected" | "killed";
  value: unknown;
}

export type UnitName = "bytes" | "nanoseconds" | "percent";

export interface DrawnLine {
  name: string;
  part: string;
  unit: UnitName | null;
  rate: boolean;
  values: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
}

export interface Chart {
  times: number[];
  lines: DrawnLine[];
}

/** A number with its unit, as the command line writes it. */
export function amount(value: number, unit: UnitName | null, isRate = false): string {
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

type Fields = Record<string, unknown>;
const number = (fields: Fields, name: string): number => (typeof fields[name] === "number" ? (fields[name] as number) : 0);

function distribution(of: Distribution, unit: UnitName | null): string {
  return `${count(of.count)}: median ${amount(of.p50, unit)}, 99 % ${amount(of.p99, unit)}, max ${amount(of.max, unit)}`;
}

/** A value in one line. */
export function valueText(observer: Observer): string {
  const { value, unit, kind, state } = observer;
  if (state === "failed") return `failed: ${String(value)}`;
  if (state !== "observed") return state === "unknown" ? "not told yet" : state;
  if (typeof value === "number") return amount(value, unit);
  if (value === null) return "not a number";
  if (typeof value === "boolean" || typeof value === "string") return String(value);
  if (Array.isArray(value)) return `${value.length} sites`;
  const fields = value as Fields;
  switch (kind) {
    case "time":
      return `${seconds(number(fields, "seconds"))}${number(fields, "runs") > 0 ? ` in ${count(number(fields, "runs"))}` : ""}${fields["running"] ? ", running" : ""}`;
    case "tag":
      return [typeof fields["count"] === "number" ? `${count(number(fields, "count"))} alive` : "", typeof fields["bytes"] === "number" ? bytes(number(fields, "bytes")) : ""].filter(Boolean).join(", ");
    case "tree":
      return `${(value as Tree).nodes.length} nodes`;
    case "table":
      return `${count(number(fields, "bindings"))} in ${count(number(fields, "buckets"))} buckets, ${percent(number(fields, "fill"))} filled, longest ${count(number(fields, "longest"))}`;
    case "histogram":
      return distribution(value as Distribution, unit);
    case "span":
      return `${count(number(fields, "open"))} open; ${distribution(fields["durations"] as Distribution, "nanoseconds")}`;
    default:
      return JSON.stringify(value);
  }
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

/** The tree as lines with their depth: each node once, so that graphs with cycles end. */
export function treeLines(tree: Tree, most = 400): { label: string; depth: number; again: boolean }[] {
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
