/** Settings in words: below pictures, and for screen readers. */
import type { Answer, GcMap, MapCell, GcRunRow } from "../api/generated";
import { bytes, estimate, percent, seconds } from "../format";
import { isSame, nameOf } from "./setting";

/** What runs are for, as on the command line. */
export const WHY: Record<GcRunRow["why"], string> = {
  present: "unchanged",
  noise: "again, to measure noise",
  law: "another o, to fit the law",
  "minor-heap": "another minor heap",
  verification: "to verify the recommendation",
};

/** A factor as a change: `-12.3 %`. */
export function change(factor: number): string {
  const part = factor - 1;
  return `${part > 0 ? "+" : part < 0 ? "−" : "±"}${percent(Math.abs(part))}`;
}

/** Why a cell of the map has no numbers. */
export function whyUnknown(map: GcMap): string {
  return map.fitted ? "unknown: no run had this s" : "unknown: the law takes runs with the same s and two values of o";
}

/** What the numbers of a cell come from. */
export function sourceOf(map: GcMap, { source }: MapCell): string {
  if (source === "run") return "measured";
  if (source === "unknown") return whyUnknown(map);
  const [low, high] = map.fitted ?? [0, 0];
  return source === "model" ? "by the model" : `by the model, which extrapolates beyond o from ${low} to ${high}`;
}

/** A setting with all that is known of it. */
export function told(answer: Answer, cell: MapCell): string {
  const { setting, time, rss, time_factor, rss_factor } = cell;
  const isNow = isSame(answer.present.setting, setting);
  const isRecommended = isSame(answer.recommended?.choice.cell.setting, setting);
  const name = `${nameOf(setting)}${isRecommended ? ", recommended" : ""}${isNow ? ", now" : ""}`;
  if (!time || !rss) return `${name}: ${sourceOf(answer.map, cell)}.`;
  const changes = isNow || time_factor === null || rss_factor === null ? "" : `; ${change(time_factor)} time and ${change(rss_factor)} memory`;
  return `${name}: ${estimate(time, seconds)}, ${estimate(rss, bytes)}${changes}; ${sourceOf(answer.map, cell)}.`;
}
