/**
 * The layout of a flame graph, computed once for each answer, so that drawing, pointing and keyboard navigation only look it up.
 * Positions are in the measured unit, from the left edge of the root; drawing scales them.
 */

/** The label of a frame. */
export interface FlameLabel {
  name: string;
  file?: string | null;
  line?: number | null;
  columns?: [number, number] | null;
  module?: string | null;
  /** The origin of the code; null or missing for the program's own. */
  origin?: "library" | "stdlib" | "c" | null;
}

/** A tree of frames as the server sends it: parallel lists in depth-first order, larger children first. Node 0 is the root. */
export interface FlameTree {
  labels: FlameLabel[];
  /** The index of the caller; arbitrary for the root. */
  parent: number[];
  /** An index into `labels`. */
  label: number[];
  total: number[];
  own: number[];
  /** Stable ids for links. */
  id: (number | string)[];
  /** The number of children omitted as too small. */
  more: number[];
  /** In a comparison: the totals in the earlier file. */
  before?: number[];
  /** In a comparison: whether the change is significant. */
  significant?: boolean[];
}

export interface Layout {
  tree: FlameTree;
  /** The number of frames. */
  length: number;
  /** The left edge. */
  start: Float64Array;
  width: Float64Array;
  depth: Uint32Array;
  /** The first frame after this one and its descendants. */
  end: Uint32Array;
  /** Where its callees end; the remaining width is its own, or belongs to omitted callees. */
  filled: Float64Array;
  /** The number of levels. */
  levels: number;
}

/** Lays out frames; their widths are `total`, or another measure of the same tree. */
export function layOut(tree: FlameTree, width: readonly number[] = tree.total): Layout {
  const length = tree.parent.length;
  const start = new Float64Array(length);
  const next = new Float64Array(length);
  const depth = new Uint32Array(length);
  const end = new Uint32Array(length);
  let levels = length > 0 ? 1 : 0;
  for (let node = 1; node < length; node++) {
    const parent = tree.parent[node] ?? 0;
    const at = next[parent] ?? 0;
    start[node] = at;
    next[node] = at;
    next[parent] = at + (width[node] ?? 0);
    const below = (depth[parent] ?? 0) + 1;
    depth[node] = below;
    if (below >= levels) levels = below + 1;
  }
  for (let node = length - 1; node >= 0; node--) {
    if ((end[node] ?? 0) <= node) end[node] = node + 1;
    if (node === 0) break;
    const parent = tree.parent[node] ?? 0;
    end[parent] = Math.max(end[parent] ?? 0, end[node] ?? 0);
  }
  return { tree, length, start, width: Float64Array.from(width), depth, end, filled: next, levels };
}

export function labelOf(layout: Layout, node: number): FlameLabel {
  return layout.tree.labels[layout.tree.label[node] ?? -1] ?? { name: "[unknown]" };
}

/** The total width of the omitted callees. */
export function leftOutWidth(layout: Layout, node: number): number {
  if (!layout.tree.more[node] || layout.tree.before) return 0;
  const callees = (layout.filled[node] ?? 0) - (layout.start[node] ?? 0);
  return Math.max(0, (layout.width[node] ?? 0) - (layout.tree.own[node] ?? 0) - callees);
}

/** The path from the root to this frame, including both. */
export function pathTo(layout: Layout, node: number): number[] {
  const path = [];
  for (let at = node; at > 0; at = layout.tree.parent[at] ?? 0) path.push(at);
  path.push(0);
  return path.reverse();
}

/** The frame with this id, or -1. */
export function findById(layout: Layout, id: string): number {
  return layout.tree.id.findIndex((known) => String(known) === id);
}

/** How the URL names a frame: by id and name, so that an id of another tree is not taken for one of this. */
export function frameName(layout: Layout, node: number): string {
  return `${layout.tree.id[node]} ${labelOf(layout, node).name}`;
}

/** The frame that the URL names, or -1. */
export function findByName(layout: Layout, written: string | null): number {
  const [, id = "", name = ""] = /^(\d+) (.*)$/s.exec(written ?? "") ?? [];
  const node = id ? findById(layout, id) : -1;
  return node >= 0 && labelOf(layout, node).name === name ? node : -1;
}

/** The number of levels from this frame on, including its own. */
export function levelsBelow(layout: Layout, node: number): number {
  let most = 0;
  for (let at = node; at < (layout.end[node] ?? 0); at++) most = Math.max(most, layout.depth[at] ?? 0);
  return most - (layout.depth[node] ?? 0) + 1;
}

/** Whether anything was omitted in or below this frame. */
export function isCut(layout: Layout, node: number): boolean {
  for (let at = node; at < (layout.end[node] ?? 0); at++) if ((layout.tree.more[at] ?? 0) > 0) return true;
  return false;
}

/** The frame at this position among those below `root` (inclusive), or -1. `level` counts from `root`. */
export function frameAt(layout: Layout, root: number, at: number, level: number): number {
  const depth = (layout.depth[root] ?? 0) + level;
  let node = root;
  const stop = layout.end[root] ?? 0;
  while (node < stop) {
    const start = layout.start[node] ?? 0;
    const isInside = at >= start && at < start + (layout.width[node] ?? 0);
    if (isInside && layout.depth[node] === depth) return node;
    // Either below this frame, or after all its descendants.
    node = isInside && (layout.depth[node] ?? 0) < depth ? node + 1 : (layout.end[node] ?? stop);
  }
  return -1;
}

export type Step = "out" | "in" | "left" | "right";

/** The frame that a key leads to, within what is below `root`; the same one if there is none. */
export function walk(layout: Layout, root: number, node: number, step: Step): number {
  const stop = layout.end[root] ?? 0;
  if (node < root || node >= stop) return root;
  const parent = layout.tree.parent[node] ?? 0;
  switch (step) {
    case "out":
      return node === root ? root : parent;
    case "in": {
      const child = node + 1;
      const isThere = child < (layout.end[node] ?? 0) && (layout.width[child] ?? 0) > 0;
      return isThere ? child : node;
    }
    case "right":
    case "left":
      return beside(layout, root, node, step === "right" ? 1 : -1);
  }
}

/** The nearest frame on the same level on one side, whatever its caller. */
function beside(layout: Layout, root: number, node: number, way: 1 | -1): number {
  const depth = layout.depth[node];
  const stop = layout.end[root] ?? 0;
  for (let at = way > 0 ? (layout.end[node] ?? stop) : node - 1; at > root && at < stop; at += way) {
    if (layout.depth[at] === depth && (layout.width[at] ?? 0) > 0) return at;
  }
  return node;
}
