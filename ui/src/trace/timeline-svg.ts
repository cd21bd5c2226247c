/** Size over time as an SVG file, with the same lines, areas and intervals as on the page. */
import { escaped } from "../parts/export";
import { bytes, seconds, type Estimate } from "../format";
import type { Colours } from "../state/theme";
import type { Series, Timeline } from "./answers";
import type { Line } from "./timeline";

const [WIDTH, HEIGHT] = [1200, 300];
const [LEFT, RIGHT, TOP, BOTTOM] = [80, 20, 20, 30];

export function timelineSvg({ all, filtered }: Timeline, line: Line, colours: Colours): string {
  const of = (point: Series["points"][number]) => (line === "live" ? point.max : point.allocated);
  const times = all.points.map(({ time }) => time);
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 1];
  const most = Math.max(1, ...all.points.map((point) => of(point).high));
  const x = (time: number) => LEFT + ((time - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM);
  const path = (series: Series, pick: (estimate: Estimate) => number) =>
    series.points.map((point) => `${x(point.time).toFixed(1)},${y(pick(of(point))).toFixed(1)}`);
  const drawn = (series: Series, colour: string) => {
    const values = path(series, ({ value }) => value);
    const band = [...path(series, ({ high }) => high), ...path(series, ({ low }) => low).reverse()];
    const floor = `${x(last).toFixed(1)},${y(0)} ${x(first).toFixed(1)},${y(0)}`;
    return [
      `<polygon points="${values.join(" ")} ${floor}" fill="${colour}" fill-opacity="0.15"/>`,
      `<polygon points="${band.join(" ")}" fill="${colour}" fill-opacity="0.3"/>`,
      `<polyline points="${values.join(" ")}" fill="none" stroke="${colour}" stroke-width="1.2"/>`,
    ];
  };
  const text = (at: number, down: number, words: string, anchor = "middle") =>
    `<text x="${at.toFixed(1)}" y="${down.toFixed(1)}" text-anchor="${anchor}" fill="${colours.faint}">${escaped(words)}</text>`;
  const parts = [0, 0.25, 0.5, 0.75, 1];
  const series = filtered ?? all;
  const peak = [x(series.peak_time).toFixed(1), y(series.peak.value).toFixed(1)];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="${colours.raised}"/>`,
    ...parts.flatMap((part) => [
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(most * part)}" y2="${y(most * part)}" stroke="${colours.line}" stroke-width="0.5"/>`,
      text(LEFT - 8, y(most * part) + 4, bytes(most * part), "end"),
      text(x(first + (last - first) * part), HEIGHT - 10, seconds(first + (last - first) * part)),
    ]),
    ...drawn(all, filtered ? colours.faint : colours.accent),
    ...(filtered ? drawn(filtered, colours.accent) : []),
    ...(line === "live" ? [`<circle cx="${peak[0]}" cy="${peak[1]}" r="3.5" fill="${colours.bad}"><title>peak ${escaped(bytes(series.peak.value))}</title></circle>`] : []),
    "</svg>",
    "",
  ].join("\n");
}
