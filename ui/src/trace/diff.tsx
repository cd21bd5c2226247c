/** Two traces compared: a differential flame graph, and a table with significant changes marked. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { isReport } from "../api/ask";
import { useKeys } from "../state/keys";
import { useAnswer } from "../api/use";
import { useWindow, type RowWindow } from "../api/window";
import type { ShownFile } from "../api/files";
import { Answered, Panel, Segmented, Select, Toggle } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { errorOf, percent } from "../format";
import { findById, layOut } from "../pictures/flame-layout";
import type { Change, Diff, DiffRow, Flame } from "./answers";
import { patternOf } from "./filters";
import { FlameGraph } from "./flame-part";
import { comparedOf, questionOf, type TraceShown } from "./questions";
import { Named, useRowColours } from "./tables";
import { inFull, placeOf, shortOf, wordsOf } from "./telling";
import type { Measure } from "./answers";

/** The other traces with which this one can be compared. */
export function othersOf(file: number, files: readonly ShownFile[]): Other[] {
  return files.flatMap(({ kind, name }, at) => (kind === "trace" && at !== file ? [{ at, name }] : []));
}

export function DiffPart({ trace, files }: { trace: TraceShown; files: readonly ShownFile[] }) {
  const others = othersOf(trace.file, files);
  const known = others.find(({ at }) => String(at) === trace.params.get("with")) ?? others[0];
  if (!known) return <p class="faint">There is only one trace: `bactrian view` with two compares them.</p>;
  return <Compared trace={trace} files={files} others={others} known={known} />;
}

interface Other {
  at: number;
  name: string;
}

function Compared({ trace, files, others, known }: { trace: TraceShown; files: readonly ShownFile[]; others: Other[]; known: Other }) {
  const params = new URLSearchParams(trace.params);
  params.set("with", String(known.at));
  const asking = { ...trace, params };
  const [, question] = questionOf(asking);
  const { before, after } = comparedOf(asking);
  const { search: _, sort: __, reverse: ___, ...flameQuestion } = question;
  const { asked: diff, window } = useWindow<Diff, DiffRow>("trace/diff", question, (answer) => answer);
  const flame = useAnswer<Flame>("trace/diff-flame", flameQuestion);
  useKeys([{ key: "v", what: "swap before and after", run: () => trace.set({ swapped: params.has("swapped") ? null : "", at: null }) }]);
  const tools = (
    <>
      <Select
        label="with: "
        options={others.map(({ at, name }) => [String(at), name] as const)}
        value={String(known.at)}
        onChange={(to) => trace.set({ with: to, at: null })}
      />
      <span class="faint">before: <b>{files[before]?.name}</b>, after: <b>{files[after]?.name}</b></span>
      <button onClick={() => trace.set({ swapped: params.has("swapped") ? null : "", at: null })} title="Swap before and after (v)">⇄ Swap</button>
      <Segmented
        label="Rows and frames"
        options={[["function", "Functions"], ["site", "Sites"], ["module", "Modules"]]}
        value={(["site", "module"] as const).find((by) => by === trace.by) ?? "function"}
        onChange={(by) => trace.set({ by: by === "function" ? null : by, at: null })}
        disabled={(by) => !trace.can({ by, params })}
      />
      <Toggle label="by share" on={trace.params.has("shares")} onChange={(on) => trace.set({ shares: on ? "" : null })} />
      <Toggle label="as wide as before" on={trace.params.has("width-before")} onChange={(on) => trace.set({ "width-before": on ? "" : null })} />
    </>
  );
  return (
    <>
      <Panel class="flame-panel">
        <Answered asked={flame}>
          {(result) => <DiffFlame trace={trace} flame={result} command={flame.answer?.command ?? null} tools={tools} />}
        </Answered>
      </Panel>
      <Panel title="Rows, largest change first">
        <Answered asked={diff}>{(result) => <DiffTable trace={trace} diff={result} window={window} command={diff.answer?.command} />}</Answered>
      </Panel>
    </>
  );
}

