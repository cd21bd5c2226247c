/** Time against memory: runs, what the model predicts, and the settings that no other beats in both. */
import { useRef } from "preact/hooks";
import type { Answer } from "../api/generated";
import { bytes, seconds } from "../format";
import { ByPointer, Panel } from "../parts/controls";
import { csvOf, useExport } from "../parts/export";
import { svgFile, useRoom, widthOf } from "../pictures/svg";
import { useTheme, type Colours } from "../state/theme";
import { Mark, MARKS } from "./marks";
import { nearestTo, scaleOf, type Scale } from "./scale";
import { isSame, knownCells, markOf, nameOf, words, type KnownCell, type MarkKind } from "./setting";
import { told } from "./telling";
import type { Pointing } from "./view";

/** Heights in rem, font sizes in pixels. */
const HEIGHT = 23;
const SIZE = 12.5;
/** How near a pointer must be to a mark, in pixels: a fingertip. */
const REACH = 28;
/** Larger marks are drawn over smaller ones. */
const ORDER: readonly MarkKind[] = ["extrapolated", "model", "run", "present", "recommended"];

interface FrontProps extends Pointing {
  answer: Answer;
  command: string | null;
}

export function Front({ answer, command, shown, point, select }: FrontProps) {
  const colours = useTheme();
  const around = useRef<HTMLDivElement>(null);
  const picture = useRef<SVGSVGElement>(null);
  const { width, scale } = useRoom(around);
  const cells = knownCells(answer);
  const here = cells.findIndex((cell) => isSame(cell.setting, shown?.setting));
  const title = `Time and memory of ${answer.command.join(" ")}`;
  useExport({
    title,
    command,
    svg: () => svgFile(picture.current, colours.raised),
    csv: () =>
      csvOf([
        ["s", "o", "seconds", "from", "to", "bytes", "from", "to", "source"],
        ...cells.map(({ setting: { s, o }, time, rss, source }) => [s, o, time.value, time.low, time.high, rss.value, rss.low, rss.high, source]),
      ]),
  });
  const press = (event: KeyboardEvent) => {
    const last = cells.length - 1;
    const places: Record<string, number> = { ArrowRight: here + 1, ArrowUp: here + 1, ArrowLeft: here - 1, ArrowDown: here - 1, Home: 0, End: last };
    const to = places[event.key];
    const next = to === undefined ? undefined : cells[Math.max(0, Math.min(last, to))];
    if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    select(next);
  };
  return (
    <Panel title="Time against memory" class="gc-front" tools={<Legend kinds={kindsOf(answer, cells)} colours={colours} />}>
      <div class="gc-plot" ref={around} tabIndex={0} role="group" aria-label={`${title}: arrows go from setting to setting, by memory`} onKeyDown={press}>
        {width > 0 && cells.length > 0 && (
          <Plot answer={answer} cells={cells} width={width} height={HEIGHT * 14 * scale} size={SIZE * scale} colours={colours} picture={picture} shown={shown} point={point} select={select} />
        )}
      </div>
      <p class="gc-story" role="status" data-testid="story">{shown ? told(answer, shown) : ""}</p>
      <p class="faint">
        <ByPointer mouse="Point at a mark for its setting; a click keeps it." touch="A tap on a mark shows its setting." /> The axes do not begin at zero.
      </p>
    </Panel>
  );
}

/** The kinds of marks in the picture, the most important first. */
function kindsOf(answer: Answer, cells: readonly KnownCell[]): MarkKind[] {
  const there = new Set(cells.map((cell) => markOf(answer, cell)));
  return [...ORDER].reverse().filter((kind) => there.has(kind));
}

function Legend({ kinds, colours }: { kinds: readonly MarkKind[]; colours: Colours }) {
  return (
    <ul class="gc-legend">
      {kinds.map((kind) => (
        <li key={kind}>
          <svg viewBox="0 0 20 20" aria-hidden="true"><Mark kind={kind} x={10} y={10} size={10} colours={colours} /></svg> {MARKS[kind][1]}
        </li>
      ))}
      <li>
        <svg viewBox="0 0 20 20" aria-hidden="true"><path d="M1 16 L19 4" stroke={colours.accent} stroke-width={2.5} /></svg> nothing beats these
      </li>
    </ul>
  );
}

