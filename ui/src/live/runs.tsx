/** Runs of a program side by side, if it was restarted while being observed. */
import type { RunRow } from "../api/generated";
import { bytes } from "../format";
import { Table, type TableColumn } from "../parts/table";
import { clock } from "./live";

const size = (title: string, of: (run: RunRow) => number | null, unit = ""): TableColumn<RunRow> => ({
  title,
  cell: (run) => (of(run) === null ? "" : `${bytes(of(run) ?? 0)}${unit}`),
  value: (run) => of(run) ?? 0,
  number: true,
});

const COLUMNS: readonly TableColumn<RunRow>[] = [
  { title: "Run", cell: ({ program }) => `${program.name.split("/").at(-1) || "program"}${program.pid > 0 ? `, process ${program.pid}` : ""}`, wide: true },
  { title: "From", cell: ({ from }) => clock(from), value: ({ from }) => from, number: true },
  { title: "For", cell: ({ from, to }) => clock(to - from), value: ({ from, to }) => to - from, number: true },
  size("Largest heap", (run) => run.largest_heap),
  size("Most alive", (run) => run.largest_live),
  size("Most memory", (run) => run.largest_rss),
  size("Allocated", (run) => run.allocation_rate, "/s"),
];

export function Runs({ runs }: { runs: readonly RunRow[] }) {
  if (runs.length < 2) return null;
  return (
    <section data-testid="runs">
      <Table title="Runs" columns={COLUMNS} rows={runs} id={(run) => String(run.from)} keys={false} />
    </section>
  );
}
