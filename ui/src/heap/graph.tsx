/**
 * The heap in one picture, reduced to its largest sets, each of which can be expanded to its neighbourhood. Or the neighbourhood
 * of one block.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { canAsk, type Params } from "../api/ask";
import { useAnswer } from "../api/use";
import { Answered, Panel, Select, useSettled, Slider } from "../parts/controls";
import { LinksPicture } from "../pictures/links_picture";
import { useRoute } from "../state/route";
import type { Around, Reduced } from "./answers";
import { drawnAround, drawnReduced, largestOf, together } from "./drawn_graph";
import { toggled, useExpansions } from "./expansions";
import { graphSummary } from "./graph-file";
import { Next } from "./parts";

/** The question that a click on a node asks. */
function expansion(file: number, around: string): Params {
  return { file, around, steps: 1, nodes: 15 };
}

const STEPS = [["1", "1"], ["2", "2"], ["3", "3"], ["4", "4"]] as const;

export function GraphTab({ file }: { file: number }) {
  const route = useRoute();
  const around = route.params.get("around");
  const usual = around ? 30 : 25;
  const chosen = Number(route.params.get("nodes") ?? 0) || usual;
  const [nodes, setNodes] = useState(chosen);
  const settled = useSettled(nodes);
  useEffect(() => {
    if (settled !== chosen) route.go({ params: { nodes: settled === usual ? null : String(settled) } }, { replace: true });
  }, [settled]);
  useEffect(() => setNodes(chosen), [chosen]);
  const steps = route.params.get("steps") ?? "2";
  const params: Params = {
    file,
    ...(around ? { around } : {}),
    ...(around && steps !== "2" ? { steps: Number(steps) } : {}),
    nodes: settled,
  };
  const asked = useAnswer<Reduced | Around>("heap/graph", params);
  const expanded = useExpansions<Around>("heap/graph", route.params.getAll("open"), (node) => expansion(file, node));
  const opened = useMemo(() => [...expanded.values()], [expanded]);
  const tools = (
    <>
      {around && (
        <>
          <Select label="Pointers away" options={STEPS} value={steps as "1"} onChange={(steps) => route.go({ params: { steps: steps === "2" ? null : steps } })} />
          <Next to={{ params: { around: null, open: null, steps: null } }}>Whole heap</Next>
        </>
      )}
      <Slider label={around ? "Blocks" : "Sets"} min={5} max={200} value={nodes} onChange={setNodes} />
      {route.params.has("open") && <Next to={{ params: { open: null } }}>Collapse all</Next>}
    </>
  );
  return (
    <Panel title={around ? <>Around <span class="what">{around}</span></> : "Graph: the largest sets of blocks"} tools={tools}>
      <Answered asked={asked}>
        {(graph) => <Drawn file={file} graph={graph} opened={opened} command={asked.answer?.command} />}
      </Answered>
    </Panel>
  );
}

function Drawn(props: { file: number; graph: Reduced | Around; opened: Around[]; command: string | null | undefined }) {
  const { file, graph, opened, command } = props;
  const route = useRoute();
  const [selected, setSelected] = useState<string>();
  const drawing = useMemo(
    () => together([..."sets" in graph ? [drawnReduced(graph)] : [drawnAround(graph)], ...opened.map((around) => drawnAround(around, largestOf(graph)))]),
    [graph, opened],
  );
  const open = (id: string) => {
    if (!canAsk("heap/graph", expansion(file, id))) return;
    route.go({ params: { open: toggled(route.params.getAll("open"), id) } });
  };
  return (
    <>
      <p class="faint">{graphSummary(graph)} A click selects, another opens what is around it (Enter).</p>
      <LinksPicture
        title="Heap graph"
        command={command}
        nodes={drawing.nodes}
        links={drawing.links}
        selected={selected}
        onSelect={(id) => {
          setSelected(id);
          route.go({ params: { node: id } }, { replace: route.params.has("node") });
        }}
        onOpen={open}
        openWhat="show its neighbourhood"
        focus={"sets" in graph ? (opened.length > 0 ? selected : undefined) : `@${graph.nodes[0]?.node}`}
        height={graphHeight()}
      />
    </>
  );
}

/** Most of the window. */
function graphHeight(): number {
  return Math.max(420, Math.round(innerHeight * 0.66));
}
