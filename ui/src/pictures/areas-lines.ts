/** Layout of lines over time, with the range between minimum and maximum of each step. */
import { niceTicks, type Look } from "./areas";
import type { Point, Shape } from "./areas-shapes";

export interface TimeLine {
  label: string;
  colour: string;
  values: readonly (number | null)[];
  low?: readonly (number | null)[] | undefined;
  high?: readonly (number | null)[] | undefined;
}

export interface LinesInput {
  times: readonly number[];
  lines: readonly TimeLine[];
  marks: readonly { at: number; label: string }[];
  /** The time at the pointer in seconds; null if it is elsewhere. */
  pointed: number | null;
  showValue: (value: number) => string;
  showTime: (time: number) => string;
}

interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
  from: number;
  to: number;
  ticks: number[];
}

export function frameOf(input: LinesInput, look: Look): Frame {
  const most = Math.max(0, ...input.lines.flatMap((line) => [...line.values, ...(line.high ?? [])].map((value) => value ?? 0)));
  const ticks = niceTicks(most, look.height > 320 ? 6 : 4);
  const widest = Math.max(...ticks.map((tick) => input.showValue(tick).length));
  const [from = 0, last = 1] = [input.times[0], input.times[input.times.length - 1]];
  return {
    left: Math.ceil(widest * look.size * 0.58 + look.size * 0.9),
    right: look.width - look.size * 1.4,
    top: look.size * 0.9,
    bottom: look.height - look.size * 1.9,
    from,
    to: last > from ? last : from + 1,
    ticks,
  };
}

/** The labelled moments of the axis: round ones, as many as fit. */
export function timeTicks(from: number, to: number, most: number): number[] {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
  const step = steps.find((step) => (to - from) / step <= most) ?? Math.ceil((to - from) / Math.max(1, most));
  const ticks: number[] = [];
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + 1e-9; n++) ticks.push(n * step + 0);
  return ticks;
}

/** The parts of a line that have values, so that gaps stay gaps. */
export function pieces<V>(values: readonly (V | null)[]): number[][] {
  const found: number[][] = [];
  values.forEach((value, at) => {
    if (value === null) return;
    const last = found[found.length - 1];
    if (last && last[last.length - 1] === at - 1) last.push(at);
    else found.push([at]);
  });
  return found;
}

export function lineShapes(input: LinesInput, look: Look): Shape[] {
  const frame = frameOf(input, look);
  const { left, right, top, bottom, from, to } = frame;
  const { size } = look;
  const end = frame.ticks[frame.ticks.length - 1] ?? 1;
  const x = (time: number) => left + ((right - left) * (time - from)) / (to - from);
  const y = (value: number) => bottom - ((bottom - top) * Math.max(0, value)) / end;
  const shapes: Shape[] = [];
  for (const tick of frame.ticks) {
    shapes.push({ kind: "line", points: [[left, y(tick)], [right, y(tick)]], stroke: look.line, width: 1 });
    shapes.push({ kind: "text", at: [left - size * 0.45, y(tick)], text: input.showValue(tick), fill: look.faint, size, anchor: "end" });
  }
  for (const time of timeTicks(from, to, Math.max(2, Math.floor((right - left) / (size * 6))))) {
    shapes.push({ kind: "line", points: [[x(time), bottom], [x(time), bottom + size * 0.3]], stroke: look.faint, width: 1 });
    shapes.push({ kind: "text", at: [x(time), bottom + size * 1.1], text: input.showTime(time), fill: look.faint, size: size * 0.92, anchor: "middle" });
  }
  for (const line of input.lines) {
    const at = (values: readonly (number | null)[] | undefined, n: number): Point => [x(input.times[n] ?? from), y(values?.[n] ?? line.values[n] ?? 0)];
    for (const piece of pieces(line.values)) {
      if (line.low && line.high && piece.length > 1) {
        const band = [...piece.map((n) => at(line.high, n)), ...[...piece].reverse().map((n) => at(line.low, n))];
        shapes.push({ kind: "area", points: band, fill: line.colour, opacity: 0.28, title: line.label });
      }
      if (piece.length > 1) shapes.push({ kind: "line", points: piece.map((n) => at(line.values, n)), stroke: line.colour, width: size / 6.5 });
      else for (const n of piece) shapes.push({ kind: "dot", at: at(line.values, n), radius: size / 5, fill: line.colour });
    }
  }
  for (const mark of input.marks) {
    if (mark.at < from || mark.at > to) continue;
    shapes.push({ kind: "line", points: [[x(mark.at), top], [x(mark.at), bottom]], stroke: look.accent, width: 1.5, dash: [2, 3] });
    shapes.push({ kind: "text", at: [x(mark.at) + size * 0.3, top + size * 0.5], text: mark.label, fill: look.accent, size: size * 0.9, anchor: "start" });
  }
  if (input.pointed !== null) {
    const at = x(input.pointed);
    shapes.push({ kind: "line", points: [[at, top], [at, bottom]], stroke: look.text, width: 1, dash: [4, 3] });
    const place = nearest(input.times, input.pointed);
    for (const line of input.lines) {
      const value = line.values[place];
      if (value != null) shapes.push({ kind: "dot", at: [x(input.times[place] ?? from), y(value)], radius: size / 3.5, fill: line.colour });
    }
  }
  return shapes;
}

/** The index of the nearest moment. */
export function nearest(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= time) low = middle;
    else high = middle;
  }
  return Math.abs((times[low] ?? 0) - time) <= Math.abs((times[high] ?? 0) - time) ? low : high;
}

/** The moment at a point of the picture; null outside. */
export function timeAt(input: LinesInput, look: Look, [px]: Point): number | null {
  const { left, right, from, to } = frameOf(input, look);
  if (px < left - 3 || px > right + 3 || input.times.length === 0) return null;
  return Math.min(to, Math.max(from, from + ((px - left) / (right - left)) * (to - from)));
}
