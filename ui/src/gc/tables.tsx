/** The runs, the settings that no other beats, and two programs compared, as tables. */
import type { Answer, AtSame, Cell, Comparison as Compared, MapCell, GcRunRow } from "../api/generated";
import { bytes, count, seconds } from "../format";
import { Estimated, Panel } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { cellOf, isSame, nameOf } from "./setting";
import { change, WHY } from "./telling";

const WORD = 8;

interface TableProps {
  answer: Answer;
  command: string | null;
}

const numberOf = (title: string, of: (row: GcRunRow) => number | null | undefined, show: (value: number) => string, help?: string): TableColumn<GcRunRow> => ({
  title,
  cell: (row) => {
    const value = of(row);
    return value === null || value === undefined ? "" : show(value);
  },
  value: (row) => of(row) ?? "",
  number: true,
  ...(help ? { help } : {}),
});

function runColumns(runs: readonly GcRunRow[]): TableColumn<GcRunRow>[] {
  const most = (of: (row: GcRunRow) => number) => Math.max(...runs.map(of)) || 1;
  const [time, memory] = [most((run) => run.time), most((run) => run.rss)];
  const hasPauses = runs.some((run) => run.pauses !== null);
  const hasPredictions = runs.some((run) => run.predicted !== null);
  const fails = runs.some((run) => run.status !== "exit status: 0");
  return [
    { title: "Setting", cell: (run) => <code>{nameOf(run.setting)}</code>, value: (run) => nameOf(run.setting) },
    { title: "Time", cell: (run) => <Estimated of={run.time_interval} show={seconds} />, value: (run) => run.time, number: true, bar: (run) => run.time / time, help: "with its 95 % interval" },
    { title: "Memory", cell: (run) => <Estimated of={run.rss_interval} />, value: (run) => run.rss, number: true, bar: (run) => run.rss / memory, help: "the peak of resident memory, with its 95 % interval" },
    ...(hasPredictions
      ? [
          { title: "Predicted", cell: (run: GcRunRow) => run.predicted && <Predicted cell={run.predicted} isRight={run.as_predicted} />, value: (run: GcRunRow) => run.predicted?.time.value ?? "", help: "before the run" },
        ]
      : []),
    numberOf("Promoted", (run) => run.promoted_words && run.promoted_words * WORD, bytes),
    numberOf("Minor", (run) => run.minor_collections, count, "minor collections"),
    numberOf("Major", (run) => run.major_collections, count, "complete major cycles"),
    ...(hasPauses
      ? [
          numberOf("p99", (run) => run.pauses?.p99, seconds, "99 of 100 pauses are shorter"),
          numberOf("Longest", (run) => run.pauses?.longest, seconds, "the longest pause"),
        ]
      : []),
    ...(fails ? [{ title: "Ended with", cell: (run: GcRunRow) => run.status, value: (run: GcRunRow) => run.status }] : []),
    { title: "For", cell: (run) => WHY[run.why], value: (run) => WHY[run.why] },
  ];
}

function Predicted({ cell, isRight }: { cell: Cell; isRight: boolean | null }) {
  return (
    <>
      {seconds(cell.time.value)}, {bytes(cell.rss.value)} <small class={isRight ? "faint" : "gc-off"}>{isRight ? "as predicted" : "off"}</small>
    </>
  );
}

export function Runs({ answer, command, shown, select }: TableProps & { shown: MapCell | null; select: (cell: MapCell) => void }) {
  const { runs, map } = answer;
  const id = (run: GcRunRow, at: number) => `${nameOf(run.setting)} ${run.time} ${at}`;
  const open = (run: GcRunRow) => {
    const cell = cellOf(map, run.setting);
    if (cell) select(cell);
  };
  const at = runs.findIndex((run) => isSame(run.setting, shown?.setting));
  const selected = runs[at];
  return (
    <Panel title="Runs" class="gc-runs">
      <Table title="Runs" columns={runColumns(runs)} rows={runs} id={id} onOpen={open} selected={selected && id(selected, at)} command={command} />
    </Panel>
  );
}

/** More settings of a front than this say nothing more. */
const MOST_OF_FRONT = 200;

export function FrontTable({ answer, command }: TableProps) {
  const rows = answer.front.slice(0, MOST_OF_FRONT);
  return (
    <details class="panel">
      <summary>What nothing beats in both time and memory</summary>
      <Table
        title="What nothing beats in both time and memory"
        keys={false}
        rows={rows}
        id={(cell) => nameOf(cell.setting)}
        command={command}
        columns={[
          { title: "Setting", cell: (cell) => <code>{nameOf(cell.setting)}</code>, value: (cell) => nameOf(cell.setting), wide: true },
          { title: "Memory", cell: (cell) => <Estimated of={cell.rss} />, value: (cell) => cell.rss.value, number: true },
          { title: "Time", cell: (cell) => <Estimated of={cell.time} show={seconds} />, value: (cell) => cell.time.value, number: true },
          { title: "Source", cell: (cell) => (cell.measured ? "a run" : "the model"), value: (cell) => (cell.measured ? "a run" : "the model") },
        ]}
      />
    </details>
  );
}

interface SameProps {
  title: string;
  rows: readonly AtSame[];
  /** Both programs. */
  names: readonly [string, string];
  /** What a program does with its bound: it needs bytes, it takes seconds. */
  verb: string;
  bound: (value: number) => string;
  show: (value: number) => string;
  command: string | null;
}

function Same({ title, rows, names, verb, bound, show, command }: SameProps) {
  const need = (at: 0 | 1): TableColumn<AtSame> => ({
    title: names[at],
    cell: (row) => {
      const it = row.needs[at];
      return it ? <><Estimated of={it.number} show={show} /> <small class="faint">{nameOf(it.setting)}</small></> : "impossible";
    },
    value: (row) => row.needs[at]?.number.value ?? "",
    number: true,
  });
  return (
    <Panel title={title}>
      <Table
        title={title}
        keys={false}
        rows={rows}
        id={(row) => row.of}
        command={command}
        columns={[
          { title: "At most", cell: (row) => <>{bound(row.bound)}, what {row.of.replace(" at present", "")} {verb} now</>, value: (row) => row.bound, wide: true },
          need(0),
          need(1),
          { title: "Second to first", cell: (row) => (row.factor === null ? "" : change(row.factor)), value: (row) => row.factor ?? "", number: true },
        ]}
      />
    </Panel>
  );
}

export function Comparison({ comparison, names, command }: { comparison: Compared; names: readonly string[]; command: string | null }) {
  const both = [`First: ${names[0] ?? ""}`, `Second: ${names[1] ?? ""}`] as const;
  return (
    <>
      <Same title="Time in the same memory" rows={comparison.at_same_memory} names={both} verb="needs" bound={bytes} show={seconds} command={command} />
      <Same title="Memory in the same time" rows={comparison.at_same_time} names={both} verb="takes" bound={seconds} show={bytes} command={command} />
    </>
  );
}
