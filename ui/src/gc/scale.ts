/** Axes: a range of numbers, where they are in a picture, and round numbers to label. */

export interface Scale {
  /** The place of a number, in pixels. */
  at: (value: number) => number;
  ticks: readonly number[];
}

/** Free room on both sides, relative to the range. */
const MARGIN = 0.06;

/** A scale for these numbers between two places, with about this number of ticks. */
export function scaleOf(values: readonly number[], from: number, to: number, most: number): Scale {
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  // Equal numbers are in the middle.
  const room = (greatest - least) * MARGIN || Math.abs(greatest) * MARGIN || 1;
  const [low, high] = [least - room, greatest + room];
  return { at: (value) => from + ((value - low) / (high - low)) * (to - from), ticks: ticks(low, high, most) };
}

/** Round numbers in a range: multiples of 1, 2 or 5 times a power of ten. */
export function ticks(low: number, high: number, most: number): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return [];
  const rough = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.ceil(Math.max(low, 0) / step);
  const count = Math.max(0, Math.floor(high / step) - first + 1);
  return Array.from({ length: count }, (_, at) => (first + at) * step);
}

/** Of points on a picture, the nearest to a place within reach; -1 if there is none. */
export function nearestTo(points: readonly { x: number; y: number }[], x: number, y: number, reach: number): number {
  let [found, least] = [-1, reach];
  points.forEach((point, at) => {
    const far = Math.hypot(point.x - x, point.y - y);
    if (far <= least) [found, least] = [at, far];
  });
  return found;
}
