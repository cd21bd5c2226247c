/** Time and memory as a map: a row for each o, a column for each s. Colours compare with now; runs are marked. */
import { useRef } from "preact/hooks";
import type { Answer, MapCell } from "../api/generated";
import { bytes, seconds } from "../format";
import { Panel } from "../parts/controls";
import { csvOf, useExport } from "../parts/export";
import { colourOfChange } from "../pictures/colours";
import { inkOn } from "../pictures/contrast";
import { useTheme } from "../state/theme";
import { MARKS } from "./marks";
import { isSame, markOf, words } from "./setting";
import { change, told, whyUnknown } from "./telling";
import type { Pointing } from "./view";

const OF = {
  time: { title: "Time", show: seconds, value: (cell: MapCell) => cell.time?.value ?? null, factor: (cell: MapCell) => cell.time_factor },
  rss: { title: "Memory", show: bytes, value: (cell: MapCell) => cell.rss?.value ?? null, factor: (cell: MapCell) => cell.rss_factor },
} as const;

/** Smaller changes than this are pale whatever the others are. */
const LEAST_RANGE = 0.05;

/** Down and to the right. */
const STEPS: Record<string, readonly [number, number]> = {
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

interface HeatProps extends Pointing {
  answer: Answer;
  of: keyof typeof OF;
  command: string | null;
}

export function HeatMap({ answer, of, command, shown, point, select }: HeatProps) {
  const { isDark } = useTheme();
  const table = useRef<HTMLTableElement>(null);
  const { map } = answer;
  const { title, show, value, factor } = OF[of];
  const name = `${title} by s and o`;
  useExport({
    title: `${name} of ${answer.command.join(" ")}`,
    command,
    csv: () => csvOf([["o", ...map.sizes.map((s) => `s=${words(s)}`)], ...map.rows.map((row, at) => [map.overheads[at] ?? "", ...row.map((cell) => value(cell) ?? "")])]),
  });
  const changes = map.rows.flat().flatMap((cell) => factor(cell) ?? []).map((factor) => factor - 1);
  const range = Math.max(LEAST_RANGE, ...changes.map(Math.abs));
  const colourOf = (cell: MapCell) => {
    const of = factor(cell);
    return of === null ? null : colourOfChange((of - 1) / range, isDark);
  };
  const [atRow, atColumn] = placeOf(map.rows, shown) ?? [0, 0];
  const walk = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    const [down, right] = step;
    event.preventDefault();
    const [row, column] = [within(atRow + down, map.rows.length), within(atColumn + right, map.sizes.length)];
    const next = map.rows[row]?.[column];
    if (!next) return;
    table.current?.querySelector<HTMLElement>(`[data-place="${row} ${column}"]`)?.focus();
    select(next);
  };
  return (
    <Panel title={name} class="gc-map">
      <div class="gc-scroll">
        <table class="gc-heat" role="grid" aria-label={`${name}: arrows go from setting to setting`} data-testid={`heat-${of}`} ref={table} onKeyDown={walk} onMouseLeave={() => point(null)}>
          <thead>
            <tr>
              <th scope="col">o</th>
              {map.sizes.map((s, at) => <th key={s} scope="col">s={words(s)}{map.rows.every((row) => row[at]?.source === "unknown") && <small>not run</small>}</th>)}
            </tr>
          </thead>
          <tbody>
            {map.rows.map((cells, row) => (
              <tr key={map.overheads[row]}>
                <th scope="row">{map.overheads[row]}</th>
                {cells.map((cell, column) => {
                  const ground = colourOf(cell);
                  const kind = markOf(answer, cell);
                  const number = value(cell);
                  const isRun = cell.source === "run";
                  return (
                    <td
                      key={column}
                      role="gridcell"
                      class={`${kind} ${isSame(cell.setting, shown?.setting) ? "shown" : ""}`}
                      style={ground ? { backgroundColor: ground, color: inkOn(ground, isDark ? "#ffffff" : "#1d1f23") } : {}}
                      tabIndex={row === atRow && column === atColumn ? 0 : -1}
                      data-place={`${row} ${column}`}
                      aria-label={told(answer, cell)}
                      onMouseEnter={() => point(cell)}
                      onFocus={() => point(cell)}
                      onBlur={() => point(null)}
                      onClick={() => select(cell)}
                    >
                      {isRun && <span class="mark">{MARKS[kind][0]}</span>} {number === null ? MARKS.unknown[0] : show(number)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Scale range={range} isDark={isDark} />
    </Panel>
  );
}

function within(place: number, count: number): number {
  return Math.max(0, Math.min(count - 1, place));
}

/** The row and column of a cell. */
function placeOf(rows: readonly (readonly MapCell[])[], shown: MapCell | null): [number, number] | null {
  for (const [row, cells] of rows.entries()) {
    const column = cells.findIndex((cell) => isSame(cell.setting, shown?.setting));
    if (column >= 0) return [row, column];
  }
  return null;
}

/** What the colours mean. */
function Scale({ range, isDark }: { range: number; isDark: boolean }) {
  const steps = [-1, -0.5, 0, 0.5, 1].filter((step) => range * step > -1);
  return (
    <ul class="gc-scale">
      {steps.map((step) => (
        <li key={step}>
          <span class="swatch" style={{ backgroundColor: colourOfChange(step, isDark) }} /> {step === 0 ? "as now" : change(1 + range * step)}
        </li>
      ))}
    </ul>
  );
}

/** How to read both maps, and where the model ends. */
export function MapNote({ answer }: { answer: Answer }) {
  const { fitted, left_out, rows } = answer.map;
  const cells = rows.flat();
  const has = (source: MapCell["source"]) => cells.some((cell) => cell.source === source);
  return (
    <p class="faint gc-note" data-testid="map-note">
      {MARKS.recommended[0]} {MARKS.recommended[1]}; {MARKS.present[0]} {MARKS.present[1]}; {MARKS.run[0]} {MARKS.run[1]}; everything else is by the model.
      {fitted && ` The model was fitted to o from ${fitted[0]} to ${fitted[1]}.`}
      {fitted && has("extrapolated") && " Hatched cells are beyond that: their intervals are wider."}
      {has("unknown") && ` ${MARKS.unknown[0]} is ${whyUnknown(answer.map)}.`}
      {left_out > 0 && ` ${left_out} other settings have no room here: bactrian gc --json has all.`}
    </p>
  );
}
