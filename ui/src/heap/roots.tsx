/** Who holds the memory: kinds of roots, modules and threads, their fields and frames, with three sizes. */
import { useMemo, useState } from "preact/hooks";
import { canAsk, isReport } from "../api/ask";
import { useAnswer } from "../api/use";
import { bytes, count } from "../format";
import { Answered, Panel, Segmented } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { useRoute } from "../state/route";
import type { FirstRoot, RootRow, Roots } from "./answers";
import { Size, TreeCell } from "./parts";

const LEVELS = [
  ["2", "Modules, threads"],
  ["3", "Fields, frames"],
] as const;

interface Line {
  row: RootRow;
  level: number;
  opens: boolean;
  isOpen: boolean;
}

export function RootsTab({ file }: { file: number }) {
  const route = useRoute();
  const depth = route.params.get("depth") === "3" ? "3" : "2";
  const paramsOf = (depth: "2" | "3") => (depth === "3" ? { file, depth: 3, number: 50 } : { file });
  const asked = useAnswer<Roots>("heap/roots", paramsOf(depth));
  const select = (
    <Segmented
      label="Levels"
      options={LEVELS}
      value={depth}
      onChange={(depth) => route.go({ params: { depth: depth === "3" ? depth : null } })}
      disabled={(depth) => !canAsk("heap/roots", paramsOf(depth))}
    />
  );
  return (
    <Panel title="Roots: what holds the memory" tools={select}>
      {!asked.answer && !asked.error && !isReport && <AtFirst file={file} />}
      <Answered asked={asked}>{(roots) => <RootTable roots={roots} command={asked.answer?.command} />}</Answered>
      <p class="faint">
        Reachable: all that can be reached. Retained: what would be free without it. Fair share: its part if each block is divided among
        those that point to it; shares add up to the heap. Shallow: what it points to itself.
      </p>
    </Panel>
  );
}

/** What roots point to, until the complete answer arrives, which takes a while for large heaps. */
function AtFirst({ file }: { file: number }) {
  const asked = useAnswer<FirstRoot>("heap/first-roots", { file });
  const lines = useMemo(() => {
    const found: { row: FirstRoot; level: number }[] = [];
    const add = (row: FirstRoot, level: number) => {
      found.push({ row, level });
      row.rows.forEach((below) => add(below, level + 1));
    };
    if (asked.answer) add(asked.answer.result, 0);
    return found;
  }, [asked.answer]);
  if (lines.length === 0) return null;
  const wait = () => <span class="faint">…</span>;
  const columns: TableColumn<(typeof lines)[number]>[] = [
    {
      title: "Root",
      wide: true,
      cell: ({ row, level }) => (
        <TreeCell level={level} opens={false} isOpen={false} onToggle={() => undefined}>
          <span class="what">{row.name}</span>
        </TreeCell>
      ),
    },
    { title: "Reachable", number: true, cell: wait },
    { title: "Retained", number: true, cell: wait },
    { title: "Fair share", number: true, cell: wait },
    { title: "Shallow", number: true, cell: ({ row }) => bytes(row.shallow) },
  ];
  return <Table title="Roots, at first" columns={columns} rows={lines} id={({ row }) => String(row.node)} keys={false} />;
}

function RootTable({ roots, command }: { roots: Roots; command: string | null | undefined }) {
  const route = useRoute();
  const all = roots.all;
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set());
  const lines = useMemo(() => {
    const found: Line[] = [];
    const add = (row: RootRow, level: number) => {
      const isOpen = !closed.has(row.node);
      found.push({ row, level, opens: row.rows.length > 0, isOpen });
      if (isOpen) row.rows.forEach((below) => add(below, level + 1));
    };
    add(all, 0);
    return found;
  }, [roots, closed]);
  const toggle = ({ row }: Line, open?: boolean) =>
    setClosed((old) => {
      const next = new Set(old);
      if (open ?? next.has(row.node)) next.delete(row.node);
      else next.add(row.node);
      return next;
    });
  const size = (title: string, of: (row: RootRow) => number, help: string): TableColumn<Line> => ({
    title,
    number: true,
    help,
    cell: ({ row }) => <Size of={of(row)} all={all.reachable} />,
    value: ({ row }) => of(row),
    bar: ({ row }) => of(row) / Math.max(1, all.reachable),
  });
  const columns: TableColumn<Line>[] = [
    {
      title: "Root",
      wide: true,
      value: ({ row }) => row.name,
      cell: (line) => (
        <TreeCell level={line.level} opens={line.opens} isOpen={line.isOpen} onToggle={() => toggle(line)}>
          <span class="what">{line.row.name}</span>
          {line.row.left_out.rows > 0 && line.isOpen && line.row.rows.length > 0 && (
            <small class="faint"> and {count(line.row.left_out.rows)} more, which retain {bytes(line.row.left_out.retained)}</small>
          )}
        </TreeCell>
      ),
    },
    size("Reachable", (row) => row.reachable, "Everything reachable from it"),
    size("Retained", (row) => row.retained, "What would be freed without it"),
    size("Fair share", (row) => row.share, "Its share if each block is divided equally among the pointers to it"),
    size("Shallow", (row) => row.shallow, "The blocks that it points to itself"),
  ];
  const node = ({ row }: Line) => `@${row.node}`;
  return (
    <Table
      title="Roots"
      command={command}
      columns={columns}
      rows={lines}
      id={node}
      selected={route.params.get("node") ?? undefined}
      onOpen={(line) => route.go({ params: { node: node(line) } })}
      rowKeys={[
        { key: "ArrowRight", what: "open the row's tree", run: (line) => line.opens && toggle(line, true) },
        { key: "ArrowLeft", what: "close it", run: (line) => line.opens && toggle(line, false) },
        { key: "d", what: "dominators of the row", run: ({ row }) => route.go({ part: "dominators", params: { at: [`@${row.node} ${row.name}`] } }) },
      ]}
      more={roots.unreached_blocks > 0 && `${count(roots.unreached_blocks)} blocks are held by no root.`}
    />
  );
}
