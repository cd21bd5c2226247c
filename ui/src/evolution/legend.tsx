/** The legend: bands of the picture with their colours, and switches for them. */
import { errorOf, type Estimate } from "../format";
import { Panel } from "../parts/controls";
import { type Band, type Hit, type Line } from "../pictures/areas";
import { coloursOf } from "../pictures/colours";
import { useRoute } from "../state/route";
import { below, estimatesOf, inUnit, isGrowing, showIn, toggled, type Series, type SeriesRow, type Shown } from "./series";

/** A band that can be switched off; the rest has no row that could be clicked. */
export interface Entry extends Band {
  isOn: boolean;
  row: SeriesRow | undefined;
  estimates: Estimate[];
  of: SeriesRow;
}

export const REST = "[rest]";

/** The rows of the answer as bands: the first at the bottom, the rest on top. */
export function bandsOf(series: Series, shown: Pick<Shown, "unit" | "off">, isDark: boolean): Entry[] {
  const colours = coloursOf(series.rows.map((row) => ({ name: row.title })), isDark);
  const entry = (of: SeriesRow, colour: string, row: SeriesRow | undefined): Entry => {
    const estimates = estimatesOf(of, shown.unit, series.word);
    return {
      id: of.title,
      label: row ? of.title : `${series.row_count - series.rows.length} others`,
      colour,
      values: estimates.map((one) => one.value),
      estimates,
      isOn: !shown.off.includes(of.title),
      row,
      of,
      grows: row !== undefined && isGrowing(of, series.all),
    };
  };
  const rows = series.rows.map((row) => entry(row, colours.get(row.title) ?? "#888", row));
  return series.rest ? [...rows, entry(series.rest, isDark ? "#5a5f67" : "#d5d3cd", undefined)] : rows;
}

/** The lines that are switched on. */
export function linesOf(series: Series, shown: Shown, colours: { live: string; heap: string }): Line[] {
  // These lines are sizes, not numbers of blocks.
  if (shown.unit === "blocks") return [];
  const lines: Line[] = [];
  const of = (value: number | null) => (value === null ? null : inUnit(value, shown.unit, series.word));
  if (shown.lines.includes("live")) lines.push({ label: "live", colour: colours.live, values: series.snapshots.map((point) => of(point.live)) });
  if (shown.lines.includes("heap")) lines.push({ label: "heap", colour: colours.heap, dash: [7, 4], values: series.snapshots.map((point) => of(point.heap)) });
  return lines;
}

export function Legend(props: { entries: readonly Entry[]; series: Series; shown: Shown; hovered: Hit | null; onDrill: (entry: Entry) => void }) {
  const { entries, series, shown, hovered } = props;
  const { go } = useRoute();
  const show = showIn(shown.unit);
  const place = hovered?.place ?? shown.chosen ?? series.snapshots.length - 1;
  const most = Math.max(1e-9, ...entries.map((entry) => entry.estimates[place]?.value ?? 0));
  return (
    <Panel class="legend" title="Legend" tools={<span class="faint">{shown.off.length > 0 && <button class="link" onClick={() => go({ params: { off: null } })}>all on</button>}</span>}>
      <ul>
        {entries.map((entry) => {
          const value = entry.estimates[place];
          const canDrill = entry.row !== undefined && below(shown, entry.row) !== null;
          return (
            <li key={entry.id} class={`${entry.isOn ? "" : "off"} ${hovered?.band === entry.id ? "pointed" : ""}`}>
              <button
                class="swatch"
                role="switch"
                aria-checked={entry.isOn}
                aria-label={`Show ${entry.label}`}
                title={entry.isOn ? "Hide it in the picture" : "Show it"}
                style={{ background: entry.isOn ? entry.colour : "transparent", borderColor: entry.colour }}
                onClick={() => go({ params: { off: toggled(shown.off, entry.id) } }, { replace: true })}
              />
              <button class="name" disabled={!canDrill} title={entry.label} onClick={() => props.onDrill(entry)}>
                {entry.label}
              </button>
              <span class="value" title={value ? errorOf(value) : ""}>
                <span class="bar" style={{ width: `${(100 * (value?.value ?? 0)) / most}%` }} />
                <span>
                  {entry.grows && <strong class="grows" title={`Grew by ${show(inUnit(entry.of.growth, shown.unit, series.word))} from the first snapshot to the last`}>↗ </strong>}
                  {value ? show(value.value) : ""}
                </span>
              </span>
              {shown.also.includes(entry.id) && (
                <button class="quiet" aria-label={`Take ${entry.label} away`} onClick={() => go({ params: { also: toggled(shown.also, entry.id) } })}>×</button>
              )}
            </li>
          );
        })}
      </ul>
      <p class="faint">
        {series.rows.length} of {series.row_count} by {shown.by}
      </p>
    </Panel>
  );
}
