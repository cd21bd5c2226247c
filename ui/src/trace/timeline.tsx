/** Live size over time: in total, in front of it what the filters admit, and the selected time range. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { isReport, type Params } from "../api/ask";
import type { Asked } from "../api/use";
import { Answered, Panel } from "../parts/controls";
import { csvOf, useExport } from "../parts/export";
import { bytes, errorOf, seconds, type Estimate } from "../format";
import { useKeys } from "../state/keys";
import { useTheme, type Colours } from "../state/theme";
import type { Series, Timeline } from "./answers";
import { Brush } from "./brush-element";
import { parseSpan, writeSpan, type Span } from "./brush";
import { filterParams } from "./filters";
import type { Metric, TraceShown } from "./questions";
import { rounded } from "./telling";
import { timelineSvg } from "./timeline-svg";

/** What is drawn depends on the metric: live sizes, or what was allocated up to each point. */
export type Line = "live" | "allocated";

export function lineOf(metric: Metric): Line {
  return metric === "kept" || metric === "live" || metric === "peak" ? "live" : "allocated";
}

/** What a selected time range requires of objects: the names of the filters, and what they keep. */
const BRUSHES = { "live-in": "alive", allocated: "allocated" } as const;
type BrushFilter = keyof typeof BRUSHES;

/** An existing selection determines the filter; otherwise it follows what is drawn. */
function brushOf(params: URLSearchParams, line: Line): BrushFilter {
  if (params.has("live-in")) return "live-in";
  return params.has("allocated") || line === "allocated" ? "allocated" : "live-in";
}

/** The number of points of the chart. */
const POINTS = 600;

/** The question of the chart. */
export function timelineParams({ file, params }: TraceShown): Params {
  const [from, to] = [params.get("from"), params.get("to")];
  const window = from === null && to === null ? undefined : `${from ?? ""}..${to ?? ""}`;
  return { file, ...filterParams(params), points: POINTS, window };
}

export function TimelinePanel({ trace, asked }: { trace: TraceShown; asked: Asked<Timeline> }) {
  const line = lineOf(trace.metric);
  const brush = brushOf(trace.params, line);
  const value = trace.params.get(brush);
  const isZoomed = trace.params.has("from") || trace.params.has("to");
  const result = asked.answer?.result;
  const span = result ? parseSpan(value, wholeOf(result)) : null;
  const zoom = () => {
    if (isZoomed) trace.set({ from: null, to: null });
    else if (span) trace.set({ from: String(span.from), to: String(span.to) });
  };
  useKeys([{ key: "z", what: "zoom the time line to the selection, and back", run: zoom }], !isReport);
  const tools = (
    <>
      {result && <PeakNote series={result.filtered ?? result.all} isFiltered={result.filtered !== null} />}
      {!isReport && <SelectionNote kind={BRUSHES[brush]} span={span} />}
      <button onClick={zoom} disabled={isReport || (!span && !isZoomed)} title="Zoom the time line to the selection (z)">
        {isZoomed ? "Zoom out" : "Zoom"}
      </button>
      <button onClick={() => trace.set({ [brush]: null, at: null })} disabled={value === null}>Clear</button>
    </>
  );
  return (
    <Panel class="timeline-panel" title={line === "live" ? "Live size over time" : "Allocated over time"} tools={tools}>
      <Answered asked={asked}>
        {(timeline) => (
          <Chart
            timeline={timeline}
            line={line}
            span={span}
            command={asked.answer?.command}
            onSelect={(to) => trace.set({ [brush]: to && writeSpan(to, resolution(timeline)), at: null })}
          />
        )}
      </Answered>
    </Panel>
  );
}

/** What the brush selects, or would select. */
function SelectionNote({ kind, span }: { kind: string; span: Span | null }) {
  return (
    <span class="selection-note" role="status" data-testid="selection">
      {span ? <>only what was {kind} between <b>{seconds(span.from)}</b> and <b>{seconds(span.to)}</b></> : `drag over a span of time to select what was ${kind} then`}
    </span>
  );
}

function PeakNote({ series, isFiltered }: { series: Series; isFiltered: boolean }) {
  const error = errorOf(series.peak);
  return (
    <span class="faint" data-testid="peak">
      peak{isFiltered ? " of the selection" : ""} <b>{bytes(series.peak.value)}</b>{error && ` ${error}`} at {seconds(series.peak_time)}
    </span>
  );
}

