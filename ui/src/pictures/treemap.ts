/**
 * Lays out a tree as nested rectangles whose areas are proportional to sizes and whose shapes are nearly square: the squarified
 * treemap of Bruls, Huizing and van Wijk.
 */
import type { Sized } from "./icicle";

export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Cell extends Rectangle {
  /** Child indices from the top down to it; the rest of a row has the index -1. */
  path: number[];
  /** Whether it contains others. */
  isParent: boolean;
}

/** Rectangles for sizes in descending order. They fill the given space. */
export function squarify(sizes: readonly number[], room: Rectangle): Rectangle[] {
  const placed: Rectangle[] = [];
  let { x, y, width, height } = room;
  let left = sizes.reduce((sum, size) => sum + size, 0);
  let at = 0;
  while (at < sizes.length) {
    const short = Math.min(width, height);
    const area = width * height;
    if (left <= 0 || area <= 0) {
      placed.push({ x, y, width: 0, height: 0 });
      at += 1;
      continue;
    }
    // As many rectangles in a row along the short side as improve the aspect ratio.
    const scale = area / left;
    let end = at + 1;
    let sum = (sizes[at] ?? 0) * scale;
    while (end < sizes.length) {
      const next = (sizes[end] ?? 0) * scale;
      if (worst(sizes, at, end + 1, scale, sum + next, short) > worst(sizes, at, end, scale, sum, short)) break;
      sum += next;
      end += 1;
    }
    const thick = short > 0 ? sum / short : 0;
    let along = 0;
    for (let i = at; i < end; i++) {
      const size = sizes[i] ?? 0;
      const long = thick > 0 ? (size * scale) / thick : 0;
      placed.push(
        width >= height
          ? { x, y: y + along, width: thick, height: long }
          : { x: x + along, y, width: long, height: thick },
      );
      along += long;
      left -= size;
    }
    if (width >= height) {
      x += thick;
      width = Math.max(0, width - thick);
    } else {
      y += thick;
      height = Math.max(0, height - thick);
    }
    at = end;
  }
  return placed;
}

/** The worst aspect ratio in a row. */
function worst(sizes: readonly number[], from: number, to: number, scale: number, sum: number, short: number): number {
  const largest = (sizes[from] ?? 0) * scale;
  const smallest = (sizes[to - 1] ?? 0) * scale;
  const [s2, w2] = [sum * sum, short * short];
  if (smallest <= 0 || s2 <= 0 || w2 <= 0) return Infinity;
  return Math.max((w2 * largest) / s2, s2 / (w2 * smallest));
}

export interface TreemapOptions {
  /** The number of levels below the top. */
  depth: number;
  /** The height of a parent's name. */
  header: number;
  /** The margin around the contents. */
  padding: number;
  /** Rectangles with a shorter side are not drawn. */
  least: number;
}

/** The cells of a tree, parents before their contents. */
export function treemap(top: Sized, room: Rectangle, options: TreemapOptions): Cell[] {
  const cells: Cell[] = [];
  const { depth, header, padding, least } = options;
  const add = (row: Sized, path: number[], place: Rectangle) => {
    const inner = {
      x: place.x + padding,
      y: place.y + header,
      width: place.width - 2 * padding,
      height: place.height - header - padding,
    };
    const opens = path.length < depth && row.children.length > 0 && inner.width > 3 * least && inner.height > 3 * least;
    cells.push({ ...place, path, isParent: opens });
    if (!opens) return;
    // The row's own size stays free, as far as possible.
    const below = row.children.reduce((sum, child) => sum + child.size, 0) + row.rest;
    const own = Math.max(0, row.size - below);
    const all = [
      ...row.children.map((child, at) => ({ size: child.size, at, child: child as Sized | null })),
      { size: row.rest, at: -1, child: null },
      { size: own, at: -2, child: null },
    ].filter(({ size }) => size > 0);
    all.sort((a, b) => b.size - a.size);
    squarify(all.map(({ size }) => size), inner).forEach((rectangle, index) => {
      const one = all[index];
      if (!one || one.at === -2 || rectangle.width < least || rectangle.height < least) return;
      if (one.child) add(one.child, [...path, one.at], rectangle);
      else cells.push({ ...rectangle, path: [...path, -1], isParent: false });
    });
  };
  add(top, [], room);
  return cells;
}
