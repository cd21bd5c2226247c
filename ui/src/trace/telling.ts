/** Formatting of a trace's numbers, short and exact. */
import { bytes, count, grouped, percent } from "../format";
import type { FlameLabel } from "../pictures/flame-layout";
import type { Measure } from "./answers";

/** Short: `12.3 MB`, `4.50M`. */
export function shortOf(measure: Measure | undefined): (value: number) => string {
  return measure?.unit === "objects" ? count : bytes;
}

/** Exact: `12,345,678 bytes`. */
export function inFull(value: number, measure: Measure | undefined): string {
  const unit = measure?.unit === "objects" ? "blocks" : "bytes";
  return `${grouped(value)} ${unit}`;
}

export function ofAll(part: number, all: number): string {
  return all > 0 ? percent(part / all) : "–";
}

/** `list.ml:92:27`, or nothing. */
export function placeOf({ file, line, columns }: FlameLabel): string {
  if (!file) return "";
  if (!line) return file;
  return columns ? `${file}:${line}:${columns[0]}` : `${file}:${line}`;
}

/** A measure in words. */
export function wordsOf(measure: Measure | undefined): string {
  switch (measure?.of) {
    case "live-at-end":
      return "live at the end";
    case "live-at-peak":
      return "live at the peak";
    case "promoted":
      return "promoted";
    default:
      return measure?.unit === "objects" ? "blocks allocated" : "allocated";
  }
}

/** `1 s` for `1.00 s`, because the ticks of an axis are round. */
export function rounded(text: string): string {
  return text.replace(/(\.\d*?)0+(?= )/, "$1").replace(/\.(?= )/, "");
}
