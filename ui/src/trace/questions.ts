/**
 * The state of the view of a trace, read from the URL, and the questions that follow from it. Defaults are neither in the URL nor
 * in questions, because a report finds its answers by the form of the question.
 */
import { canAsk, type Params } from "../api/ask";
import { ROWS } from "../api/window";
import { orderIn, type TableOrder } from "../parts/table";
import { go, useRoute, type Change } from "../state/route";
import { added, filterParams } from "./filters";

export const METRICS = [
  ["kept", "Kept"],
  ["live", "Live at end"],
  ["peak", "At peak"],
  ["allocated", "Allocated"],
  ["objects", "Objects"],
  ["promoted", "Promoted"],
] as const;
export type Metric = (typeof METRICS)[number][0];

/** The tabs of the view, their names in the URL, and their keys. */
export const PARTS = [
  ["flame", "Flame graph", "1"],
  ["functions", "Functions", "2"],
  ["sites", "Sites", "3"],
  ["paths", "Hot paths", "4"],
  ["modules", "Modules", "5"],
  ["files", "Files", "6"],
  ["lifetimes", "Lifetimes", "7"],
  ["diff", "Compare", "8"],
] as const;
export type Part = (typeof PARTS)[number][0];

export type Question = readonly [name: string, params: Params];

const BY_OF_PART: Partial<Record<Part, string>> = { functions: "function", sites: "site", modules: "module", files: "file" };

export interface Shown {
  file: number;
  part: Part;
  params: URLSearchParams;
  metric: Metric;
  /** The grouping of frames in the flame graph and of rows in lifetimes. */
  by: string;
}

/** The state in the URL, with defaults for everything missing. */
export function shownOf(file: number, part: string, params: URLSearchParams): Shown {
  const metric = METRICS.find(([id]) => id === params.get("metric"))?.[0] ?? "kept";
  const known = PARTS.find(([id]) => id === part)?.[0] ?? "flame";
  return {
    file,
    part: known,
    params,
    metric,
    by: params.get("by") ?? (known === "lifetimes" ? "site" : "function"),
  };
}

/** The metric, if it is not the default. */
export function metricParam({ metric }: Shown): Metric | undefined {
  return metric === "kept" ? undefined : metric;
}

/** The two compared traces: the server sorts them by time, so the first is before, unless they are swapped. */
export function comparedOf({ file, params }: Shown): { before: number; after: number } {
  const other = Number(params.get("with") ?? file);
  const [first, second] = [Math.min(file, other), Math.max(file, other)];
  return params.has("swapped") ? { before: second, after: first } : { before: first, after: second };
}

/** The question of a tab. */
export function questionOf(shown: Shown): Question {
  const { file, part, params } = shown;
  const filters = { file, ...filterParams(params), raw: params.has("raw") };
  const metric = metricParam(shown);
  const rows = { search: params.get("q") || undefined, sort: params.get("sort") ?? undefined, reverse: params.has("reverse") };
  switch (part) {
    case "flame": {
      const by = shown.by === "function" ? undefined : shown.by;
      const focus = params.get("focus");
      if (focus) return ["trace/around", { ...filters, metric, by, focus }];
      return ["trace/flame", { ...filters, metric, by, recursion: params.has("recursion") }];
    }
    case "paths":
      return ["trace/paths", { ...filters, metric, search: rows.search }];
    case "lifetimes":
      return ["trace/lifetimes", { ...filters, by: shown.by === "site" ? undefined : shown.by, ...rows }];
    case "diff": {
      const by = shown.by === "function" ? undefined : shown.by;
      const { file: _, ...others } = filters;
      return ["trace/diff", { ...others, ...comparedOf(shown), metric, by, ...rows }];
    }
    default: {
      const by = BY_OF_PART[part];
      return ["trace/top", { ...filters, metric, by: by === "function" ? undefined : by, ...rows }];
    }
  }
}

export interface TraceShown extends Shown {
  go: (change: Change, options?: { replace?: boolean }) => void;
  /** Sets parameters of the URL; null removes one. */
  set: (params: Record<string, string | readonly string[] | null>, options?: { replace?: boolean }) => void;
  addFilter: (name: string, value: string) => void;
  /** Shows callers and callees of this function. */
  focusOn: (name: string) => void;
  /** Whether the answer after a change is available: a report has only some. */
  can: (change: Partial<Shown>) => boolean;
  /** The order of the shown table; `first` by default. */
  order: (first: string) => TableOrder;
}

/** The state of the view of a trace, and ways to change it. */
export function useTrace(file: number): TraceShown {
  const { part, params } = useRoute();
  const shown = shownOf(file, part, params);
  return {
    ...shown,
    go,
    set: (changes, options) => go({ params: changes }, options),
    addFilter: (name, value) => go({ params: { ...added(params, name, value), at: null } }),
    focusOn: (name) => go({ part: "flame", params: { focus: name, at: null } }),
    can: (change) => {
      const [name, asked] = questionOf({ ...shown, ...change });
      return canAsk(name, name === "trace/flame" || name === "trace/around" ? asked : { ...asked, number: ROWS });
    },
    order: (first) => orderIn(params, first),
  };
}
