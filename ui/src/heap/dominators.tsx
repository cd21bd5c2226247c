/** The dominator tree, as an expandable table, an icicle, or a treemap. */
import { useMemo, useState } from "preact/hooks";
import { ask, canAsk, type Params } from "../api/ask";
import { useAnswer } from "../api/use";
import { bytes, count, percent } from "../format";
import { Answered, Panel, Segmented, Toggle } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { TreePicture, type TreeItem } from "../pictures/tree_picture";
import { linkTo, useRoute } from "../state/route";
import type { DominatorRow, DominatorTree } from "./answers";
import { Size, TreeCell } from "./parts";
import { colourName, counted, mergedRow, moved, nodeOf, rowAt, stepOf, stepsTo, titleOf, treeParams } from "./tree";

const WAYS = [
  ["table", "Table"],
  ["icicle", "Icicle"],
  ["treemap", "Treemap"],
] as const;
type Way = (typeof WAYS)[number][0];

export function DominatorsTab({ file }: { file: number }) {
  const route = useRoute();
  const at = route.params.getAll("at");
  const blocks = route.params.has("blocks");
  const as: Way = WAYS.find(([way]) => way === route.params.get("as"))?.[0] ?? "table";
  const asked = useAnswer<DominatorTree>("heap/dominators", treeParams(file, at, blocks));
  const tools = (
    <>
      <Toggle label="Each block separately" on={blocks} onChange={(on) => route.go({ params: { blocks: on ? "" : null, at: at.filter(nodeOf) } })} />
      <Segmented label="Shown as" options={WAYS} value={as} onChange={(as) => route.go({ params: { as: as === "table" ? null : as } })} />
    </>
  );
  const go = (at: readonly string[]) => route.go({ params: { at } });
  return (
    <Panel title="Dominator tree" tools={tools}>
      <Crumbs at={at} />
      <Answered asked={asked}>
        {(tree) => {
          const top = tree.rows[0];
          if (!top) return <p class="faint">Nothing is reachable.</p>;
          const command = asked.answer?.command;
          return as === "table" ? (
            <TreeTable key={`${file} ${at.join("\n")} ${blocks}`} file={file} tree={tree} at={at} blocks={blocks} command={command} onGo={go} />
          ) : (
            <Pictured key={`${file} ${at.join("\n")} ${blocks}`} tree={tree} at={at} blocks={blocks} as={as} file={file} command={command} onGo={go} />
          );
        }}
      </Answered>
    </Panel>
  );
}

/** The path to the current row; each step leads back. */
function Crumbs({ at }: { at: readonly string[] }) {
  const route = useRoute();
  const steps = ["all roots", ...at];
  return (
    <nav class="crumbs" aria-label="Way down">
      {steps.map((step, place) => {
        const title = place === 0 ? step : titleOf(step);
        const isLast = place === steps.length - 1;
        return (
          <span key={place}>
            {place > 0 && <span class="faint"> › </span>}
            {isLast ? <strong>{title}</strong> : <a href={linkTo(route, { params: { at: at.slice(0, place) } })}>{title}</a>}
          </span>
        );
      })}
    </nav>
  );
}

interface Line {
  row: DominatorRow;
  /** The steps from the table's top. */
  steps: string[];
  level: number;
  isOpen: boolean;
  /** Instead of a row: how many rows below the one above are not shown. */
  more?: { rows: number; retained: number };
}

interface TreeProps {
  file: number;
  tree: DominatorTree;
  at: readonly string[];
  blocks: boolean;
  command: string | null | undefined;
  onGo: (at: readonly string[]) => void;
}

