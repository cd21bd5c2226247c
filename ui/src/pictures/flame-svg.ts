/** A flame graph as an SVG file: what is below the shown root, without scripts, every name escaped. */
import { escaped } from "../parts/export";
import { cut, fullName } from "./flame-draw";
import { labelOf, levelsBelow, type Layout } from "./flame-layout";

export interface SvgLook {
  title: string;
  up: boolean;
  fill: (node: number) => string;
  ink: (node: number) => string;
  ground: string;
  text: string;
  /** What a frame says when it is pointed at. */
  tell: (node: number) => string;
}

const WIDTH = 1600;
const ROW = 18;
const HEAD = 28;
/** Of a letter, about. */
const LETTER = 6.6;

export function flameSvg(layout: Layout, root: number, look: SvgLook): string {
  const all = layout.width[root] || 1;
  const base = layout.start[root] ?? 0;
  const height = HEAD + levelsBelow(layout, root) * ROW + 4;
  const frames: string[] = [];
  const stop = layout.end[root] ?? 0;
  for (let node = root; node < stop; ) {
    const width = ((layout.width[node] ?? 0) / all) * WIDTH;
    if (width < 0.2) {
      node = layout.end[node] ?? stop;
      continue;
    }
    const left = (((layout.start[node] ?? 0) - base) / all) * WIDTH;
    const level = (layout.depth[node] ?? 0) - (layout.depth[root] ?? 0);
    const top = look.up ? height - 4 - (level + 1) * ROW : HEAD + level * ROW;
    const name = cut(fullName(labelOf(layout, node)), Math.floor((width - 6) / LETTER));
    const text = name ? `<text x="${(left + 3).toFixed(2)}" y="${top + 13}" fill="${escaped(look.ink(node))}">${escaped(name)}</text>` : "";
    frames.push(
      `<g><title>${escaped(look.tell(node))}</title><rect x="${left.toFixed(2)}" y="${top}" width="${Math.max(0.2, width - 0.5).toFixed(2)}" ` +
        `height="${ROW - 1}" fill="${escaped(look.fill(node))}"/>${text}</g>`,
    );
    node += 1;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="${escaped(look.ground)}"/>`,
    `<text x="4" y="18" font-size="14" fill="${escaped(look.text)}">${escaped(look.title)}</text>`,
    ...frames,
    "</svg>",
    "",
  ].join("\n");
}