interface PlotProps extends Pointing {
  answer: Answer;
  cells: readonly KnownCell[];
  width: number;
  height: number;
  size: number;
  colours: Colours;
  picture: { current: SVGSVGElement | null };
}

function Plot({ answer, cells, width, height, size, colours, picture, shown, point, select }: PlotProps) {
  const [top, bottom, left, right] = [size * 2, height - size * 3, size * 5.2, width - size];
  const x = scaleOf(cells.map(({ rss }) => rss.value), left, right, Math.floor((right - left) / (size * 7)));
  const y = scaleOf(cells.map(({ time }) => time.value), bottom, top, 5);
  const places = cells.map((cell) => ({ cell, kind: markOf(answer, cell), x: x.at(cell.rss.value), y: y.at(cell.time.value) }));
  const drawn = ORDER.flatMap((kind) => places.filter((place) => place.kind === kind));
  const front = answer.front.flatMap(({ setting }) => places.filter(({ cell }) => isSame(cell.setting, setting)));
  const now = places.find(({ cell }) => isSame(cell.setting, shown?.setting));
  const under = (event: MouseEvent) => {
    const box = picture.current?.getBoundingClientRect();
    return places[nearestTo(places, event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0), REACH)]?.cell ?? null;
  };
  return (
    <svg
      ref={picture}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      font-size={size}
      role="img"
      aria-label={`Time against memory: ${cells.length} settings, of which ${cells.filter(({ source }) => source === "run").length} were run`}
      data-testid="front"
      onPointerMove={(event) => point(under(event))}
      onMouseLeave={() => point(null)}
      onClick={(event) => {
        const cell = under(event);
        if (cell) select(cell);
      }}
    >
      <Axes x={x} y={y} top={top} bottom={bottom} left={left} right={right} size={size} colours={colours} time={answer.time_by === "cpu" ? "processor time" : "elapsed time"} />
      {answer.map.sizes.map((s) => <Curve key={s} places={places.filter(({ cell }) => cell.setting.s === s)} colours={colours} />)}
      <path d={lineThrough(front)} fill="none" stroke={colours.accent} stroke-width={2.5} stroke-linejoin="round" data-testid="front-line" />
      {now && <Whiskers cell={now.cell} x={x} y={y} box={[left, right, top, bottom]} colours={colours} />}
      {drawn.map(({ cell, kind, x, y }) => (
        <g key={nameOf(cell.setting)} data-setting={nameOf(cell.setting)} data-kind={kind}>
          <Mark kind={kind} x={x} y={y} size={size * 0.85} colours={colours} />
        </g>
      ))}
      {now && <circle cx={now.x} cy={now.y} r={size * 0.95} fill="none" stroke={colours.text} stroke-width={2} data-testid="ring" />}
      <Labels answer={answer} places={places} room={{ left, right: width, top: 0, bottom }} size={size} colours={colours} />
    </svg>
  );
}

interface Place {
  cell: KnownCell;
  x: number;
  y: number;
}

function lineThrough(places: readonly Place[]): string {
  return places.length < 2 ? "" : `M${places.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join(" L")}`;
}

/** All values of o with the same s. */
function Curve({ places, colours }: { places: readonly Place[]; colours: Colours }) {
  const inOrder = [...places].sort((a, b) => a.cell.setting.o - b.cell.setting.o);
  return <path d={lineThrough(inOrder)} fill="none" stroke={colours.line} stroke-width={1.5} />;
}

/** The intervals of a setting, as far as they are in the picture. */
function Whiskers({ cell, x, y, box: [left, right, top, bottom], colours }: { cell: KnownCell; x: Scale; y: Scale; box: readonly [number, number, number, number]; colours: Colours }) {
  const within = (value: number, low: number, high: number) => Math.max(low, Math.min(high, value));
  const [cx, cy] = [x.at(cell.rss.value), y.at(cell.time.value)];
  const [low, high] = [within(x.at(cell.rss.low), left, right), within(x.at(cell.rss.high), left, right)];
  const [below, above] = [within(y.at(cell.time.low), top, bottom), within(y.at(cell.time.high), top, bottom)];
  return <path d={`M${low} ${cy} H${high} M${cx} ${below} V${above}`} stroke={colours.text} stroke-width={1.5} data-testid="whiskers" />;
}