function TreeTable({ file, tree, at, blocks, command, onGo }: TreeProps) {
  const route = useRoute();
  const [top] = tree.rows;
  const key = (steps: readonly string[]) => steps.join("\n");
  // What is open, and what was requested since.
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(openAtFirst(top).map(key)));
  const [asked, setAsked] = useState<ReadonlyMap<string, DominatorRow>>(new Map());
  const [errors, setErrors] = useState<ReadonlyMap<string, string>>(new Map());
  const whole = (steps: readonly string[]): string[] => [...at, ...steps];
  const load = (steps: readonly string[], known: DominatorRow, all: boolean) => {
    const params: Params = treeParams(file, whole(steps), blocks, all);
    ask<DominatorTree>("heap/dominators", params).then(
      ({ result }) => setAsked((old) => (result.rows[0] ? new Map(old).set(key(steps), mergedRow(known, result.rows[0])) : old)),
      (error: unknown) => setErrors((old) => new Map(old).set(key(steps), error instanceof Error ? error.message : String(error))),
    );
  };
  const lines = useMemo(() => {
    const found: Line[] = [];
    const add = (row: DominatorRow, steps: string[], level: number) => {
      const now = asked.get(key(steps)) ?? row;
      const isOpen = open.has(key(steps));
      found.push({ row: now, steps, level, isOpen });
      if (!isOpen) return;
      now.rows.forEach((below) => add(below, [...steps, stepOf(below)], level + 1));
      if (now.left_out.rows > 0) found.push({ row: now, steps: [...steps, ""], level: level + 1, isOpen: false, more: now.left_out });
    };
    if (top) add(top, [], 0);
    return found;
  }, [tree, open, asked]);
  const opens = (line: Line) => !line.more && (line.row.rows.length > 0 || line.row.left_out.rows > 0);
  const toggle = (line: Line, to?: boolean) => {
    if (line.more) return load(line.steps.slice(0, -1), line.row, true);
    const isOpen = to ?? !line.isOpen;
    setOpen((old) => {
      const next = new Set(old);
      if (isOpen) next.add(key(line.steps));
      else next.delete(key(line.steps));
      return next;
    });
    // Deeper than the answers so far.
    if (isOpen && line.row.rows.length === 0 && line.row.left_out.rows > 0) load(line.steps, line.row, false);
  };
  const columns: TableColumn<Line>[] = [
    {
      title: "What",
      wide: true,
      value: ({ row, more }) => (more ? `${more.rows} more` : row.what),
      cell: (line) => (
        <TreeCell level={line.level} opens={opens(line)} isOpen={line.isOpen} onToggle={() => toggle(line)}>
          {line.more ? (
            <MoreRows line={line} error={errors.get(key(line.steps.slice(0, -1)))} />
          ) : (
            <>
              <span class="what">{line.row.what}</span>
              {line.row.node !== null && <small class="faint number-of"> @{line.row.node}</small>}
            </>
          )}
        </TreeCell>
      ),
    },
    {
      title: "Retained",
      number: true,
      help: "What would be freed without it, including itself",
      value: ({ row, more }) => (more ?? row).retained,
      cell: ({ row, more }) => <Size of={(more ?? row).retained} all={tree.total} />,
      bar: ({ row, more }) => (more ?? row).retained / Math.max(1, tree.total),
    },
    {
      title: "Shallow",
      number: true,
      help: "Its own bytes",
      value: ({ row, more }) => (more ? 0 : row.shallow),
      cell: ({ row, more }) => (more || row.objects === 0 ? "" : bytes(row.shallow)),
    },
    { title: "Blocks", number: true, value: ({ row, more }) => (more ? 0 : row.objects), cell: ({ row, more }) => (more || row.objects === 0 ? "" : count(row.objects)) },
  ];
  const node = ({ row, more }: Line) => (more || row.node === null ? null : `@${row.node}`);
  return (
    <Table
      title="Dominators"
      command={command}
      columns={columns}
      rows={lines}
      id={(line) => key(line.steps) || "top"}
      onOpen={(line) => {
        const number = node(line);
        if (number && !blocks && line.level > 0 && line.row.objects === 0) route.go({ params: { node: number } });
        else if (number && blocks) route.go({ params: { node: number } });
        else toggle(line);
      }}
      rowKeys={[
        { key: "ArrowRight", what: "expand the row", run: (line) => opens(line) && toggle(line, true) },
        { key: "ArrowLeft", what: "close it", run: (line) => opens(line) && toggle(line, false) },
        { key: "f", what: "start from the row", run: (line) => !line.more && onGo(whole(line.steps)) },
        { key: "i", what: "show the block or root", run: (line) => node(line) && route.go({ params: { node: node(line) } }) },
        { key: "Backspace", what: "go up again", run: () => onGo(at.slice(0, -1)) },
      ]}
    />
  );
}

/** The path along which most of the retained size is in a single row, which users would open anyway. */
function openAtFirst(top: DominatorRow | undefined): string[][] {
  const open: string[][] = [[]];
  let row = top;
  for (let steps: string[] = []; row && open.length < 8; ) {
    const [largest] = row.rows;
    if (!largest || largest.retained < row.retained / 2) break;
    steps = [...steps, stepOf(largest)];
    open.push(steps);
    row = largest;
  }
  return open;
}

function MoreRows({ line, error }: { line: Line; error: string | undefined }) {
  if (error) return <span class="error">{error}</span>;
  const { rows } = line.more ?? { rows: 0 };
  return <span class="faint">… {count(rows)} {line.row.rows.length > 0 ? "more" : rows === 1 ? "row" : "rows"}</span>;
}

function Pictured({ file, tree, at, blocks, as, command, onGo }: TreeProps & { as: "icicle" | "treemap" }) {
  const route = useRoute();
  const [path, setPath] = useState<number[]>([]);
  const [top] = tree.rows;
  const item = useMemo(() => top && itemOf(top), [tree]);
  if (!top || !item) return null;
  const descend = (path: readonly number[]) => {
    // The rest of a row is shown by starting at the row.
    const row = path.at(-1) === -1 ? path.slice(0, -1) : path;
    if (row.length === 0) return at.length > 0 && path.length === 0 ? onGo(at.slice(0, -1)) : undefined;
    const next = [...at, ...stepsTo(top, row)];
    const found = rowAt(top, row);
    const isLeaf = found !== null && found.rows.length === 0 && found.left_out.rows === 0;
    if (isLeaf || !canAsk("heap/dominators", treeParams(file, next, blocks))) return setPath([...row]);
    onGo(next);
  };
  return (
    <TreePicture
      title="Dominators"
      command={command}
      top={item}
      as={as}
      path={path}
      onMove={setPath}
      move={(path, key) => moved(top, path, key)}
      onDescend={descend}
      onAscend={() => onGo(at.slice(0, -1))}
      onInspect={(path) => {
        const node = rowAt(top, path)?.node;
        if (node !== null && node !== undefined) route.go({ params: { node: `@${node}` } });
      }}
    />
  );
}

function itemOf(row: DominatorRow): TreeItem {
  const blocks = row.objects > 0 ? `, ${counted(row.objects, "block")} of ${bytes(row.shallow)}` : "";
  const number = row.node === null ? "" : `@${row.node} `;
  return {
    name: row.what,
    colour: colourName(row.what),
    note: bytes(row.retained),
    title: `${number}${row.what}: ${bytes(row.retained)}, ${percent(row.share)} of the heap${blocks}`,
    size: row.retained,
    children: row.rows.map(itemOf),
    rest: row.left_out.retained,
    restName: `… ${count(row.left_out.rows)} more, ${bytes(row.left_out.retained)}`,
  };
}
