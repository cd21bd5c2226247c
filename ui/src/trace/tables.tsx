/** Functions, sites, modules and files: self and total of what each allocates or retains. */
import { useMemo } from "preact/hooks";
import { isReport, mostRows } from "../api/ask";
import { useWindow, type RowWindow } from "../api/window";
import { Answered, Estimated, Panel, Search } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { percent, type Estimate } from "../format";
import { coloursOf } from "../pictures/colours";
import type { FlameLabel } from "../pictures/flame-layout";
import { useTheme } from "../state/theme";
import type { Measure, Top, TopRow } from "./answers";
import { moduleFilter, patternOf } from "./filters";
import { colouredOf } from "./frames";
import { questionOf, type Part, type TraceShown } from "./questions";
import { hasSource, placeOfLabel } from "./source";
import { placeOf, shortOf, wordsOf } from "./telling";

const TITLES: Partial<Record<Part, string>> = { functions: "Functions", sites: "Sites", modules: "Modules", files: "Files" };

export function TopPart({ trace }: { trace: TraceShown }) {
  const { asked, window } = useWindow<Top, TopRow>(...questionOf(trace), (top) => top);
  const query = trace.params.get("q") ?? "";
  const tools = <Search label="Search, or /expression/" value={query} onInput={(text) => trace.set({ q: text || null }, { replace: true })} />;
  return (
    <Panel title={TITLES[trace.part]} tools={tools}>
      <Answered asked={asked}>{(top) => <TopTable trace={trace} top={top} window={window} command={asked.answer?.command} />}</Answered>
    </Panel>
  );
}

function TopTable({ trace, top, window, command }: { trace: TraceShown; top: Top; window: RowWindow<TopRow>; command: string | null | undefined }) {
  const colours = useRowColours(window.rows);
  const filter = filterOf(trace.part);
  const columns: TableColumn<TopRow>[] = [
    {
      title: titleOf(trace.part),
      cell: (row) => (
        <>
          <Named label={row} colours={colours} hasPlace={trace.part === "sites"} />
          <RowActions trace={trace} pattern={filter.pattern(row)} names={filter.names} />
        </>
      ),
      value: (row) => (trace.part === "sites" ? `${row.name} ${placeOf(row)}` : row.name),
      order: "name",
      wide: true,
    },
    ...estimateColumns("self", (row: TopRow) => row.self, top.all, top.measure, "allocated by itself"),
    // Beside the source there is less space, and the source has the totals of its lines.
    ...(trace.params.has("source")
      ? []
      : estimateColumns("total", (row: TopRow) => row.total, top.all, top.measure, "including its callees")),
  ];
  const open = (row: TopRow) => {
    const place = placeOfLabel(row);
    if (trace.part === "sites" && place && hasSource(trace, row)) trace.set({ source: `${place.path}:${place.line}` });
    else if (isReport) return;
    else if (trace.part === "functions" || trace.part === "sites") trace.focusOn(patternOf(row.name));
    else trace.addFilter(filter.names[0] ?? "in", filter.pattern(row));
  };
  // A report includes what a click on these rows would show.
  if (trace.part === "sites") window.rows.slice(0, mostRows()).forEach((row) => hasSource(trace, row));
  return (
    <Table
      columns={columns}
      rows={window.rows}
      window={window}
      order={trace.order("self")}
      id={(row, at) => `${row.name} ${placeOf(row)} ${at}`}
      onOpen={isReport && trace.part !== "sites" ? undefined : open}
      title={`${titleOf(trace.part)}s, ${wordsOf(top.measure)}`}
      command={command}
    />
  );
}

function titleOf(part: Part): string {
  return { functions: "function", sites: "site", modules: "module", files: "file" }[part as "sites"] ?? part;
}

/** How rows become filters. */
function filterOf(part: Part): { names: string[]; pattern: (row: FlameLabel) => string } {
  if (part === "files") return { names: ["in-file", "not-in-file"], pattern: ({ file, name }) => patternOf(file || name) };
  if (part === "modules") return { names: ["in", "not-in", "hide"], pattern: ({ name }) => moduleFilter(name) };
  return { names: ["in", "not-in", "hide"], pattern: ({ name }) => patternOf(name) };
}

const SHORT: Record<string, string> = { in: "only", "in-file": "only", "not-in": "without", "not-in-file": "without", hide: "hide" };

/** Filter buttons for a row. */
function RowActions({ trace, pattern, names }: { trace: TraceShown; pattern: string; names: readonly string[] }) {
  if (isReport) return null;
  return (
    <span class="row-actions">
      {names.map((name) => (
        <button
          key={name}
          class="link"
          title={`--${name} ${pattern}`}
          onClick={(event) => {
            event.stopPropagation();
            trace.addFilter(name, pattern);
          }}
        >
          {SHORT[name] ?? name}
        </button>
      ))}
    </span>
  );
}

/** The colours of the rows' modules; the first rows are the largest. */
export function useRowColours(rows: readonly FlameLabel[]): ReadonlyMap<string, string> {
  const { isDark } = useTheme();
  return useMemo(() => coloursOf(rows.map(colouredOf), isDark), [rows, isDark]);
}

/** A name with its module's colour. */
export function Named({ label, colours, hasPlace = false }: { label: FlameLabel; colours: ReadonlyMap<string, string>; hasPlace?: boolean }) {
  const place = hasPlace ? placeOf(label) : "";
  return (
    <span class="named" title={`${label.name} ${placeOf(label)}`}>
      <i class="swatch" style={{ background: colours.get(colouredOf(label).name) }} />
      <span class="text">{label.name}</span>
      {place && <code class="faint">{place}</code>}
    </span>
  );
}

/** Columns for a number with its error, and its share of the total. */
export function estimateColumns<R>(
  title: string,
  of: (row: R) => Estimate,
  all: Estimate,
  measure: Measure,
  help: string,
): TableColumn<R>[] {
  const show = shortOf(measure);
  const share = (row: R) => (all.value > 0 ? of(row).value / all.value : 0);
  return [
    { title, help, order: title, number: true, cell: (row) => <Estimated of={of(row)} show={show} />, value: (row) => of(row).value },
    { title: `${title} %`, help: `${help}, of everything`, order: title, number: true, cell: (row) => percent(share(row)), value: share, bar: share },
  ];
}