interface AxesProps {
  x: Scale;
  y: Scale;
  top: number;
  bottom: number;
  left: number;
  right: number;
  size: number;
  colours: Colours;
  time: string;
}

function Axes({ x, y, top, bottom, left, right, size, colours, time }: AxesProps) {
  return (
    <g fill={colours.faint}>
      {y.ticks.map((tick) => (
        <g key={tick}>
          <path d={`M${left} ${y.at(tick)} H${right}`} stroke={colours.line} stroke-width={0.75} />
          <text x={left - size * 0.5} y={y.at(tick) + size * 0.35} text-anchor="end">{seconds(tick)}</text>
        </g>
      ))}
      {x.ticks.map((tick) => (
        <g key={tick}>
          <path d={`M${x.at(tick)} ${bottom} V${bottom + size * 0.4}`} stroke={colours.faint} />
          <text x={x.at(tick)} y={bottom + size * 1.5} text-anchor="middle">{bytes(tick)}</text>
        </g>
      ))}
      <path d={`M${left} ${top} V${bottom} H${right}`} fill="none" stroke={colours.faint} />
      <text x={left} y={size} text-anchor="start">{time}</text>
      <text x={right} y={bottom + size * 2.8} text-anchor="end">peak of resident memory</text>
    </g>
  );
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** Where a text of this width can be beside a mark: on the right, on the left, a little above or below. */
function boxesAround({ x, y }: Place, width: number, size: number): Box[] {
  return [-0.9, 0.9, 0, -1.7, 1.7, -2.6, 2.6].flatMap((step) =>
    [x + size * 0.9, x - size * 0.9 - width].map((left) => {
      const middle = y + step * size;
      return { left, right: left + width, top: middle - size * 0.6, bottom: middle + size * 0.6 };
    }),
  );
}

/** The names of the present and the recommended setting, and of each s at the end of its curve where memory is least. */
function Labels({ answer, places, room, size, colours }: { answer: Answer; places: readonly Place[]; room: Box; size: number; colours: Colours }) {
  const taken: Box[] = places.map(({ x, y }) => ({ left: x - size / 2, right: x + size / 2, top: y - size / 2, bottom: y + size / 2 }));
  const label = (text: string, place: Place | undefined, ink: string, isBold: boolean) => {
    if (!place) return null;
    const boxes = boxesAround(place, widthOf(text, size) * (isBold ? 1.08 : 1), size);
    const within = boxes.filter((box) => box.left >= room.left && box.right <= room.right && box.top >= room.top && box.bottom <= room.bottom);
    // What has no room is left out, for pointing tells it, but not what is most important.
    const at = within.find((box) => !taken.some((other) => overlap(box, other))) ?? (isBold ? within[0] : undefined);
    if (!at) return null;
    taken.push(at);
    return (
      <text key={text} x={at.left} y={at.bottom - size * 0.3} fill={ink} font-weight={isBold ? "600" : "400"} stroke={colours.raised} stroke-width={3} paint-order="stroke">
        {text}
      </text>
    );
  };
  const at = (setting: { s: number; o: number } | undefined) => places.find(({ cell }) => isSame(cell.setting, setting));
  const recommended = answer.recommended?.choice.cell.setting;
  const isKept = isSame(recommended, answer.present.setting);
  return (
    <g data-testid="labels">
      {recommended && label(isKept ? "now, recommended" : "recommended", at(recommended), colours.text, true)}
      {!isKept && label("now", at(answer.present.setting), colours.text, true)}
      {answer.map.sizes.map((s) => {
        const least = places.find(({ cell }) => cell.setting.s === s);
        return label(`s=${words(s)}`, least, colours.faint, false);
      })}
    </g>
  );
}
