/** The answer to `heap/evolution`, and the state of the Evolution view: its representation in the URL, and where clicks lead. */
import type { Params } from "../api/ask";
import type { Evolution, EvolutionRow, SeriesPoint } from "../api/generated";
import { bytes, count, seconds, type Estimate } from "../format";
import type { Change } from "../state/route";

export type Series = Evolution;
export type SeriesRow = EvolutionRow;
export type { SeriesPoint };

export type By = "type" | "module" | "function" | "site";
export type Unit = "bytes" | "words" | "blocks";
export type Axis = "collection" | "time";

export const BYS: readonly (readonly [By, string])[] = [["type", "Type"], ["module", "Module"], ["function", "Function"], ["site", "Site"]];
export const UNITS: readonly (readonly [Unit, string])[] = [["bytes", "Bytes"], ["words", "Words"], ["blocks", "Blocks"]];
export const AXES: readonly (readonly [Axis, string])[] = [["time", "By time"], ["collection", "By collection"]];
export const FIRST = 20;
export const MOST = 60;

/** The filters on blocks, from the widest to the narrowest. */
export const FILTERS = ["type", "module", "function", "site"] as const;
export type FilterName = (typeof FILTERS)[number];

/** The state of the view, from the URL. */
export interface Shown {
  by: By;
  unit: Unit;
  /** `average`, `growth`, or the number of a snapshot, from 1. */
  sort: string;
  number: number;
  also: readonly string[];
  /** The rows that are switched off. */
  off: readonly string[];
  axis: Axis;
  /** `live`, `heap`, `compactions`. */
  lines: readonly string[];
  /** The index of the chosen snapshot, from 0. */
  chosen: number | null;
  filters: Partial<Record<FilterName, string>>;
  /** Whether to show the leak candidates, too. */
  stayed: boolean;
}

function oneOf<V extends string>(options: readonly (readonly [V, string])[], text: string | null, otherwise: V): V {
  return options.find(([value]) => value === text)?.[0] ?? otherwise;
}

export function shownFrom(params: URLSearchParams): Shown {
  const number = Number.parseInt(params.get("n") ?? "", 10);
  const chosen = Number.parseInt(params.get("at") ?? "", 10);
  const filters: Shown["filters"] = {};
  for (const name of FILTERS) {
    const value = params.get(name);
    if (value !== null) filters[name] = value;
  }
  return {
    by: oneOf(BYS, params.get("by"), "type"),
    unit: oneOf(UNITS, params.get("unit"), "bytes"),
    sort: /^(growth|[1-9]\d{0,5})$/.test(params.get("sort") ?? "") ? (params.get("sort") ?? "") : "average",
    number: number >= 1 && number <= MOST ? number : FIRST,
    also: params.getAll("also"),
    off: params.getAll("off"),
    axis: oneOf(AXES, params.get("x"), "time"),
    lines: (params.get("lines") ?? "").split(",").filter(Boolean),
    chosen: chosen >= 1 ? chosen - 1 : null,
    filters,
    stayed: params.has("stayed"),
  };
}

/** The question, without defaults, so that it has the form used in reports. */
export function questionOf(shown: Shown): Params {
  return {
    by: shown.by === "type" ? undefined : shown.by,
    unit: shown.unit === "bytes" ? undefined : shown.unit,
    sort: shown.sort === "average" ? undefined : shown.sort,
    number: shown.number === FIRST ? undefined : shown.number,
    also: shown.also.length > 0 ? shown.also : undefined,
    ...shown.filters,
  };
}

