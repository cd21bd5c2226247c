/** Boxes or discs with arrows as a file, in its full size. */
import { renderToString } from "preact-render-to-string";
import { paper } from "../state/theme";
import { laidOut, LinksDrawing, type Arrangement, type DrawnLink, type DrawnNode } from "./links-drawing";
import { FONT, plain } from "./svg";

const MARGIN = 20;
const TITLE = 17;
const LINE = 17;
/** The least width, so that the title fits. */
const NARROWEST = 720;

/** `lines` are printed below the title. */
export function linksSvg(title: string, lines: readonly string[], nodes: readonly DrawnNode[], links: readonly DrawnLink[], as: Arrangement = "layers"): string {
  const drawn = laidOut(nodes, links, as, 1);
  const head = 2 * MARGIN + TITLE + lines.length * LINE;
  const width = Math.ceil(Math.max(NARROWEST, drawn.layout.width + 2 * MARGIN));
  const height = Math.ceil(head + drawn.layout.height + MARGIN);
  const file = (
    <svg xmlns="http://www.w3.org/2000/svg" width={width} height={height} viewBox={`0 0 ${width} ${height}`} font-family={FONT} font-size={drawn.size}>
      <title>{title}</title>
      <rect width="100%" height="100%" fill={paper.ground} />
      <text x={MARGIN} y={MARGIN + TITLE * 0.8} font-size={TITLE} font-weight="bold" fill={paper.text}>{title}</text>
      {lines.map((line, at) => (
        <text key={at} x={MARGIN} y={MARGIN + TITLE + (at + 0.9) * LINE} fill={paper.faint}>{line}</text>
      ))}
      <g transform={`translate(${MARGIN} ${head})`}>
        <LinksDrawing drawn={drawn} colours={paper} />
      </g>
    </svg>
  );
  return plain(`${renderToString(file)}\n`);
}
