/** The numbers of the picture as a table, with one column for each snapshot. */
import { useMemo } from "preact/hooks";
import { seconds } from "../format";
import { Estimated, Panel } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { useRoute } from "../state/route";
import type { Entry } from "./legend";
import { below, inUnit, namesOf, showIn, type Series, type Shown } from "./series";

/** Nobody reads more columns: beyond it, the first, some middle and the last ones are shown. The CSV has all. */
const COLUMNS = 24;

export function Numbers(props: { entries: readonly Entry[]; series: Series; shown: Shown; command: string | null | undefined; onDrill: (entry: Entry) => void }) {
  const { entries, series, shown } = props;
  const { go } = useRoute();
  const show = showIn(shown.unit);
  const names = namesOf(series.snapshots);
  const step = Math.max(1, Math.ceil(names.length / COLUMNS));
  const places = names.map((_, at) => at).filter((at) => at % step === 0 || at === names.length - 1);
  const signed = (value: number) => `${value > 0 ? "+" : ""}${show(value)}`;
  const rows = useMemo(() => [...entries], [entries]);
  const columns: TableColumn<Entry>[] = [
    {
      title: shown.by,
      cell: (entry) => (
        <span class="row-name" title={entry.label}>
          <span class="swatch" style={{ background: entry.colour }} /> {entry.label}
        </span>
      ),
      value: (entry) => entry.label,
    },
    { title: "average", cell: (entry) => show(inUnit(entry.of.average, shown.unit, series.word)), value: (entry) => entry.of.average, number: true },
    {
      title: "growth",
      cell: (entry) => <span class={entry.of.growth > 0 ? "grows" : ""}>{signed(inUnit(entry.of.growth, shown.unit, series.word))}{entry.of.grows_always ? " ↗" : ""}</span>,
      value: (entry) => entry.of.growth,
      number: true,
      help: "From the first snapshot to the last; ↗ marks growth in every step",
    },
    ...places.map(
      (at): TableColumn<Entry> => ({
        title: names[at]?.[0] ?? "",
        cell: (entry) => {
          const value = entry.estimates[at];
          return value ? <Estimated of={value} show={show} /> : "";
        },
        value: (entry) => entry.estimates[at]?.value ?? 0,
        number: true,
        help: `taken at ${names[at]?.[1] ?? ""}`,
      }),
    ),
  ];
  const rate = series.all.rate;
  return (
    <Panel
      title="Numbers"
      tools={
        <span class="faint">
          {rate !== null && shown.unit !== "blocks" && `${signed(inUnit(rate, shown.unit, series.word))} in a second, by least squares over ${seconds((series.snapshots.at(-1)?.taken ?? 0) - (series.snapshots[0]?.taken ?? 0))}`}
        </span>
      }
    >
      <div class="numbers">
        <Table
          columns={columns}
          rows={rows}
          id={(entry) => entry.id}
          title={`numbers by ${shown.by}`}
          command={props.command}
          onOpen={(entry) => entry.row && below(shown, entry.row) && props.onDrill(entry)}
          more={
            series.row_count > series.rows.length ? (
              <button class="link" onClick={() => go({ params: { n: String(Math.min(60, shown.number + 10)) } }, { replace: true })}>
                {series.row_count - series.rows.length} others are one row: show more
              </button>
            ) : undefined
          }
        />
      </div>
    </Panel>
  );
}
