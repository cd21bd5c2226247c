/** Search in a flame graph: which frames match a word or a regular expression, and their share of the total. */
import type { FlameLabel, Layout } from "./flame-layout";

export interface Search {
  /** Whether a label matches. */
  test: (label: FlameLabel) => boolean;
}

/** Text between slashes is a regular expression; anything else matches anywhere, ignoring case. */
export function searchFor(text: string): Search | { error: string } | null {
  const wanted = text.trim();
  if (wanted === "") return null;
  const expression = /^\/(.*)\/$/.exec(wanted)?.[1];
  if (expression !== undefined) {
    try {
      const pattern = new RegExp(expression, "u");
      return { test: ({ name, file }) => pattern.test(name) || (!!file && pattern.test(file)) };
    } catch {
      return { error: "This is not a regular expression." };
    }
  }
  const small = wanted.toLowerCase();
  return { test: ({ name, file }) => name.toLowerCase().includes(small) || !!file?.toLowerCase().includes(small) };
}

export interface Found {
  /** For each frame, whether it matches. */
  frames: Uint8Array;
  count: number;
  /** The measure of matching frames, without those inside other matching frames. */
  matched: number;
  /** The first matching frame, or -1. */
  first: number;
}

/** Finds matching frames below `root`. */
export function find(layout: Layout, root: number, search: Search): Found {
  const labels = layout.tree.labels.map((label) => search.test(label));
  const frames = new Uint8Array(layout.length);
  let [count, matched, first, covered] = [0, 0, -1, 0];
  const stop = layout.end[root] ?? 0;
  for (let node = root; node < stop; node++) {
    if (!labels[layout.tree.label[node] ?? -1]) continue;
    frames[node] = 1;
    count += 1;
    if (first < 0) first = node;
    if (node < covered) continue;
    matched += layout.width[node] ?? 0;
    covered = layout.end[node] ?? 0;
  }
  return { frames, count, matched, first };
}

/** The next matching frame after this one, cyclically; the same if there is none. */
export function nextFound(found: Found, from: number, way: 1 | -1): number {
  const length = found.frames.length;
  for (let step = 1; step <= length; step++) {
    const at = (((from + way * step) % length) + length) % length;
    if (found.frames[at]) return at;
  }
  return from;
}
