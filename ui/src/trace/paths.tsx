/** Hot paths: the stacks that allocate or retain most, innermost function first; a row opens to the whole stack. */
import { useMemo } from "preact/hooks";
import { useWindow, type RowWindow } from "../api/window";
import { Answered, Panel } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { coloursOf } from "../pictures/colours";
import { useTheme } from "../state/theme";
import type { PathRow, Paths } from "./answers";
import { patternOf } from "./filters";
import { questionOf, type TraceShown } from "./questions";
import { colouredOf } from "./frames";
import { estimateColumns } from "./tables";
import { placeOf } from "./telling";

export function PathsPart({ trace }: { trace: TraceShown }) {
  const { asked, window } = useWindow<Paths, PathRow>(...questionOf(trace), (paths) => paths);
  return (
    <Panel title="Hot paths" tools={<span class="faint">the stacks with the largest values, innermost function first</span>}>
      <Answered asked={asked}>{(paths) => <PathsTable trace={trace} paths={paths} window={window} command={asked.answer?.command} />}</Answered>
    </Panel>
  );
}

function PathsTable({ trace, paths, window, command }: { trace: TraceShown; paths: Paths; window: RowWindow<PathRow>; command: string | null | undefined }) {
  const open = trace.params.get("path") ?? "";
  const { isDark } = useTheme();
  const colours = useMemo(() => coloursOf(window.rows.flatMap((row) => row.frames.map(colouredOf)), isDark), [window.rows, isDark]);
  const ids = new Map(window.rows.map((row, at) => [row, String(at)]));
  const columns: TableColumn<PathRow>[] = [
    ...estimateColumns("self", (row: PathRow) => row.own, paths.all, paths.measure, "what this stack allocates"),
    {
      title: "path",
      wide: true,
      cell: (row) => <Path row={row} isOpen={ids.get(row) === open} trace={trace} colours={colours} />,
      value: (row) => row.frames.map(({ name }) => name).join(" < "),
    },
  ];
  return (
    <Table
      columns={columns}
      rows={window.rows}
      window={window}
      order={{ by: "self", reverse: false, set: () => undefined }}
      id={(row) => ids.get(row) ?? ""}
      selected={open}
      onOpen={(row) => trace.set({ path: open === ids.get(row) ? null : (ids.get(row) ?? null) }, { replace: true })}
      title="hot paths"
      command={command}
    />
  );
}

/** A stack on one line, or, opened, one frame per line. */
function Path({ row, isOpen, trace, colours }: { row: PathRow; isOpen: boolean; trace: TraceShown; colours: ReadonlyMap<string, string> }) {
  if (!isOpen) {
    return (
      <span class="path">
        {row.frames.slice(0, 12).map((frame, at) => (
          <span key={at}>
            {at > 0 && <span class="faint"> ‹ </span>}
            <i class="swatch" style={{ background: colours.get(colouredOf(frame).name) }} />
            {frame.name}
          </span>
        ))}
      </span>
    );
  }
  return (
    <ol class="stack">
      {row.frames.map((frame, at) => (
        <li key={at}>
          <i class="swatch" style={{ background: colours.get(colouredOf(frame).name) }} />
          <button
            class="link"
            title="Callers and callees of the function"
            onClick={(event) => {
              event.stopPropagation();
              trace.focusOn(patternOf(frame.name));
            }}
          >
            {frame.name}
          </button>{" "}
          <code class="faint">{placeOf(frame)}</code>
        </li>
      ))}
      {row.left_out > 0 && <li class="faint">{row.left_out} more callers</li>}
    </ol>
  );
}
