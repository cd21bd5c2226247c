/** The selected time range: parsing and formatting in the syntax of filters, dragging, and moving by keys. */

export interface Span {
  from: number;
  to: number;
}

const UNITS: Record<string, number> = { us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, min: 60, m: 60, h: 3600 };

/** `1.5s` in seconds, in the syntax of the command line; NaN if invalid. */
export function parseTime(text: string): number {
  const [, number = "", unit = ""] = /^\s*([0-9.]+(?:e[-+]?[0-9]+)?)\s*([a-zµ]*)\s*$/i.exec(text) ?? [];
  if (number === "") return Number.NaN;
  return Number(number) * (unit === "" ? 1 : (UNITS[unit] ?? Number.NaN));
}

/** `1s..2s`, `..2s`, `1s..`: missing ends are those of the trace. */
export function parseSpan(text: string | null, whole: Span): Span | null {
  if (text === null) return null;
  const [first, last, ...rest] = text.split("..");
  if (first === undefined || last === undefined || rest.length > 0) return null;
  const from = first.trim() === "" ? whole.from : parseTime(first);
  const to = last.trim() === "" ? whole.to : parseTime(last);
  return Number.isFinite(from) && Number.isFinite(to) && from <= to ? { from, to } : null;
}

/** Formats a range with as many digits as the picture can resolve. */
export function writeSpan({ from, to }: Span, resolution: number): string {
  return `${writeTime(from, resolution)}..${writeTime(to, resolution)}`;
}

export function writeTime(time: number, resolution: number): string {
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(resolution || 1))));
  return `${Number(time.toFixed(digits))}s`;
}

export type Grip = "new" | "move" | "from" | "to";

/** What a press at `time` grabs, with ends reachable within `reach`. */
export function gripAt(time: number, span: Span | null, reach: number): Grip {
  if (!span) return "new";
  const toFrom = Math.abs(time - span.from);
  const toEnd = Math.abs(time - span.to);
  if (Math.min(toFrom, toEnd) <= reach) return toFrom <= toEnd ? "from" : "to";
  return time > span.from && time < span.to ? "move" : "new";
}

/** The selection after dragging from one time to another. */
export function dragged(grip: Grip, span: Span | null, pressed: number, now: number, whole: Span): Span {
  const by = now - pressed;
  if (!span || grip === "new") return within(ordered(pressed, now), whole);
  if (grip === "move") return moved(span, by, whole);
  if (grip === "from") return within(ordered(span.from + by, span.to), whole);
  return within(ordered(span.from, span.to + by), whole);
}

/** The range moved as a whole, as far as possible. */
export function moved({ from, to }: Span, by: number, whole: Span): Span {
  const room = Math.max(whole.from - from, Math.min(whole.to - to, by));
  return { from: from + room, to: to + room };
}

/** The range with its later end moved, as far as possible without becoming empty. */
export function resized({ from, to }: Span, by: number, whole: Span, least: number): Span {
  return { from, to: Math.min(whole.to, Math.max(from + least, to + by)) };
}

function ordered(a: number, b: number): Span {
  return a <= b ? { from: a, to: b } : { from: b, to: a };
}

function within({ from, to }: Span, whole: Span): Span {
  const clamp = (time: number) => Math.max(whole.from, Math.min(whole.to, time));
  return { from: clamp(from), to: clamp(to) };
}
