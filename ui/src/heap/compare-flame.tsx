/** The differential flame graph of two heaps: who holds more than before, and who less. Frames are rows of the dominator tree. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { useAnswer } from "../api/use";
import { bytes, grouped } from "../format";
import { Answered, Panel, Search, Toggle } from "../parts/controls";
import { useExport } from "../parts/export";
import { Flame } from "../pictures/flame";
import { byChange, ChangeLegend, flameCsv, FramePath, stepsTo } from "../pictures/flame-frames";
import { findById, findByName, frameName, labelOf, layOut, pathTo, walk, type Layout, type Step } from "../pictures/flame-layout";
import { find, nextFound, searchFor } from "../pictures/flame-search";
import { useKeys } from "../state/keys";
import { useRoute } from "../state/route";
import { useTheme } from "../state/theme";
import type { HeapDiffFlame } from "./answers";
import { heapFlameSvg, signed, sizes, swapped, told } from "./compare-file";
import { Next } from "./parts";
import { treeParams } from "./tree";

interface Compared {
  /** In chronological order. */
  files: readonly [number, number];
  isSwapped: boolean;
  tools: ComponentChildren;
}

export function CompareFlame({ files, isSwapped, tools }: Compared) {
  const asked = useAnswer<HeapDiffFlame>("heap/diff-flame", { files: files.map(String) });
  const answer = asked.answer?.result;
  const flame = useMemo(() => (answer && isSwapped ? swapped(answer) : answer), [answer, isSwapped]);
  return (
    <Panel title="Holders: what grew and what shrank" tools={tools} class="flame-panel">
      <Answered asked={asked}>{() => flame && <Graph flame={flame} after={files[isSwapped ? 0 : 1]} command={asked.answer?.command} />}</Answered>
    </Panel>
  );
}

function Graph({ flame, after, command }: { flame: HeapDiffFlame; after: number; command: string | null | undefined }) {
  const route = useRoute();
  const colours = useTheme();
  const picture = useRef<(() => HTMLCanvasElement | null) | null>(null);
  const isBefore = route.params.has("width-before");
  const layout = useMemo(() => layOut(flame, isBefore ? flame.before : flame.total), [flame, isBefore]);
  const paint = useMemo(() => byChange(layout, colours.isDark, false), [layout, colours.isDark]);
  const at = route.params.get("at");
  const root = at === null ? 0 : Math.max(0, findById(layout, at));
  const frame = route.params.get("frame");
  const selected = useMemo(() => findByName(layout, frame), [layout, frame]);
  const select = (node: number) => route.go({ params: { frame: node < 0 ? null : frameName(layout, node) } }, { replace: true });
  // `q` searches the table below.
  const query = route.params.get("find") ?? "";
  const search = useMemo(() => searchFor(query), [query]);
  const found = useMemo(() => (search && !("error" in search) ? find(layout, root, search) : null), [layout, root, search]);
  const chosen = selected >= root && selected < (layout.end[root] ?? 0) ? selected : -1;
  const zoom = (node: number) => {
    route.go({ params: { frame: frameName(layout, node), at: node <= 0 ? null : String(layout.tree.id[node]) } });
  };
  const outwards = () => root > 0 && zoom(layout.tree.parent[root] ?? 0);
  const step = (way: Step) => () => select(chosen < 0 ? root : walk(layout, root, chosen, way));
  useKeys([
    { key: "ArrowLeft", what: "frame on the left", run: step("left") },
    { key: "ArrowRight", what: "frame on the right", run: step("right") },
    { key: "ArrowUp", what: "its holder", run: step("out") },
    { key: "ArrowDown", what: "the largest block that it holds", run: step("in") },
    { key: "Enter", what: "zoom to the frame", run: () => chosen >= 0 && zoom(chosen) },
    { key: "Escape", what: "zoom out to everything", run: () => zoom(0) },
    { key: "Backspace", what: "zoom out to the holder", run: outwards },
    { key: "n", what: "next frame found", run: () => found && select(nextFound(found, chosen, 1)) },
    { key: "N", what: "frame found before", run: () => found && select(nextFound(found, chosen, -1)) },
  ]);
  useExport({
    title: "flame graph of the change",
    command,
    csv: () => flameCsv(layout, root),
    svg: () => heapFlameSvg(flame, layout, root, []),
    canvas: () => picture.current?.() ?? null,
  });
  return (
    <>
      <div class="flame-head">
        <div class="where">
          <FramePath label="Holders" steps={stepsTo(layout, root)} onGo={(at) => route.go({ params: { at } })} />
          <span class="faint" data-testid="flame-total">{sizes(flame, root)}</span>
        </div>
        <div class="tools">
          <Toggle label="as wide as before" on={isBefore} onChange={(on) => route.go({ params: { "width-before": on ? "" : null } })} />
          <span class="flame-search">
            <Search label="Search, or /expression/" value={query} onInput={(text) => route.go({ params: { find: text || null } }, { replace: true })} />
            {query && (
              <output class="matched" aria-live="polite" data-testid="matched">
                {search && "error" in search ? <span class="error">{search.error}</span> : null}
                {found && `${grouped(found.count)} ${found.count === 1 ? "frame" : "frames"}, ${bytes(found.matched)}`}
              </output>
            )}
          </span>
        </div>
      </div>
      <Flame
        layout={layout}
        root={root}
        up={false}
        fill={paint.fill}
        ink={paint.ink}
        rest={colours.line}
        dim={colours.faint}
        ground={colours.ground}
        found={found}
        selected={chosen}
        onSelect={select}
        onOpen={zoom}
        onOut={outwards}
        tell={(node) => told(flame, layout, node)}
        label={`Flame graph of what changed: ${sizes(flame, root)}; arrow keys walk through it`}
        picture={picture}
      />
      <ChangeLegend />
      {chosen > 0 && <Chosen flame={flame} layout={layout} node={chosen} after={after} />}
    </>
  );
}

/** The selected frame, with a link to its details. */
function Chosen({ flame, layout, node, after }: { flame: HeapDiffFlame; layout: Layout; node: number; after: number }) {
  const at = pathTo(layout, node).slice(1).map((step) => labelOf(layout, step).name);
  return (
    <p data-testid="frame" aria-live="polite">
      <b>{labelOf(layout, node).name}</b>: {sizes(flame, node)}, {signed(flame, node)}.{" "}
      {(flame.total[node] ?? 0) > 0 && (
        <Next to={{ file: after, part: "dominators", fresh: true, params: { at } }} asks={["heap/dominators", treeParams(after, at, false)]}>
          Show in the dominator tree
        </Next>
      )}
    </p>
  );
}
