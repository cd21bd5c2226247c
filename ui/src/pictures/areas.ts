/** Layout of stacked areas and lines over snapshots or time. Pure, so that it can be tested. */
import type { Shape, Point } from "./areas-shapes";
import { shortened } from "./svg";

/** A band of the stack. */
export interface Band {
  /** Identifies it. */
  id: string;
  label: string;
  colour: string;
  values: readonly number[];
  /** Highlighted, because it makes the stack grow. */
  grows?: boolean;
}

/** A line above the stack; null where nothing is known. */
export interface Line {
  label: string;
  colour: string;
  dash?: readonly number[];
  values: readonly (number | null)[];
}

/** Something that happened at a position on the x axis. */
export interface Mark {
  at: number;
  label: string;
  colour: string;
}

export interface AreasInput {
  /** The positions on the x axis, ascending. */
  xs: readonly number[];
  /** Two labels below each position: which it is, and when. */
  names: readonly (readonly [string, string])[];
  bands: readonly Band[];
  lines: readonly Line[];
  marks: readonly Mark[];
  /** The chosen position, if any. */
  chosen: number | null;
  /** What the pointer is at, if anything. */
  hovered: Hit | null;
  show: (value: number) => string;
}

export interface Look {
  width: number;
  height: number;
  /** The font size. */
  size: number;
  text: string;
  faint: string;
  line: string;
  accent: string;
  ground: string;
}

/** What is under the pointer. */
export interface Hit {
  /** The nearest position on the x axis. */
  place: number;
  /** The band, or null outside of the stack. */
  band: string | null;
  /** Whether it is below the picture, at the labels. */
  onAxis: boolean;
}

export interface Layout {
  left: number;
  right: number;
  top: number;
  bottom: number;
  /** The x coordinate of each position, in pixels. */
  x: readonly number[];
  y: (value: number) => number;
  ticks: readonly number[];
  /** For each band, the upper edge by position; the lower edge is that of the band before. */
  tops: readonly (readonly number[])[];
}

/** Round numbers from 0 to at least `most`, spaced by 1, 2 or 5 times a power of ten. */
export function niceTicks(most: number, wanted = 5): number[] {
  if (!(most > 0) || !Number.isFinite(most)) return [0, 1];
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999) ?? 10 * power;
  const ticks = [];
  for (let n = 0; n * step < most * 0.999; n++) ticks.push(n * step);
  ticks.push(ticks.length * step);
  return ticks;
}

/** Cumulative sums of the bands from the bottom up, by position. */
export function stacked(bands: readonly Band[], places: number): number[][] {
  const sum = new Array<number>(places).fill(0);
  return bands.map(({ values }) => {
    for (let at = 0; at < places; at++) sum[at] = (sum[at] ?? 0) + Math.max(0, values[at] ?? 0);
    return [...sum];
  });
}

export function layout(input: AreasInput, look: Look): Layout {
  const { xs, bands, lines } = input;
  const tops = stacked(bands, xs.length);
  const highest = tops[tops.length - 1] ?? [];
  const most = Math.max(0, ...highest, ...lines.flatMap((line) => line.values.map((value) => value ?? 0)));
  const ticks = niceTicks(most, look.height > 500 ? 7 : 5);
  const widest = Math.max(...ticks.map((tick) => input.show(tick).length));
  const left = Math.ceil(widest * look.size * 0.6 + look.size);
  const [right, top] = [look.width - look.size * 1.8, look.size * 1.9];
  const bottom = look.height - look.size * 3.2;
  const [first = 0, last = 1] = [xs[0], xs[xs.length - 1]];
  const x = xs.map((value) => (last > first ? left + ((right - left) * (value - first)) / (last - first) : (left + right) / 2));
  const end = ticks[ticks.length - 1] ?? 1;
  return { left, right, top, bottom, x, y: (value) => bottom - ((bottom - top) * value) / end, ticks, tops };
}

/** Evenly spaced positions whose labels fit side by side. */
export function namedPlaces(x: readonly number[], room: number): number[] {
  const named: number[] = [];
  let free = -Infinity;
  x.forEach((at, place) => {
    const isLast = place === x.length - 1;
    if (at - free >= room || isLast) {
      // The last one has precedence over the one before it.
      while (isLast && named.length > 1 && at - (x[named[named.length - 1] ?? 0] ?? 0) < room) named.pop();
      named.push(place);
      free = at;
    }
  });
  return named;
}