function wholeOf({ all: { points } }: Timeline): Span {
  const [first, second, last] = [points[0]?.time ?? 0, points[1]?.time ?? 0, points.at(-1)?.time ?? 1];
  // A point is at the end of its interval, so the first interval begins one interval earlier.
  return { from: Math.max(0, first - Math.max(0, second - first)), to: last };
}

/** The approximate duration of a pixel. */
function resolution(timeline: Timeline): number {
  const { from, to } = wholeOf(timeline);
  return (to - from) / 2000;
}

interface ChartProps {
  timeline: Timeline;
  line: Line;
  span: Span | null;
  command: string | null | undefined;
  onSelect: (span: Span | null) => void;
}

function Chart({ timeline, line, span, command, onSelect }: ChartProps) {
  const colours = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const brush = useRef<Brush | null>(null);
  useKeys([{ key: "b", what: "select a span of time: arrows move it, with Shift they resize it", run: () => brush.current?.focus() }], !isReport);
  const hadFocus = useRef(false);
  const select = useRef(onSelect);
  select.current = onSelect;
  const whole = useMemo(() => wholeOf(timeline), [timeline]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const letter = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 14;
    const chart = new uPlot(optionsOf(timeline, line, colours, letter, element.clientWidth), dataOf(timeline, line), element);
    plot.current = chart;
    // A report has no answers for time ranges.
    if (!isReport) {
      brush.current = new Brush(chart, whole, (to) => select.current(to));
      brush.current.show(span);
      // The focus stays, so that keys continue moving the selection.
      if (hadFocus.current) brush.current.focus();
    }
    const watch = new ResizeObserver(() => {
      chart.setSize({ width: element.clientWidth, height: heightOf(letter) });
      brush.current?.show();
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      hadFocus.current = brush.current?.hasFocus() ?? false;
      brush.current?.stop();
      chart.destroy();
    };
  }, [timeline, line, colours.isDark]);
  useEffect(() => brush.current?.show(span), [span?.from, span?.to]);
  useExport({
    title: "size over time",
    command,
    csv: () => csvOf(rowsOf(timeline)),
    svg: () => timelineSvg(timeline, line, colours),
    canvas: () => onGround(plot.current?.ctx.canvas, colours.raised),
  });
  return <div class="timeline" ref={box} data-testid="timeline" />;
}

/** A copy of a canvas with a background. */
function onGround(canvas: HTMLCanvasElement | undefined, ground: string): HTMLCanvasElement | null {
  if (!canvas) return null;
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext("2d");
  if (!context) return null;
  context.fillStyle = ground;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  return copy;
}

/** Slightly more on tall screens, where there is space. */
function heightOf(letter: number): number {
  return Math.round(Math.max(letter * 11.5, globalThis.innerHeight * 0.15));
}

function rowsOf({ all, filtered }: Timeline): (string | number)[][] {
  const names = ["live", "live low", "live high", "most", "allocated"];
  const head = ["time", ...names, ...(filtered ? names.map((name) => `wanted ${name}`) : [])];
  const values = (point: Series["points"][number] | undefined) =>
    point ? [point.live.value, point.live.low, point.live.high, point.max.value, point.allocated.value] : ["", "", "", "", ""];
  const rows = all.points.map((point, at) => [point.time, ...values(point), ...(filtered ? values(filtered.points[at]) : [])]);
  return [head, ...rows];
}

/** Times, then for each series its values and the bounds of their intervals. */
function dataOf({ all, filtered }: Timeline, line: Line): uPlot.AlignedData {
  const lists = (series: Series | null) => {
    const of = (pick: (estimate: Estimate) => number) =>
      (series?.points ?? []).map((point) => pick(line === "live" ? point.max : point.allocated));
    return [of(({ value }) => value), of(({ low }) => low), of(({ high }) => high)];
  };
  return [all.points.map(({ time }) => time), ...lists(all), ...(filtered ? lists(filtered) : [])] as uPlot.AlignedData;
}

