/** The shapes of a chart, painted on a canvas or written as SVG: one description, two painters. */
import { escaped } from "../parts/export";

export type Shape =
  | { kind: "area"; points: readonly Point[]; fill: string; stroke?: string | undefined; opacity?: number; title?: string }
  | { kind: "line"; points: readonly Point[]; stroke: string; width: number; dash?: readonly number[] | undefined }
  | { kind: "dot"; at: Point; radius: number; fill: string }
  | { kind: "text"; at: Point; text: string; fill: string; size: number; anchor: "start" | "middle" | "end"; bold?: boolean };

export type Point = readonly [x: number, y: number];

const FONT = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

export function paint(context: CanvasRenderingContext2D, shapes: readonly Shape[]): void {
  for (const shape of shapes) {
    context.globalAlpha = shape.kind === "area" ? (shape.opacity ?? 1) : 1;
    if (shape.kind === "text") {
      context.font = `${shape.bold ? "600 " : ""}${shape.size}px ${FONT}`;
      context.textAlign = shape.anchor === "middle" ? "center" : shape.anchor;
      context.textBaseline = "middle";
      context.fillStyle = shape.fill;
      context.fillText(shape.text, ...shape.at);
      continue;
    }
    context.beginPath();
    if (shape.kind === "dot") {
      context.arc(shape.at[0], shape.at[1], shape.radius, 0, 2 * Math.PI);
      context.fillStyle = shape.fill;
      context.fill();
      continue;
    }
    shape.points.forEach(([x, y], place) => (place === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    if (shape.kind === "area") {
      context.closePath();
      context.fillStyle = shape.fill;
      context.fill();
      if (shape.stroke) {
        context.strokeStyle = shape.stroke;
        context.lineWidth = 1;
        context.stroke();
      }
    } else {
      context.setLineDash([...(shape.dash ?? [])]);
      context.strokeStyle = shape.stroke;
      context.lineWidth = shape.width;
      context.lineJoin = "round";
      context.stroke();
      context.setLineDash([]);
    }
  }
  context.globalAlpha = 1;
}

const short = (value: number) => String(Math.round(value * 100) / 100);
const pairs = (points: readonly Point[]) => points.map(([x, y]) => `${short(x)},${short(y)}`).join(" ");

/** The shapes as an SVG file. Texts come from programs, so they are escaped. */
export function svgOf(shapes: readonly Shape[], width: number, height: number, ground: string): string {
  const lines = shapes.map((shape) => {
    switch (shape.kind) {
      case "area": {
        const title = shape.title ? `<title>${escaped(shape.title)}</title>` : "";
        const stroke = shape.stroke ? ` stroke="${escaped(shape.stroke)}"` : "";
        return `<polygon points="${pairs(shape.points)}" fill="${escaped(shape.fill)}"${stroke} opacity="${shape.opacity ?? 1}">${title}</polygon>`;
      }
      case "line": {
        const dash = shape.dash ? ` stroke-dasharray="${shape.dash.join(" ")}"` : "";
        return `<polyline points="${pairs(shape.points)}" fill="none" stroke="${escaped(shape.stroke)}" stroke-width="${shape.width}"${dash}/>`;
      }
      case "dot":
        return `<circle cx="${short(shape.at[0])}" cy="${short(shape.at[1])}" r="${shape.radius}" fill="${escaped(shape.fill)}"/>`;
      case "text": {
        const bold = shape.bold ? ' font-weight="600"' : "";
        return `<text x="${short(shape.at[0])}" y="${short(shape.at[1])}" fill="${escaped(shape.fill)}" font-size="${shape.size}" text-anchor="${shape.anchor}" dominant-baseline="middle"${bold}>${escaped(shape.text)}</text>`;
      }
    }
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escaped(FONT)}"><rect width="${width}" height="${height}" fill="${escaped(ground)}"/>${lines.join("")}</svg>`;
}
