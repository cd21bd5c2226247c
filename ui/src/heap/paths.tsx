/** Why something is alive: paths from roots to a block, or to all blocks of a type, drawn with the fields they go through. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { isReport } from "../api/ask";
import { useAnswer } from "../api/use";
import { bytes, count } from "../format";
import { Answered, Panel, Search } from "../parts/controls";
import { LinksPicture } from "../pictures/links_picture";
import { useRoute } from "../state/route";
import type { ClassTable, Paths } from "./answers";
import { classesParams } from "./classes";
import { drawnBlockPaths, drawnClassPaths, nodeOfId } from "./drawn_paths";
import { Next } from "./parts";

export function PathsTab({ file }: { file: number }) {
  const route = useRoute();
  const what = route.params.get("what");
  const [text, setText] = useState(what ?? "");
  // The field says what is shown, however one came here.
  useEffect(() => setText(what ?? ""), [what]);
  const asked = useAnswer<Paths>(what === null ? null : "heap/paths", { file, what: what ?? "" });
  const search = !isReport && (
    <Search
      label="Why is .. alive: a type, @NUMBER, 0xADDRESS"
      hotkey="s"
      value={text}
      onInput={setText}
      onEnter={(what) => what.trim() && route.go({ params: { what: what.trim() } })}
    />
  );
  return (
    <Panel title={<>Paths from roots{what !== null && <> to <span class="what">{what}</span></>}</>} tools={search}>
      {what === null ? (
        <Suggestions file={file} />
      ) : (
        <Answered asked={asked}>{(paths) => <Drawn paths={paths} what={what} command={asked.answer?.command} />}</Answered>
      )}
    </Panel>
  );
}

/** What one might ask about. */
function Suggestions({ file }: { file: number }) {
  const asked = useAnswer<ClassTable>("heap/classes", classesParams(file, "types"));
  return (
    <Answered asked={asked}>
      {(table) => (
        <>
          <p class="faint">Choose what to explain: a type here, or any block or root in another tab (the inspector leads here).</p>
          <ul class="suggestions">
            {table.rows.slice(0, 20).map((row) => (
              <li key={row.name}>
                <Next to={{ params: { what: row.name } }} asks={["heap/paths", { file, what: row.name }]}><span class="what">{row.name}</span></Next>
                <span class="faint"> {bytes(row.shallow.value)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </Answered>
  );
}

function Drawn({ paths, what, command }: { paths: Paths; what: string; command: string | null | undefined }) {
  const route = useRoute();
  const [selected, setSelected] = useState<string>();
  const drawing = useMemo(() => ("block" in paths ? drawnBlockPaths(paths.block) : drawnClassPaths(paths.class)), [paths]);
  const inspect = (id: string) => route.go({ params: { node: nodeOfId(id) } });
  return (
    <>
      <p class="faint">{summary(paths, drawing.nodes.length)}</p>
      <LinksPicture
        title={`Paths to ${what}`}
        command={command}
        nodes={drawing.nodes}
        links={drawing.links}
        selected={selected}
        onSelect={(id) => {
          setSelected(id);
          if (route.params.has("node")) inspect(id);
        }}
        onOpen={inspect}
        openWhat="look at the block or root"
        focus={drawing.nodes.find(({ isMarked }) => isMarked)?.id}
      />
    </>
  );
}

function summary(paths: Paths, drawn: number): string {
  if ("block" in paths) {
    const { roots, more, rows } = paths.block;
    const shown = rows.length < paths.row_count ? `; ${rows.length} of ${paths.row_count} different paths are drawn` : "";
    return `${count(roots)}${more ? " or more" : ""} ${roots === 1 ? "root reaches" : "roots reach"} it${shown}. Arrows carry the field they go through.`;
  }
  const { blocks, bytes: size, unreached } = paths.class;
  const lost = unreached > 0 ? ` No root holds ${count(unreached)} of them.` : "";
  return `One shortest path to each of ${count(blocks)} blocks of ${bytes(size)}, those with the same classes and fields together: ${drawn} boxes, the largest first.${lost}`;
}