function optionsOf(timeline: Timeline, line: Line, colours: Colours, letter: number, width: number): uPlot.Options {
  const { filtered } = timeline;
  const whole = wholeOf(timeline);
  const font = `${Math.round(letter * 0.86)}px system-ui, "DejaVu Sans", sans-serif`;
  const faded = colours.isDark ? "#8a919c" : "#9aa0a8";
  const axis = {
    stroke: colours.faint,
    font,
    grid: { stroke: colours.line, width: 0.5 },
    ticks: { stroke: colours.line, width: 0.5, size: letter * 0.3 },
    gap: letter * 0.3,
  };
  const series = (label: string, colour: string, strong: boolean): uPlot.Series[] => [
    { label, stroke: colour, width: strong ? 1.5 : 1, fill: `${colour}${strong ? "33" : "1f"}`, points: { show: false } },
    { label: `${label}, low`, stroke: "transparent", points: { show: false } },
    { label: `${label}, high`, stroke: "transparent", points: { show: false } },
  ];
  const band = (first: number, colour: string): uPlot.Band => ({ series: [first + 2, first + 1], fill: `${colour}44` });
  const allColour = filtered ? faded : colours.accent;
  return {
    width,
    height: heightOf(letter),
    padding: [letter * 0.9, letter * 2, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
    scales: {
      x: { time: false, range: () => [whole.from, whole.to] },
      y: { range: (_, __, max) => [0, Math.max(1, max) * 1.12] },
    },
    axes: [
      { ...axis, size: letter * 2, values: (_, ticks) => ticks.map((tick) => (tick === 0 ? "0" : rounded(seconds(tick)))) },
      { ...axis, size: letter * 5, values: (_, ticks) => ticks.map((tick) => rounded(bytes(tick))) },
    ],
    series: [{}, ...series("all", allColour, !filtered), ...(filtered ? series("wanted", colours.accent, true) : [])],
    bands: [band(1, allColour), ...(filtered ? [band(4, colours.accent)] : [])],
    plugins: [readout(timeline, line), ...(line === "live" ? [peakMark(timeline, colours, font)] : [])],
  };
}

/** Marks the highest point. */
function peakMark({ all, filtered }: Timeline, colours: Colours, font: string): uPlot.Plugin {
  const series = filtered ?? all;
  return {
    hooks: {
      draw: (chart) => {
        const dense = globalThis.devicePixelRatio || 1;
        const x = chart.valToPos(series.peak_time, "x", true);
        const y = chart.valToPos(series.peak.value, "y", true);
        const { left, width, top } = chart.bbox;
        if (x < left || x > left + width || series.peak.value <= 0) return;
        const { ctx } = chart;
        ctx.save();
        ctx.fillStyle = colours.bad;
        ctx.beginPath();
        ctx.arc(x, y, 3.5 * dense, 0, 7);
        ctx.fill();
        ctx.font = font.replace(/^\d+/, (size) => String(Number(size) * dense));
        const isLate = x > left + width / 2;
        ctx.textAlign = isLate ? "right" : "left";
        ctx.textBaseline = "bottom";
        const place = [x + (isLate ? 4 : -4) * dense, Math.max(top, y - 5 * dense)] as const;
        // With an outline, to be readable on lines too.
        ctx.strokeStyle = colours.raised;
        ctx.lineWidth = 4 * dense;
        ctx.lineJoin = "round";
        ctx.strokeText("peak", ...place);
        ctx.fillText("peak", ...place);
        ctx.restore();
      },
    },
  };
}

/** The values at the pointer as text; updated directly, not through Preact. */
function readout({ all, filtered }: Timeline, line: Line): uPlot.Plugin {
  const told = document.createElement("div");
  told.className = "readout";
  told.hidden = true;
  const of = (series: Series | null, at: number) => {
    const point = series?.points[at];
    if (!point) return "";
    const shown = line === "live" ? point.live : point.allocated;
    const most = line === "live" ? `, at most ${bytes(point.max.value)}` : "";
    return `${bytes(shown.value)} ${errorOf(shown)}${most}`;
  };
  return {
    hooks: {
      ready: (chart) => void chart.over.append(told),
      setCursor: (chart) => {
        const at = chart.cursor.idx;
        const left = chart.cursor.left ?? -1;
        told.hidden = at === null || at === undefined || left < 0;
        if (told.hidden || at === null || at === undefined) return;
        const time = all.points[at]?.time ?? 0;
        const wanted = filtered ? `wanted ${of(filtered, at)} · all ` : "";
        told.textContent = `${seconds(time)} · ${wanted}${of(all, at)}`;
        const isRight = left > chart.over.clientWidth / 2;
        told.style.left = isRight ? "" : `${left + 10}px`;
        told.style.right = isRight ? `${chart.over.clientWidth - left + 10}px` : "";
      },
    },
  };
}