function DiffFlame({ trace, flame, command, tools }: { trace: TraceShown; flame: Flame; command: string | null; tools: ComponentChildren }) {
  const isBefore = trace.params.has("width-before");
  const layout = useMemo(() => layOut(flame, isBefore ? flame.before : flame.total), [flame, isBefore]);
  const at = trace.params.get("at");
  const root = at === null ? 0 : Math.max(0, findById(layout, at));
  return <FlameGraph trace={trace} flame={flame} command={command} layout={layout} root={root} before={[]} tools={tools} isChange />;
}

function DiffTable({ trace, diff, window, command }: { trace: TraceShown; diff: Diff; window: RowWindow<DiffRow>; command: string | null | undefined }) {
  const colours = useRowColours(window.rows);
  const show = shortOf(diff.measure);
  const most = Math.max(1, ...window.rows.map((row) => Math.abs(row.self.change.value)));
  const columns: TableColumn<DiffRow>[] = [
    { title: diff.by, wide: true, cell: (row) => <Named label={row} colours={colours} hasPlace={diff.by === "site"} />, value: (row) => `${row.name} ${placeOf(row)}`.trim(), order: "name" },
    { title: "before", order: "before", number: true, cell: (row) => show(row.self.before.value), value: (row) => row.self.before.value },
    { title: "after", order: "after", number: true, cell: (row) => show(row.self.after.value), value: (row) => row.self.after.value },
    { title: "change", order: "self", number: true, cell: (row) => <Changed of={row.self} measure={diff.measure} most={most} />, value: (row) => row.self.change.value },
    { title: "total change", order: "total", number: true, cell: (row) => <Changed of={row.total} measure={diff.measure} />, value: (row) => row.total.change.value },
    {
      title: "sure",
      order: "significant",
      number: true,
      help: "Significant: of the rows that are marked, at most 5 in 100 are expected to have changed by chance",
      cell: (row) => (row.self.significant ? <span title="more than chance" class="sure">● sure</span> : <span class="faint" title="could be chance">○</span>),
      value: (row) => (row.self.significant ? 1 : 0),
    },
  ];
  return (
    <>
      <p data-testid="diff-all">
        {show(diff.all.before.value)} before, {show(diff.all.after.value)} after ({wordsOf(diff.measure)}):{" "}
        <Changed of={diff.all} measure={diff.measure} />. {diff.significant} of {diff.row_count} rows changed by more than chance.
      </p>
      <Table
        columns={columns}
        rows={window.rows}
        window={window}
        order={trace.order("significant")}
        id={(row, at) => `${row.name} ${placeOf(row)} ${at}`}
        onOpen={isReport ? undefined : (row) => trace.focusOn(patternOf(row.name))}
        title={`change by ${diff.by}`}
        command={command}
        keys={false}
      />
    </>
  );
}

/** A change with its sign, its error, and a bar in its colour. */
function Changed({ of, measure, most }: { of: Change; measure: Measure; most?: number }) {
  const { value, low, high } = of.change;
  const share = of.before.value > 0 ? ` (${value >= 0 ? "+" : ""}${percent(value / of.before.value)})` : value > 0 ? " (new)" : "";
  const error = errorOf(of.change);
  const told = (
    <>
      {value >= 0 ? "+" : ""}
      {shortOf(measure)(value)}
      {error && <small class="faint"> {error}</small>}
    </>
  );
  return (
    <span
      class={`changed ${value > 0 ? "more" : value < 0 ? "less" : ""} ${of.significant ? "" : "unsure"}`}
      title={`${inFull(value, measure)}, between ${inFull(low, measure)} and ${inFull(high, measure)}${share}`}
    >
      {most !== undefined && <i style={{ width: `${(Math.abs(value) / most) * 5}rem` }} aria-hidden="true" />}
      {most === undefined ? told : <b>{told}</b>}
    </span>
  );
}
