/**
 * A flame graph as one self-contained SVG file: what is below the shown root. In a browser, an embedded script adds zoom, search
 * and keyboard navigation (`flame-file.script.js`). It gets what it needs from the frames: order and depth determine the tree,
 * and the first line of a tooltip is the full name.
 */
import { escaped } from "../parts/export";
import { grouped } from "../format";
import { fullName } from "./flame-draw";
import script from "./flame-file.script.js?raw";
import style from "./flame-file.style.css?raw";
import { labelOf, levelsBelow, type Layout } from "./flame-layout";

export interface FlameFile {
  title: string;
  /** Below the title, one per line: what was measured, and how. */
  lines: readonly string[];
  /** What is lost or estimated. */
  warnings: readonly string[];
  /** Callees above their callers. */
  up: boolean;
  /** The width of the picture in pixels; with its script it fills its window. */
  width: number;
  fill: (node: number) => string;
  /** The numbers in a frame's tooltip, one per line. */
  figures: (node: number) => readonly string[];
}

export const USUAL_WIDTH = 1200;
const MARGIN = 12;
const ROW = 17;
const BOX = 16;
const PADDING = 3;
/** The band in which the script describes the frame under the pointer, and the space above it. */
const BAND = 22;
const SPACE = 10;
const FOOT = 34;
/** The width of a letter in a frame, slightly more than in common fonts; the script measures. */
const LETTER = 6.7;
/** Narrower frames are omitted, with everything that they call. */
const NARROWEST = 0.5;
/** Narrower frames have no border, because nothing would be left inside. The script does the same. */
const BORDERED = 3;
/** Deeper levels are not drawn: nobody scrolls through so many. */
const DEEPEST = 400;
/** The number of letters after which a warning is wrapped. */
const LINE = 120;
/** Longer names would fill the file, once for each frame. */
const LONGEST = 400;

export function flameSvg(layout: Layout, root: number, file: FlameFile): string {
  const room = file.width - 2 * MARGIN;
  const { frames, levels, leftOut, tooDeep } = framesOf(layout, root, room);
  const cuts = tooDeep > 0 ? [`Cut: ${grouped(tooDeep)} frames deeper than ${DEEPEST} levels are not drawn`] : [];
  const head: [string, number, string][] = [
    ["headline", 22, file.title],
    ...file.lines.map((line): [string, number, string] => ["measure", 19, line]),
    ...[...file.warnings, ...cuts].flatMap((text) => wrapped(text).map((line): [string, number, string] => ["warning", 16, line])),
  ];
  const header: string[] = [];
  let y = 0;
  for (const [kind, height, text] of head) {
    y += height;
    header.push(`<text class="${kind}" x="${MARGIN}" y="${y}">${safe(text)}</text>`);
  }
  const band = y + SPACE;
  const top = band + BAND;
  const bottom = top + levels * ROW;
  const drawn = frames.map(({ node, left, width, level }) => {
    const at = top + (file.up ? levels - 1 - level : level) * ROW;
    const name = tame(fullName(labelOf(layout, node)));
    const text = shortName(name, Math.floor((width - 2 * PADDING) / LETTER));
    const x = MARGIN + left;
    const title = [name, ...file.figures(node)].map(safe).join("\n");
    const written = text && `<text x="${fixed(x + PADDING)}" y="${at + 12}">${safe(text)}</text>`;
    const thin = width < BORDERED ? ' class="thin"' : "";
    return `<g data-depth="${level}"><title>${title}</title><rect${thin} x="${fixed(x)}" y="${at}" width="${fixed(width)}" height="${BOX}" fill="${file.fill(node)}"/>${written}</g>`;
  });
  const foot = `Frames drawn: ${grouped(frames.length)}.${leftOut > 0 ? ` Too small to draw: ${grouped(leftOut)}; gaps show their size.` : ""}`;
  const [width, height] = [file.width, bottom + FOOT];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="flame" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${safe(file.title)}</title>`,
    `<style><![CDATA[\n${style}]]></style>`,
    '<rect class="paper" width="100%" height="100%"/>',
    '<g class="frames">',
    ...drawn,
    "</g>",
    `<text class="footer" x="${MARGIN}" y="${bottom + 20}">${foot}</text>`,
    // After the frames, because it stays in view above them when the page is scrolled.
    `<g class="header"><rect class="paper" width="100%" height="${band}"/>`,
    `<rect class="band" y="${band}" width="100%" height="${BAND - ROW + BOX}"/>`,
    `<text class="details" x="${MARGIN}" y="${band + BAND - 7}">Point at a frame to see its numbers</text>`,
    ...header,
    "</g>",
    `<script><![CDATA[\n${script}]]></script>`,
    "</svg>",
    "",
  ].join("\n");
}

interface DrawnFrame {
  node: number;
  left: number;
  width: number;
  level: number;
}

/** The frames that are wide enough to be visible, and the number of the others. */
function framesOf(layout: Layout, root: number, room: number): { frames: DrawnFrame[]; levels: number; leftOut: number; tooDeep: number } {
  const all = layout.width[root] || 1;
  const base = layout.start[root] ?? 0;
  const stop = layout.end[root] ?? 0;
  const frames: DrawnFrame[] = [];
  let [leftOut, tooDeep] = [0, 0];
  for (let node = root; node < stop; ) {
    const width = ((layout.width[node] ?? 0) / all) * room;
    const level = (layout.depth[node] ?? 0) - (layout.depth[root] ?? 0);
    if ((width < NARROWEST && node !== root) || level > DEEPEST) {
      const end = layout.end[node] ?? stop;
      if (level > DEEPEST) tooDeep += end - node;
      else leftOut += end - node;
      node = end;
      continue;
    }
    leftOut += layout.tree.more[node] ?? 0;
    frames.push({ node, left: (((layout.start[node] ?? 0) - base) / all) * room, width: node === root ? room : width, level });
    node += 1;
  }
  return { frames, levels: Math.min(levelsBelow(layout, root), DEEPEST + 1), leftOut, tooDeep };
}

/** A length; with enough digits, because zooming magnifies rounding errors. */
function fixed(length: number): string {
  return String(Math.round(length * 1e4) / 1e4);
}

/** Replaces what would change how neighbouring text is read: control characters, line ends, bidirectional marks. */
function tame(text: string): string {
  const whole = [...text];
  const kept = whole.length > LONGEST ? `${whole.slice(0, LONGEST).join("")}…` : text;
  return kept.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufffe\uffff]/g, "\ufffd");
}

function safe(text: string): string {
  return escaped(tame(text));
}

/** As much of a name as fits: all of it; else the name without its module, which the colour shows; else the start of that. */
function shortName(name: string, letters: number): string {
  if (letters < 1) return "";
  return columnsOf(name) <= letters ? name : cut(name.slice(name.indexOf(".") + 1), letters);
}

/** The first letters of a name, if that is enough to be informative. The script does the same. */
function cut(name: string, letters: number): string {
  if (name.length <= letters) return name;
  return letters < 3 ? "" : `${name.slice(0, letters - 1)}…`;
}

/** East Asian scripts, and most symbols beyond, are twice as wide as Latin in a monospaced font. */
function columnsOf(text: string): number {
  return [...text].reduce((sum, letter) => sum + (letter >= "\u1100" && !(letter >= "\u2000" && letter <= "\u2fff") ? 2 : 1), 0);
}

function wrapped(text: string): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line && line.length + word.length + 1 > LINE) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}