export function shapesOf(input: AreasInput, look: Look): Shape[] {
  const at = layout(input, look);
  const shapes: Shape[] = [];
  const { size } = look;
  for (const tick of at.ticks) {
    const y = at.y(tick);
    shapes.push({ kind: "line", points: [[at.left, y], [at.right, y]], stroke: look.line, width: 1 });
    shapes.push({ kind: "text", at: [at.left - size * 0.5, y], text: input.show(tick), fill: look.faint, size, anchor: "end" });
  }
  const pointedOut: Shape[] = [];
  let below: readonly number[] = new Array<number>(input.xs.length).fill(0);
  input.bands.forEach((band, place) => {
    const top = at.tops[place] ?? below;
    const edge = (values: readonly number[]): Point[] => at.x.map((x, n) => [x, at.y(values[n] ?? 0)]);
    const isFaint = input.hovered?.band != null && input.hovered.band !== band.id;
    shapes.push({
      kind: "area",
      points: [...edge(top), ...edge(below).reverse()],
      fill: band.colour,
      stroke: look.ground,
      opacity: isFaint ? 0.45 : 1,
      title: band.label,
    });
    if (band.grows && !isFaint) pointedOut.push(...growthShapes(band, edge(top), edge(below), look));
    below = top;
  });
  shapes.push(...pointedOut);
  for (const line of input.lines) {
    const points = at.x.flatMap((x, n): Point[] => {
      const value = line.values[n];
      return value == null ? [] : [[x, at.y(value)]];
    });
    shapes.push({ kind: "line", points, stroke: line.colour, width: size / 6, dash: line.dash });
    for (const point of points) shapes.push({ kind: "dot", at: point, radius: size / 5, fill: line.colour });
    const last = points[points.length - 1];
    if (last) shapes.push({ kind: "text", at: [last[0] - size * 0.5, last[1] - size * 0.8], text: line.label, fill: line.colour, size, anchor: "end", bold: true });
  }
  for (const mark of input.marks) {
    const x = at.x[mark.at];
    if (x === undefined) continue;
    shapes.push({ kind: "line", points: [[x, at.top], [x, at.bottom]], stroke: mark.colour, width: 2, dash: [2, 4] });
    const isFar = x > (at.left + at.right) / 2;
    shapes.push({ kind: "text", at: [x + (isFar ? -size * 0.4 : size * 0.4), at.top - size * 0.7], text: mark.label, fill: mark.colour, size, anchor: isFar ? "end" : "start", bold: true });
  }
  const chosen = input.chosen === null ? undefined : at.x[input.chosen];
  if (chosen !== undefined) shapes.push({ kind: "line", points: [[chosen, at.top], [chosen, at.bottom]], stroke: look.accent, width: 2 });
  const pointed = input.hovered ? at.x[input.hovered.place] : undefined;
  if (pointed !== undefined) shapes.push({ kind: "line", points: [[pointed, at.top], [pointed, at.bottom]], stroke: look.text, width: 1, dash: [4, 3] });
  const widest = Math.max(3, ...input.names.map(([name, when]) => Math.max(name.length, when.length)));
  for (const place of namedPlaces(at.x, widest * size * 0.62)) {
    const [name, when] = input.names[place] ?? ["", ""];
    const x = at.x[place] ?? 0;
    const isChosen = place === input.chosen;
    shapes.push({ kind: "line", points: [[x, at.bottom], [x, at.bottom + size * 0.35]], stroke: look.faint, width: 1 });
    shapes.push({ kind: "text", at: [x, at.bottom + size], text: name, fill: isChosen ? look.accent : look.text, size, anchor: "middle", bold: isChosen });
    shapes.push({ kind: "text", at: [x, at.bottom + size * 2.2], text: when, fill: look.faint, size: size * 0.9, anchor: "middle" });
  }
  return shapes;
}

/** A thick edge, and the name at the end, where it is highest. */
function growthShapes({ label }: Band, top: readonly Point[], below: readonly Point[], { size, text, width }: Look): Shape[] {
  const [end, floor] = [top[top.length - 1], below[below.length - 1]];
  const shapes: Shape[] = [{ kind: "line", points: [...top], stroke: text, width: 2 }];
  if (end && floor && floor[1] - end[1] > size * 1.5) {
    const told = shortened(`↗ ${label}`, Math.floor((width * 0.4) / (size * 0.6)));
    shapes.push({ kind: "text", at: [end[0] - size * 0.5, (end[1] + floor[1]) / 2], text: told, fill: "#111111", size, anchor: "end", bold: true });
  }
  return shapes;
}

/** What is at a point of the picture. */
export function hit(input: AreasInput, look: Look, [x, y]: Point): Hit | null {
  const at = layout(input, look);
  if (at.x.length === 0 || y < at.top - look.size || x < at.left - look.size) return null;
  let place = 0;
  at.x.forEach((value, n) => {
    if (Math.abs(value - x) < Math.abs((at.x[place] ?? 0) - x)) place = n;
  });
  if (y > at.bottom) return { place, band: null, onAxis: true };
  // Between two positions the edges are straight lines.
  const right = at.x.findIndex((value) => value >= x);
  const [a, b] = right <= 0 ? [place, place] : [right - 1, right];
  const [xa, xb] = [at.x[a] ?? 0, at.x[b] ?? 0];
  const share = xb > xa ? Math.min(1, Math.max(0, (x - xa) / (xb - xa))) : 0;
  const band = input.bands.find((_, n) => {
    const top = at.tops[n] ?? [];
    const value = (top[a] ?? 0) * (1 - share) + (top[b] ?? 0) * share;
    return y >= at.y(value);
  });
  return { place, band: band?.id ?? null, onAxis: false };
}
