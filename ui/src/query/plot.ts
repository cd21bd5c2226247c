/** The plot of an answer with two columns: bars for names, a line for numbers. */

export type Row = Record<string, unknown>;

export type Plot =
  | { kind: "bars"; name: string; value: string; bars: { label: string; value: number }[]; left: number }
  | { kind: "line"; name: string; value: string; points: [number, number][] };

/** More bars are less informative. */
const MOST_BARS = 40;

/** The plot of an answer; null if there is nothing to draw. */
export function plotOf(rows: readonly Row[]): Plot | null {
  const names = Object.keys(rows[0] ?? {});
  const [name, value] = names;
  if (names.length !== 2 || name === undefined || value === undefined || rows.length < 2) return null;
  const there = rows.filter((row) => typeof row[value] === "number");
  if (there.length < 2) return null;
  if (there.every((row) => typeof row[name] === "number")) {
    const points = there.map((row): [number, number] => [row[name] as number, row[value] as number]);
    return { kind: "line", name, value, points: points.sort((a, b) => a[0] - b[0]) };
  }
  // Bars cannot be negative.
  if (there.some((row) => (row[value] as number) < 0)) return null;
  const bars = there.slice(0, MOST_BARS).map((row) => ({ label: shown(row[name]), value: row[value] as number }));
  return { kind: "bars", name, value, bars, left: there.length - bars.length };
}

/** A value as text; empty for null. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);
}

/** A line through points, in a picture of this size, with the ranges of its axes. */
export function lineThrough(points: readonly [number, number][], width: number, height: number): { path: string; x: [number, number]; y: [number, number] } {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const x: [number, number] = [Math.min(...xs), Math.max(...xs)];
  const y: [number, number] = [Math.min(0, ...ys), Math.max(0, ...ys)];
  const at = (value: number, [least, most]: [number, number], room: number) => (most > least ? ((value - least) / (most - least)) * room : 0);
  const path = points.map(([a, b]) => `${at(a, x, width).toFixed(1)},${(height - at(b, y, height)).toFixed(1)}`);
  return { path: `M${path.join(" L")}`, x, y };
}
