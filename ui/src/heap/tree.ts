/**
 * The known part of the dominator tree: the current position (`at` in the URL), questions for what is below, and movement by
 * keys. The server answers in slices; rows that it omitted are requested when they are opened.
 */
import type { Params } from "../api/ask";
import { count } from "../format";
import type { DominatorRow } from "./answers";

/** The limits of the pictures' question. */
export const TREE = { depth: 9, number: 25, "min-share": 0.1 } as const;

/** A step down: `@12 module Main`, or the name of a class. */
export function stepOf(row: DominatorRow): string {
  return row.node === null ? row.what : `@${row.node} ${row.what}`;
}

/** The node of a step, if it has one. */
export function nodeOf(step: string): string | null {
  return /^@\d+(?= |$)/.exec(step)?.[0] ?? null;
}

/** The name of a step. */
export function titleOf(step: string): string {
  const node = nodeOf(step);
  return node === null ? step : step.slice(node.length + 1) || node;
}

/** Where to start: at the last step with a node, and from there down by name. */
export function questionOf(at: readonly string[]): { of?: string; below?: string[] } {
  const last = at.findLastIndex((step) => nodeOf(step) !== null);
  const of = last < 0 ? null : nodeOf(at[last] ?? "");
  const below = at.slice(last + 1);
  return { ...(of ? { of } : {}), ...(below.length > 0 ? { below } : {}) };
}

/** The question for a position. The root of all is not a step, but the starting point. */
export function treeParams(file: number, at: readonly string[], blocks: boolean, all = false): Params {
  const limits = all ? { depth: 2, number: 500, "min-share": 0 } : TREE;
  return { file, ...questionOf(at), ...(blocks ? { blocks: true } : {}), ...limits };
}

/** The row at a path of child indices from the top. */
export function rowAt(top: DominatorRow, path: readonly number[]): DominatorRow | null {
  let row: DominatorRow | undefined = top;
  for (const place of path) row = row?.rows[place];
  return row ?? null;
}

/** The steps from the top down to a path, without the top itself. */
export function stepsTo(top: DominatorRow, path: readonly number[]): string[] {
  return path.map((_, at) => {
    const row = rowAt(top, path.slice(0, at + 1));
    return row ? stepOf(row) : "";
  });
}

/** A row from a newer answer with more rows but fewer levels: what was known below its rows stays. */
export function mergedRow(old: DominatorRow, fresh: DominatorRow): DominatorRow {
  const known = new Map(old.rows.map((row) => [stepOf(row), row]));
  const rows = fresh.rows.map((row) => {
    const before = known.get(stepOf(row));
    return before && row.rows.length === 0 ? before : row;
  });
  return { ...fresh, rows };
}

/** Where an arrow key leads: down to the first child, up to the parent, sideways to siblings. */
export function moved(top: DominatorRow, path: readonly number[], key: string): number[] {
  const here = [...path];
  const last = here.at(-1);
  const parent = rowAt(top, here.slice(0, -1));
  switch (key) {
    case "ArrowDown":
      return (rowAt(top, here)?.rows.length ?? 0) > 0 ? [...here, 0] : here;
    case "ArrowUp":
      return here.slice(0, -1);
    case "ArrowRight":
      if (last === undefined || !parent || last + 1 >= parent.rows.length) return here;
      return [...here.slice(0, -1), last + 1];
    case "ArrowLeft":
      return last === undefined || last === 0 ? here : [...here.slice(0, -1), last - 1];
    default:
      return here;
  }
}

/** What determines a row's colour: its module or type. */
export function colourName(what: string): string {
  if (/^(all roots|globals|stacks|finalisers|local roots|global roots|fields of threads|hooks|sampler|unknown roots)/.test(what)) return "[roots]";
  return what
    .replace(/^(module|closure|field \S+ of|static|value|thread) /, "")
    .replace(/, static .*$/, "")
    .replace(/ \(.*\)$/, "");
}

/** `1 block`, `12 blocks`. */
export function counted(number: number, what: string): string {
  return `${count(number)} ${what}${number === 1 ? "" : "s"}`;
}
