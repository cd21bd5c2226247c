/** Lifetimes and sizes of objects: a row for each site, shaded by the share of each class. */
import { isReport } from "../api/ask";
import { useWindow, type RowWindow } from "../api/window";
import { Answered, Estimated, Panel, Segmented } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { bytes, grouped, percent, seconds, type Estimate } from "../format";
import type { LifetimeRow, Lifetimes } from "./answers";
import { added, moduleFilter, patternOf } from "./filters";
import { questionOf, type TraceShown } from "./questions";
import { placeOfLabel } from "./source";
import { Named, useRowColours } from "./tables";
import { placeOf } from "./telling";

const KINDS = [
  ["site", "Sites"],
  ["function", "Functions"],
  ["module", "Modules"],
] as const;

export function LifetimesPart({ trace }: { trace: TraceShown }) {
  const { asked, window } = useWindow<Lifetimes, LifetimeRow>(...questionOf(trace), (lifetimes) => lifetimes);
  const isSizes = trace.params.get("classes") === "sizes";
  const tools = (
    <>
      <Segmented
        label="Rows"
        options={KINDS}
        value={KINDS.find(([id]) => id === trace.by)?.[0] ?? "site"}
        onChange={(by) => trace.set({ by: by === "site" ? null : by })}
        disabled={(by) => !trace.can({ by })}
      />
      <Segmented
        label="Classes"
        options={[["lifetimes", "Lifetimes"], ["sizes", "Sizes"]]}
        value={isSizes ? "sizes" : "lifetimes"}
        onChange={(to) => trace.set({ classes: to === "sizes" ? to : null })}
      />
    </>
  );
  return (
    <Panel title={isSizes ? "Sizes of objects" : "Lifetimes of objects"} tools={tools}>
      <Answered asked={asked}>
        {(lifetimes) => <HeatTable trace={trace} lifetimes={lifetimes} window={window} isSizes={isSizes} command={asked.answer?.command} />}
      </Answered>
    </Panel>
  );
}

interface HeatClass {
  title: string;
  help: string;
  of: (row: LifetimeRow) => Estimate;
  /** The filter for this class. */
  filter: readonly [name: string, value: string] | null;
}

/** The columns of lifetimes: up to each bound, longer than all, never collected. */
export function lifetimeClasses(ends: readonly number[]): HeatClass[] {
  const none = { value: 0, low: 0, high: 0 };
  const of = (at: number) => (row: LifetimeRow) => row.lifetimes[at] ?? none;
  const classes: HeatClass[] = ends.map((end, at) => ({
    title: `≤ ${seconds(end)}`,
    help: at === 0 ? `up to ${seconds(end)}` : `from ${seconds(ends[at - 1] ?? 0)} to ${seconds(end)}`,
    of: of(at),
    filter: ["lifetime", `${at === 0 ? "" : `${ends[at - 1] ?? 0}s`}..${end}s`],
  }));
  const last = ends.at(-1) ?? 0;
  classes.push({ title: "longer", help: `more than ${seconds(last)}`, of: of(ends.length), filter: ["lifetime", `${last}s..`] });
  classes.push({ title: "never", help: "not collected before the trace ends", of: (row) => row.never, filter: ["never-collected", ""] });
  return classes;
}

/** The columns of sizes, in words. */
function sizeClasses(ends: readonly number[]): HeatClass[] {
  const none = { value: 0, low: 0, high: 0 };
  const of = (at: number) => (row: LifetimeRow) => row.sizes[at] ?? none;
  const words = (n: number) => `${grouped(n)} words`;
  const classes: HeatClass[] = ends.map((end, at) => ({ title: `≤ ${words(end)}`, help: `up to ${words(end)}`, of: of(at), filter: null }));
  classes.push({ title: "more", help: `more than ${words(ends.at(-1) ?? 0)}`, of: of(ends.length), filter: null });
  return classes;
}

function HeatTable(props: { trace: TraceShown; lifetimes: Lifetimes; window: RowWindow<LifetimeRow>; isSizes: boolean; command: string | null | undefined }) {
  const { trace, lifetimes, window, isSizes, command } = props;
  const colours = useRowColours(window.rows);
  const all = isSizes ? sizeClasses(lifetimes.size_classes) : lifetimeClasses(lifetimes.lifetime_classes);
  // Empty classes would only waste space.
  const classes = all.filter((one) => one.of(lifetimes.all).value > 0);
  const rows = [lifetimes.all, ...window.rows];
  const columns: TableColumn<LifetimeRow>[] = [
    {
      title: lifetimes.by,
      wide: true,
      cell: (row) => (row === lifetimes.all ? <b>all</b> : <Named label={row} colours={colours} hasPlace={lifetimes.by === "site"} />),
      value: (row) => (row === lifetimes.all ? "" : `${row.name} ${placeOf(row)}`.trim()),
      order: "name",
    },
    { title: "allocated", order: "allocated", number: true, cell: (row) => <Estimated of={row.allocated} />, value: (row) => row.allocated.value },
    ...classes.map((one) => ({
      title: one.title,
      help: one.help,
      ...(one.title === "never" ? { order: "never" } : {}),
      number: true,
      cell: (row: LifetimeRow) => <Heat of={one.of(row)} all={row.allocated.value} onClick={wanting(row, one)} />,
      value: (row: LifetimeRow) => one.of(row).value,
    })),
  ];
  /** Filters for the objects in a cell: of this function, with this lifetime. */
  const wanting = (row: LifetimeRow, { filter }: HeatClass) => {
    if (isReport || !filter) return undefined;
    const [name, value] = filter;
    const pattern = lifetimes.by === "module" ? moduleFilter(row.name) : patternOf(row.name);
    const inside = row === lifetimes.all ? {} : added(trace.params, "in", pattern);
    return () => trace.set({ ...inside, ...added(trace.params, name, value), at: null });
  };
  const open = (row: LifetimeRow) => {
    const place = placeOfLabel(row);
    if (row === lifetimes.all) return;
    if (place) trace.set({ source: `${place.path}:${place.line}` });
    else trace.focusOn(patternOf(row.name));
  };
  return (
    <div class="heat">
      <Table
        columns={columns}
        rows={rows}
        window={window}
        order={trace.order("allocated")}
        id={(row, at) => `${row.name} ${placeOf(row)} ${at}`}
        onOpen={open}
        title={isSizes ? "sizes" : "lifetimes"}
        command={command}
      />
    </div>
  );
}

/** The share of a row in a class, as a shade and a number. */
function Heat({ of, all, onClick }: { of: Estimate; all: number; onClick: (() => void) | undefined }) {
  const share = all > 0 ? of.value / all : 0;
  if (of.value <= 0) return <span class="faint">·</span>;
  const title = `${percent(share)} of the row, between ${bytes(of.low)} and ${bytes(of.high)}`;
  const inner = (
    <>
      <i style={{ opacity: 0.06 + 0.94 * share }} />
      <b>{bytes(of.value)}</b>
    </>
  );
  if (!onClick) return <span class="heat-cell" title={title}>{inner}</span>;
  const click = (event: MouseEvent) => {
    event.stopPropagation();
    onClick();
  };
  return <button class="heat-cell" title={`${title}: click for only these`} onClick={click}>{inner}</button>;
}
