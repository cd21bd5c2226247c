/** Lays out a tree as an icicle: each row as wide as its size, what is below it under it. */

/** A tree with sizes; what its children have is at most what it has. */
export interface Sized {
  size: number;
  children: readonly Sized[];
  /** What is below it and not told. */
  rest: number;
}

export interface Slice {
  /** Places of children from the top down to it; the rest of a row has the place -1. */
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
    // Files may say anything: what is below is never wider than what is above.
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
