/** Why something is alive: paths from roots to a block, or to all blocks of a type, drawn with the fields on the way. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { canAsk, isReport, type Params } from "../api/ask";
import { useAnswer } from "../api/use";
import { bytes, count } from "../format";
import { Answered, Panel, Search } from "../parts/controls";
import { LinksPicture } from "../pictures/links_picture";
import { useRoute } from "../state/route";
import type { ClassTable, Paths } from "./answers";
import { classesParams } from "./classes";
import { drawnBlockPaths, drawnClassPaths, nodeOfId, shapeOf } from "./drawn_paths";
import { toggled, useExpansions } from "./expansions";
import { Next } from "./parts";

export function PathsTab({ file }: { file: number }) {
  const route = useRoute();
  const what = route.params.get("what");
  const [text, setText] = useState(what ?? "");
  // The input shows the current question, however the user came here.
  useEffect(() => setText(what ?? ""), [what]);
  const asked = useAnswer<Paths>(what === null ? null : "heap/paths", { file, what: what ?? "" });
  const search = !isReport && (
    <Search
      label="Why is .. alive: a type, @NUMBER, 0xADDRESS"
      hotkey="s"
      value={text}
      onInput={setText}
      onEnter={(what) => what.trim() && route.go({ params: { what: what.trim(), members: null } })}
    />
  );
  return (
    <Panel title={<>Paths from roots{what !== null && <> to <span class="what">{what}</span></>}</>} tools={search}>
      {what === null ? (
        <Suggestions file={file} />
      ) : (
        <Answered asked={asked}>{(paths) => <Drawn file={file} paths={paths} what={what} command={asked.answer?.command} />}</Answered>
      )}
    </Panel>
  );
}

/** Types to choose from. */
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

/** The question that a click on a box of many blocks asks. */
function apart(file: number, what: string, members: string): Params {
  return { file, what, members, number: 8 };
}

function Drawn({ file, paths, what, command }: { file: number; paths: Paths; what: string; command: string | null | undefined }) {
  const route = useRoute();
  const [selected, setSelected] = useState<string>();
  const opened = useExpansions<Paths>("heap/paths", route.params.getAll("members"), (one) => apart(file, what, one));
  const drawing = useMemo(() => {
    if ("block" in paths) return drawnBlockPaths(paths.block);
    const members = [...opened].flatMap(([one, answer]) => ("class" in answer && answer.class.members ? [[one, answer.class.members] as const] : []));
    return drawnClassPaths(paths.class, new Map(members));
  }, [paths, opened]);
  const inspect = (id: string) => route.go({ params: { node: nodeOfId(id) } });
  const open = (id: string) => {
    const shape = "class" in paths ? shapeOf(paths.class, id) : null;
    if (shape === null || !canAsk("heap/paths", apart(file, what, shape))) return inspect(id);
    route.go({ params: { members: toggled(route.params.getAll("members"), shape) } });
  };
  // Scrolls to the blocks expanded last, the middle one of which is beside their box.
  const last = [...opened.keys()].at(-1);
  const members = drawing.nodes.filter(({ id }) => last !== undefined && id.includes(` of ${last} `));
  const focus = members[members.length >> 1] ?? drawing.nodes.find(({ isMarked }) => isMarked);
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
        onOpen={open}
        openWhat={"block" in paths ? "show the block or root" : "split a box that stands for several blocks, or show its only block"}
        focus={focus?.id}
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
  return `One shortest path to each of ${count(blocks)} blocks of ${bytes(size)}, those with the same classes and fields together: ${drawn} boxes, the largest first. A click selects a box; a second click splits a box that stands for several blocks.${lost}`;
}