/** Where a click on a row leads: from modules to their functions, sites, and the types allocated there. */
export function below(shown: Shown, row: { title: string; name: string }): Change | null {
  // Names in brackets stand for unknown things.
  if (row.title === "[not sampled]" || row.title === "[rest]") return null;
  const { by, filters } = shown;
  const into = (next: By, value: string): Change => ({
    params: { by: next === "type" ? null : next, [by]: value, also: null, off: null, sort: shown.sort === "average" ? null : shown.sort },
  });
  switch (by) {
    case "type":
      return filters.module ?? filters.function ?? filters.site ? null : into("module", row.name);
    case "module":
      return into("function", row.title);
    case "function":
      return into("site", row.title);
    case "site":
      return filters.type === undefined ? into("type", row.title) : null;
  }
}

/** The path to the current state: each step with the change that leads back to it. */
export function breadcrumb(shown: Shown): { text: string; back: Change }[] {
  // A type that was clicked first comes before the module; otherwise it is a property of a site, and not a filter.
  const steps = FILTERS.filter((name) => shown.filters[name] !== undefined);
  const by: Record<FilterName, By> = { type: "module", module: "function", function: "site", site: "type" };
  const none = Object.fromEntries(FILTERS.map((name) => [name, null]));
  const keep = (names: readonly FilterName[]) => Object.fromEntries(names.map((name) => [name, shown.filters[name] ?? null]));
  const first = steps[0] ?? (shown.by as FilterName);
  const all: Change = { params: { ...none, by: first === "type" ? null : first, also: null, off: null } };
  return [
    { text: "All blocks", back: all },
    ...steps.map((name, at) => ({
      text: shown.filters[name] ?? "",
      back: { params: { ...none, ...keep(steps.slice(0, at + 1)), by: by[name] === "type" ? null : by[name], also: null, off: null } },
    })),
  ];
}

/** The numbers of a row in the shown unit. */
export function estimatesOf(row: SeriesRow, unit: Unit, word: number): Estimate[] {
  if (unit === "blocks") return row.blocks;
  if (unit === "bytes") return row.bytes;
  return row.bytes.map(({ value, low, high }) => ({ value: value / word, low: low / word, high: high / word }));
}

/** Converts a number of bytes or blocks to the shown unit. */
export function inUnit(value: number, unit: Unit, word: number): number {
  return unit === "words" ? value / word : value;
}

export function showIn(unit: Unit): (value: number) => string {
  return unit === "bytes" ? bytes : count;
}

/** When each snapshot was taken, in seconds since the first or since the program's start. */
export function timesOf(snapshots: readonly SeriesPoint[]): number[] {
  const first = snapshots[0]?.taken ?? 0;
  const known = snapshots.every((point) => point.since_start !== null && point.pid === snapshots[0]?.pid);
  return snapshots.map((point) => (known ? (point.since_start ?? 0) : point.taken - first));
}

/** The two labels below each snapshot. */
export function namesOf(snapshots: readonly SeriesPoint[]): [string, string][] {
  const times = timesOf(snapshots);
  const isOfOne = snapshots.every((point) => point.pid === snapshots[0]?.pid);
  return snapshots.map((point, at) => [isOfOne ? `#${point.sequence}` : `#${at + 1}`, seconds(times[at] ?? 0)]);
}

/** Compactions since the previous snapshot. */
export function compactionsOf(snapshots: readonly SeriesPoint[]): { at: number; count: number }[] {
  return snapshots.flatMap((point, at) => {
    const before = at === 0 ? 0 : snapshots[at - 1]?.compactions;
    const count = (point.compactions ?? 0) - (before ?? 0);
    return point.compactions !== null && before != null && count > 0 ? [{ at, count }] : [];
  });
}

/** The share of the total growth from which a row is highlighted. */
const OF_GROWTH = 0.1;

/** Whether a row is among those that make the heap grow. */
export function isGrowing(row: Pick<SeriesRow, "growth">, all: Pick<SeriesRow, "growth">): boolean {
  return all.growth > 0 && row.growth >= OF_GROWTH * all.growth;
}

/** Switches one of several on or off. */
export function toggled(all: readonly string[], one: string): string[] {
  return all.includes(one) ? all.filter((other) => other !== one) : [...all, one];
}
