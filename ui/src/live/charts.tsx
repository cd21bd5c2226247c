/** Charts over time, one picture for numbers that belong together. */
import { useMemo, useRef, useState } from "preact/hooks";
import { canAsk, type Params } from "../api/ask";
import type { DrawnLine, Line } from "../api/generated";
import { Panel } from "../parts/controls";
import { csvOf, useExport } from "../parts/export";
import { lineShapes, nearest, timeAt, type LinesInput } from "../pictures/areas-lines";
import { Picture, type Drawing } from "../pictures/areas-picture";
import { useRoute } from "../state/route";
import { useTheme } from "../state/theme";
import { amount, clock, type Watch } from "./live";
import { useLive } from "./use-live";

interface Chart {
  title: string;
  names: readonly string[];
  /** Hidden if there are no values. */
  isOptional?: boolean;
}

const USES = ["heap_used", "heap_free", "minor_heaps", "external", "c", "stacks", "code", "shared"];

/** The charts of every program. */
export const CHARTS: readonly Chart[] = [
  { title: "Memory", names: ["runtime.heap", "runtime.live", "process.rss"] },
  { title: "Memory by use", names: USES.map((use) => `process.memory.${use}`), isOptional: true },
  { title: "Allocation", names: ["runtime.allocated", "runtime.promoted"] },
  { title: "Collector pauses", names: ["runtime.pauses"] },
  { title: "Time in the collector, all domains", names: ["runtime.collector_time"], isOptional: true },
  { title: "Collections", names: ["runtime.minor_collections", "runtime.major_collections", "runtime.compactions"] },
  { title: "Processor", names: ["process.cpu"] },
];

/** Line colours that differ in lightness as well as in hue. */
const LIGHT = ["#0b63a5", "#c25b00", "#1b7f5a", "#8a3b7d", "#5d636d", "#8a6d00", "#b3123f", "#4440c0"];
const DARK = ["#6db6f0", "#f0a35e", "#6fcf9f", "#d99ad0", "#a0a6b0", "#e0cc5a", "#ff8aa0", "#a9a6ff"];

/** The state of the view of a program. */
export interface Watched {
  file: number;
  watch: Watch;
  following: boolean;
  markers: readonly Line[];
}

/** Parameters that differ from the defaults, which is the form used in reports. */
export function timeParams({ at, span }: Watch): Params {
  return { at: at ?? undefined, last: span > 0 ? span : undefined };
}

function labelOf(line: DrawnLine, isAlone: boolean): string {
  if (isAlone && line.part.startsWith("recent ")) return line.part.slice(7);
  const name = line.name.replace(/^(runtime|process)\.(memory\.)?/, "").replaceAll("_", " ");
  const part = line.part.replace(/^recent /, "");
  return part && part !== "per second" && part !== "share of time" ? `${name} ${part}` : name;
}

/** `unit`: only lines with this unit, if observers have several. */
export function LiveChart(props: Watched & Chart & { height?: number; unit?: string | null }) {
  const { title, names, watch } = props;
  const { go } = useRoute();
  const { isDark } = useTheme();
  const [pointed, setPointed] = useState<number | null>(null);
  const drawing = useRef<Drawing | null>(null);
  const params = { file: props.file, name: names, ...timeParams(watch) };
  const asked = useLive("live/chart", params, props.following);
  const chart = asked.answer?.result;
  const colours = isDark ? DARK : LIGHT;
  // In the order of the title, whatever the order of the answer.
  const drawn = (chart?.lines ?? [])
    .filter((line) => line.values.some((value) => value !== null) && (props.unit === undefined || line.unit === props.unit))
    .sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
  const first = drawn[0];
  const show = (value: number) => amount(value, first?.unit ?? null, first?.rate ?? false);
  const input: LinesInput = {
    times: chart?.times ?? [],
    lines: drawn.map((line, at) => ({ label: labelOf(line, names.length === 1), colour: colours[at % colours.length] ?? "#888", values: line.values, low: line.low, high: line.high })),
    marks: props.markers.map((marker) => ({ at: marker.time, label: marker.text.slice(0, 30) })),
    pointed,
    showValue: show,
    showTime: (time) => clock(time).replace(/\.0$/, ""),
  };
  const shapes = useMemo(() => (look: Parameters<typeof lineShapes>[1]) => lineShapes(input, look), [chart, pointed, isDark, props.markers.length]);
  const place = pointed === null ? input.times.length - 1 : nearest(input.times, pointed);
  useExport({
    title: `${title} of the live program`,
    canvas: () => drawing.current?.canvas() ?? null,
    svg: () => drawing.current?.svg() ?? "",
    csv: () => csvOf([["seconds", ...drawn.map((line) => `${line.name} ${line.part}`.trim())], ...input.times.map((time, at) => [time, ...drawn.map((line) => line.values[at] ?? "")])]),
  });
  const isKnown = drawn.length > 0;
  if (!isKnown && props.isOptional) return null;
  return (
    <Panel
      class="live-chart"
      title={title}
      tools={
        <span class="chart-legend">
          {drawn.map((line, at) => {
            const value = line.values[place];
            return (
              <span key={at}>
                <span class="dash" style={{ background: colours[at % colours.length] }} /> {labelOf(line, names.length === 1)} <strong>{value == null ? "–" : show(value)}</strong>
              </span>
            );
          })}
        </span>
      }
    >
      {asked.error && <p class="error" role="alert">{asked.error}</p>}
      {chart && !isKnown && <p class="faint">Unknown for this program{props.names.length === 1 ? "" : ", or not yet"}.</p>}
      {isKnown && (
        <Picture
          label={`${title} from ${clock(input.times[0] ?? 0)} to ${clock(input.times.at(-1) ?? 0)}`}
          height={props.height ?? 13}
          shapes={shapes}
          drawing={drawing}
          cursor="crosshair"
          onPoint={(at, look) => setPointed(at && timeAt(input, look, at))}
          onClick={(at, look) => {
            const time = timeAt(input, look, at);
            const moment = time === null ? null : Math.round(time * 1000) / 1000;
            if (moment !== null && canAsk("live/state", { file: props.file, at: moment })) go({ params: { at: String(moment) } });
          }}
        >
          {pointed !== null && <span class="chart-time">{clock(input.times[place] ?? 0)}</span>}
        </Picture>
      )}
    </Panel>
  );
}
