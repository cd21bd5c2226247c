/** Marks of settings in pictures. They differ in shape, not only in colour, and are the same letters in tables. */
import type { Colours } from "../state/theme";
import type { MarkKind } from "./setting";

/** The letter of a mark, and what it says. */
export const MARKS: Record<MarkKind, readonly [letter: string, title: string]> = {
  recommended: ["★", "recommended, a run"],
  present: ["■", "now, a run"],
  run: ["●", "a run"],
  model: ["○", "by the model"],
  extrapolated: ["◌", "by the model, beyond the o that it was fitted to"],
  unknown: ["–", "unknown"],
};

export function Mark({ kind, x, y, size, colours }: { kind: MarkKind; x: number; y: number; size: number; colours: Colours }) {
  const half = size / 2;
  switch (kind) {
    case "recommended":
      return <path d={star(x, y, size * 1.05)} fill={colours.good} stroke={colours.raised} stroke-width={1.5} />;
    case "present":
      return <rect x={x - half} y={y - half} width={size} height={size} fill={colours.text} stroke={colours.raised} stroke-width={1.5} />;
    case "run":
      return <circle cx={x} cy={y} r={half * 1.05} fill={colours.accent} stroke={colours.raised} stroke-width={1.5} />;
    case "model":
      return <circle cx={x} cy={y} r={half * 0.75} fill={colours.raised} stroke={colours.faint} stroke-width={1.5} />;
    case "extrapolated":
      return <circle cx={x} cy={y} r={half * 0.75} fill={colours.raised} stroke={colours.faint} stroke-width={1.5} stroke-dasharray="2 2" />;
    case "unknown":
      return null;
  }
}

/** A star with five points. */
function star(x: number, y: number, radius: number): string {
  const points = Array.from({ length: 10 }, (_, at) => {
    const far = at % 2 === 0 ? radius : radius * 0.45;
    const angle = (Math.PI * at) / 5 - Math.PI / 2;
    return `${(x + far * Math.cos(angle)).toFixed(1)} ${(y + far * Math.sin(angle)).toFixed(1)}`;
  });
  return `M${points.join(" L")} Z`;
}
