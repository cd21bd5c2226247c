/** Lays out a tree as an icicle: the width of each row is its size, with its children below it. */

/** A tree with sizes; the children's sizes sum up to at most the parent's. */
export interface Sized {
  size: number;
  children: readonly Sized[];
  /** The size of omitted children. */
  rest: number;
}

export interface Slice {
  /** Child indices from the top down to it; the rest of a row has the index -1. */
  path: number[];
  depth: number;
  /** From 0 to 1. */
  left: number;
  width: number;
}

/** Slices that are at least `least` wide, from the top down. */
export function icicle(top: Sized, depth: number, least: number): Slice[] {
  const slices: Slice[] = [];
  const add = (row: Sized, path: number[], left: number, width: number) => {
    slices.push({ path, depth: path.length, left, width });
    if (path.length >= depth || row.size <= 0) return;
    // Files may contain any numbers: children are never wider than their parent.
    const below = row.children.reduce((sum, child) => sum + child.size, 0) + row.rest;
    const scale = width / Math.max(row.size, below);
    let at = left;
    row.children.forEach((child, place) => {
      const room = child.size * scale;
      if (room >= least) add(child, [...path, place], at, room);
      at += room;
    });
    const room = row.rest * scale;
    if (room > 0 && room >= least) slices.push({ path: [...path, -1], depth: path.length + 1, left: at, width: room });
  };
  add(top, [], 0, 1);
  return slices;
}
