/** The filters of the command line: in the URL they have the names of the options, on the page they are chips. */
import type { Params } from "../api/ask";

export type FilterKind = "times" | "time" | "sizes" | "function" | "file" | "heap" | "number" | "flag";

export interface FilterOption {
  /** As on the command line, without the dashes. */
  name: string;
  kind: FilterKind;
  /** May occur several times. */
  repeated: boolean;
  /** What it requires of objects. */
  what: string;
  /** An example value. */
  example: string;
}

export const FILTERS: readonly FilterOption[] = [
  { name: "in", kind: "function", repeated: true, what: "with this function in the stack", example: "Main.load or /^Stdlib/" },
  { name: "not-in", kind: "function", repeated: true, what: "without this function in the stack", example: "Main.load or /^Stdlib/" },
  { name: "hide", kind: "function", repeated: true, what: "removed from stacks: its allocations count to its caller", example: "List.map or /^Stdlib/" },
  { name: "in-file", kind: "file", repeated: true, what: "with a function of this file in the stack", example: "main.ml" },
  { name: "not-in-file", kind: "file", repeated: true, what: "without a function of this file in the stack", example: "list.ml" },
  { name: "live-in", kind: "times", repeated: false, what: "alive at some moment in this time", example: "1.5s..3s" },
  { name: "allocated", kind: "times", repeated: false, what: "allocated in this time", example: "1.5s..3s" },
  { name: "collected", kind: "times", repeated: false, what: "collected in this time", example: "1.5s..3s" },
  { name: "lifetime", kind: "times", repeated: false, what: "time from allocation to collection", example: "10ms.." },
  { name: "size", kind: "sizes", repeated: false, what: "size without header", example: "64..1kB" },
  { name: "live-at", kind: "time", repeated: false, what: "alive at this moment", example: "2.5s" },
  { name: "live-at-peak", kind: "flag", repeated: false, what: "alive when the selected objects take most memory", example: "" },
  { name: "live-at-end", kind: "flag", repeated: false, what: "alive when the trace ends", example: "" },
  { name: "never-collected", kind: "flag", repeated: false, what: "not collected before the trace ends", example: "" },
  { name: "heap", kind: "heap", repeated: true, what: "in this heap", example: "minor, major or external" },
  { name: "domain", kind: "number", repeated: true, what: "of this domain", example: "0" },
];

const BY_NAME = new Map(FILTERS.map((option) => [option.name, option]));

export const HEAPS = ["minor", "major", "external"] as const;

export function optionOf(name: string): FilterOption | undefined {
  return BY_NAME.get(name);
}

export interface Chip {
  option: FilterOption;
  value: string;
  /** Its index among those of the same name. */
  at: number;
}

/** The filters in the URL, in the order of the list above. */
export function chipsOf(params: URLSearchParams): Chip[] {
  return FILTERS.flatMap((option) => {
    const values = params.getAll(option.name);
    const told = option.repeated ? values : values.slice(-1);
    return told.map((value, at) => ({ option, value: option.kind === "flag" ? "" : value, at }));
  });
}

/** The filters as parameters of a question. */
export function filterParams(params: URLSearchParams): Params {
  const asked: Params = {};
  for (const option of FILTERS) {
    const values = params.getAll(option.name);
    const last = values.at(-1);
    if (last === undefined) continue;
    asked[option.name] = option.kind === "flag" ? true : option.repeated ? values : last;
  }
  return asked;
}

/** The URL parameters with this filter added; a filter occurs at most once. */
export function added(params: URLSearchParams, name: string, value: string): Record<string, string[]> {
  const option = BY_NAME.get(name);
  const known = option?.repeated ? params.getAll(name) : [];
  return { [name]: known.includes(value) ? known : [...known, value] };
}

/** The URL parameters without this chip, or with another value for it. */
export function replaced(params: URLSearchParams, chip: Chip, value: string | null): Record<string, string[]> {
  const known = chip.option.repeated ? params.getAll(chip.option.name) : [chip.value];
  return { [chip.option.name]: known.flatMap((old, at) => (at !== chip.at ? [old] : value === null ? [] : [value])) };
}

/** The URL parameters without any filter. */
export function cleared(): Record<string, null> {
  return Object.fromEntries(FILTERS.map(({ name }) => [name, null]));
}

/** A name as a filter value. A name that begins with a slash would be taken for an expression. */
export function patternOf(name: string): string {
  return name.startsWith("/") ? `/^${escapedExpression(name)}$/` : name;
}

/** All functions of a module, and its initialisation code. */
export function moduleFilter(module: string): string {
  return `/^${escapedExpression(module)}(\\.|$)/`;
}

function escapedExpression(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** Whether a server error is about this chip: it names its option or its value. */
export function isAbout(error: string, { option, value }: Chip): boolean {
  const names = new RegExp(`(^|[^a-z-])(--)?${option.name}([^a-z-]|$)`, "u");
  return option.kind === "flag" ? error.includes(option.name) : error.includes(value) && (value.length > 2 || names.test(error));
}
