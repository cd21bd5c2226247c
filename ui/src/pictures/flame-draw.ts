/** Draws a flame graph on a canvas: only what is visible, so that twenty thousand frames cost no more than a screenful. */
import { labelOf, leftOutWidth, type FlameLabel, type Layout } from "./flame-layout";
import { shortened } from "./svg";

/** The visible part of the tree. */
export interface Window {
  /** Only this frame and what is below it is drawn. */
  root: number;
  /** The horizontal range, in the measured unit. */
  from: number;
  to: number;
  /** The level at the edge where the tree begins; fractional during animations. */
  level: number;
}

/** How frames look. */
export interface Look {
  /** Callees above their callers, like flames. */
  up: boolean;
  row: number;
  font: string;
  fill: (node: number) => string;
  ink: (node: number) => string;
  /** The colour of callees that were omitted as too small. */
  rest: string;
  /** The text colour of frames that do not match the search. */
  dim: string;
  /** Whether a frame matches; null without a search. */
  isFound: ((node: number) => boolean) | null;
}

export interface Area {
  width: number;
  /** The visible height. */
  height: number;
  /** The height of everything, and the scroll position. */
  content: number;
  scrolled: number;
}

/** Narrower frames are not drawn, nor what is below them. */
const NARROWEST = 0.4;
const GAP = 1;

/** The y coordinate of a level, from the top of the picture. */
export function topOf(level: number, up: boolean, row: number, area: Area): number {
  return (up ? area.content - (level + 1) * row : level * row) - area.scrolled;
}

export function draw(context: CanvasRenderingContext2D, layout: Layout, window: Window, look: Look, area: Area): void {
  const { start, width, depth, end } = layout;
  context.clearRect(0, 0, area.width, area.height);
  context.font = look.font;
  context.textBaseline = "middle";
  const scale = area.width / (window.to - window.from || 1);
  const stop = end[window.root] ?? 0;
  const padding = look.row * 0.25;
  let node = window.root;
  while (node < stop) {
    const wide = (width[node] ?? 0) * scale;
    const left = ((start[node] ?? 0) - window.from) * scale;
    const level = (depth[node] ?? 0) - window.level;
    const top = topOf(level, look.up, look.row, area);
    const isBeyond = look.up ? top + look.row < 0 : top > area.height;
    if (wide < NARROWEST || left + wide <= 0 || left >= area.width || isBeyond) {
      node = end[node] ?? stop;
      continue;
    }
    if (top > -look.row && top < area.height) {
      const from = Math.max(0, left);
      const to = Math.min(area.width, left + wide);
      const isDim = look.isFound !== null && !look.isFound(node);
      context.globalAlpha = isDim ? 0.22 : 1;
      context.fillStyle = look.fill(node);
      context.fillRect(from, top, Math.max(0.5, to - from - (wide > 3 ? GAP : 0)), look.row - GAP);
      const room = to - from - 2 * padding;
      if (room > look.row) {
        const text = fitted(context, labelOf(layout, node), room, look.font);
        context.globalAlpha = isDim ? 0.7 : 1;
        context.fillStyle = isDim ? look.dim : look.ink(node);
        if (text) context.fillText(text, from + padding, top + look.row / 2);
      }
    }
    drawRest(context, layout, node, { scale, level, window, look, area });
    node += 1;
  }
  context.globalAlpha = 1;
}

/** Omitted callees are drawn as one frame without a name. */
function drawRest(
  context: CanvasRenderingContext2D,
  layout: Layout,
  node: number,
  { scale, level, window, look, area }: { scale: number; level: number; window: Window; look: Look; area: Area },
): void {
  const wide = leftOutWidth(layout, node) * scale;
  if (wide < 1) return;
  const top = topOf(level + 1, look.up, look.row, area);
  context.globalAlpha = 0.6;
  context.fillStyle = look.rest;
  context.fillRect(((layout.filled[node] ?? 0) - window.from) * scale, top, wide - GAP / 2, look.row * 0.35);
}

const widths = new Map<string, number>();
let widthsOf = "";

/** Measuring is slow: each name is measured once, and its parts are assumed to be proportional. */
function measured(context: CanvasRenderingContext2D, text: string, font: string): number {
  if (widthsOf !== font) {
    widths.clear();
    widthsOf = font;
  }
  const known = widths.get(text);
  if (known !== undefined) return known;
  const width = context.measureText(text).width;
  if (widths.size > 50_000) widths.clear();
  widths.set(text, width);
  return width;
}

/** The name of a frame, with its line if there is one. */
export function fullName({ name, file, line }: FlameLabel): string {
  return file && line ? `${name}  ${file}:${line}` : name;
}

/** As much of a name as fits. */
function fitted(context: CanvasRenderingContext2D, label: FlameLabel, room: number, font: string): string {
  const full = fullName(label);
  if (measured(context, full, font) <= room) return full;
  // Slightly wider than the mean, for parts with wide letters.
  const letter = (measured(context, label.name, font) / (label.name.length || 1)) * 1.06;
  return shortLabel(label, Math.floor(room / letter));
}

/**
 * A label with a maximum number of letters. Function and line distinguish the frames of a module, so the file is dropped first,
 * then the module, then letters from the middle of the function; the line is dropped when little else would be left.
 */
export function shortLabel({ name, line }: FlameLabel, letters: number): string {
  const place = line ? `:${line}` : "";
  for (let rest = name; ; ) {
    if (rest.length + place.length <= letters) return rest + place;
    const dot = rest.indexOf(".");
    if (dot < 0 || dot + 1 >= rest.length) return cutLabel(rest, place, letters);
    rest = rest.slice(dot + 1);
  }
}

function cutLabel(name: string, place: string, letters: number): string {
  if (name.length <= letters) return name;
  if (letters < 3) return "";
  return letters - place.length >= 6 ? shortened(name, letters - place.length) + place : shortened(name, letters);
}
