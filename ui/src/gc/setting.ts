/** Settings of the GC parameters s and o: their names, and where they are on the map. */
import type { Answer, GcMap, Interval, MapCell, Setting } from "../api/generated";

const UNITS = [["M", 1 << 20], ["k", 1 << 10]] as const;

/** A number of words as in OCAMLRUNPARAM: `256k`, `4M`, `1000`. */
export function words(count: number): string {
  const unit = UNITS.find(([, size]) => count > 0 && count % size === 0);
  return unit ? `${count / unit[1]}${unit[0]}` : String(count);
}

/** As the URL has it, too: `s=256k,o=120`. */
export function nameOf({ s, o }: Setting): string {
  return `s=${words(s)},o=${o}`;
}

export function isSame(a: Setting | null | undefined, b: Setting | null | undefined): boolean {
  return !!a && !!b && a.s === b.s && a.o === b.o;
}

/** A setting with time and memory. */
export type KnownCell = MapCell & { time: Interval; rss: Interval };

/** The settings that were compared with each other, by memory. */
export function knownCells({ grid, map }: Pick<Answer, "grid" | "map">): KnownCell[] {
  const compared = new Set(grid.map(({ setting }) => nameOf(setting)));
  const known = map.rows.flat().filter((cell): cell is KnownCell => cell.time !== null && cell.rss !== null && compared.has(nameOf(cell.setting)));
  return known.sort((a, b) => a.rss.value - b.rss.value || a.time.value - b.time.value);
}

/** The cell with this name; none if it is not on the map. */
export function cellNamed(map: GcMap, name: string | null): MapCell | null {
  return (name !== null && map.rows.flat().find((cell) => nameOf(cell.setting) === name)) || null;
}

export function cellOf(map: GcMap, setting: Setting): MapCell | null {
  return cellNamed(map, nameOf(setting));
}

/** How a setting is marked in pictures: the recommended one, the present one, then by what its numbers come from. */
export type MarkKind = "recommended" | "present" | MapCell["source"];

export function markOf(answer: Answer, { setting, source }: MapCell): MarkKind {
  if (isSame(answer.recommended?.choice.cell.setting, setting)) return "recommended";
  return isSame(answer.present.setting, setting) ? "present" : source;
}
