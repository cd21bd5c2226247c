/** Two snapshots compared: who holds more, which classes grew and shrank, and which of their blocks are new or gone. */
import { useWindow, type RowWindow } from "../api/window";
import { bytes, count } from "../format";
import { Answered, Panel, Select } from "../parts/controls";
import { orderIn, Table, type TableColumn } from "../parts/table";
import { useKeys } from "../state/keys";
import { useRoute } from "../state/route";
import type { ClassChange, HeapDiff } from "./answers";
import { CompareFlame } from "./compare-flame";
import type { TabProps } from "./parts";

export function CompareTab({ file, files }: TabProps) {
  const route = useRoute();
  const others = files.flatMap(({ kind, name }, at) => (kind === "snapshot" && at !== file ? [{ at, name }] : []));
  // By default with the first, where the growth started.
  const other = others.find(({ at }) => String(at) === route.params.get("with")) ?? others[0];
  if (!other) return <p class="faint">There is only one snapshot.</p>;
  return <Compared file={file} other={other.at} files={files} others={others} />;
}

function Compared({ file, other, files, others }: TabProps & { other: number; others: readonly { at: number; name: string }[] }) {
  const route = useRoute();
  // The server sorts snapshots of a process by time: the first one is before.
  const isSwapped = route.params.has("swapped");
  const [first, second] = [Math.min(file, other), Math.max(file, other)];
  const [before, after] = isSwapped ? [second, first] : [first, second];
  const sort = route.params.get("sort") ?? undefined;
  const params = { files: [String(first), String(second)], sort, reverse: route.params.has("reverse"), search: route.params.get("q") || undefined };
  const { asked, window } = useWindow<HeapDiff, ClassChange>("heap/diff", params, ({ diff, row_count }) => ({ rows: diff.rows, row_count }));
  const swap = () => route.go({ params: { swapped: isSwapped ? null : "" } });
  useKeys([{ key: "v", what: "swap before and after", run: swap }]);
  const tools = (
    <>
      <Select label="with: " options={others.map(({ at, name }) => [String(at), name] as const)} value={String(other)} onChange={(to) => route.go({ params: { with: to, at: null, frame: null } })} />
      <span class="faint">before: <b>{files[before]?.name}</b>, after: <b>{files[after]?.name}</b></span>
      <button onClick={swap} title="Swap before and after (v)">⇄ Swap</button>
    </>
  );
  return (
    <>
      <CompareFlame files={[first, second]} isSwapped={isSwapped} tools={tools} />
      <Panel title="What changed, by type">
        <Answered asked={asked}>{({ diff }) => <Changes diff={diff} window={window} sign={isSwapped ? -1 : 1} command={asked.answer?.command} />}</Answered>
      </Panel>
    </>
  );
}

function Changes({ diff, window, sign, command }: { diff: HeapDiff["diff"]; window: RowWindow<ClassChange>; sign: 1 | -1; command: string | null | undefined }) {
  const route = useRoute();
  const at = (row: ClassChange, end: "before" | "after") => ((end === "before") === (sign === 1) ? row.bytes[0] : row.bytes[row.bytes.length - 1]) ?? 0;
  const most = Math.max(1, ...window.rows.map((row) => Math.abs(row.change)));
  const counted = (some: ClassChange["new"]) => (some ? `${count(some.blocks)} (${bytes(some.bytes)})` : "");
  const [came, went] = sign === 1 ? (["new", "gone"] as const) : (["gone", "new"] as const);
  const columns: TableColumn<ClassChange>[] = [
    { title: "Type", wide: true, order: "name", value: (row) => row.class, cell: (row) => <span class="what">{row.class}</span> },
    { title: "Before", number: true, value: (row) => at(row, "before"), cell: (row) => bytes(at(row, "before")) },
    { title: "After", ...(sign === 1 ? { order: "last" } : {}), number: true, value: (row) => at(row, "after"), cell: (row) => bytes(at(row, "after")) },
    { title: "Change", order: "change", number: true, value: (row) => sign * row.change, cell: (row) => <Change of={sign * row.change} most={most} /> },
    ...(diff.not_matched === null
      ? [
          { title: "New", number: true, help: "Blocks only in the later snapshot", value: (row: ClassChange) => row[came]?.bytes ?? 0, cell: (row: ClassChange) => counted(row[came]) },
          { title: "Gone", number: true, help: "Blocks only in the earlier snapshot", value: (row: ClassChange) => row[went]?.bytes ?? 0, cell: (row: ClassChange) => counted(row[went]) },
        ]
      : []),
  ];
  return (
    <>
      <p>
        {bytes(at(diff.all, "before"))} before, {bytes(at(diff.all, "after"))} after: <Change of={sign * diff.all.change} />.
        {diff.not_matched !== null && <span class="faint"> New and gone blocks cannot be determined: {diff.not_matched}.</span>}
      </p>
      <Table
        title="What changed, by type"
        command={command}
        columns={columns}
        rows={window.rows}
        window={window}
        order={orderIn(route.params, "change")}
        id={(row) => row.class}
        keys={false}
        onOpen={(row) => route.go({ part: "paths", fresh: true, params: { what: row.class.split(" (")[0] ?? row.class } })}
      />
    </>
  );
}

/** Red is more, blue is less, as in differential flame graphs. */
function Change({ of, most }: { of: number; most?: number }) {
  return (
    <span class={`changed ${of > 0 ? "more" : of < 0 ? "less" : ""}`}>
      {most !== undefined && <i style={{ width: `${(Math.abs(of) / most) * 5}rem` }} aria-hidden="true" />}
      {of > 0 ? "+" : ""}{bytes(of)}
    </span>
  );
}
