/** A function in the centre: its callers above, outwards, and its callees below. Clicking a function goes to it. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer } from "../api/use";
import { Answered, Panel, Search, Segmented } from "../parts/controls";
import { useExport } from "../parts/export";
import { percent } from "../format";
import { Flame as FlamePicture } from "../pictures/flame";
import { labelOf, layOut, walk, type Layout, type Step } from "../pictures/flame-layout";
import { find, searchFor } from "../pictures/flame-search";
import { useKeys } from "../state/keys";
import { useTheme } from "../state/theme";
import type { Around, Flame } from "./answers";
import { flameFileOf } from "./flame-file";
import { actionsOf } from "./flame-part";
import { FrameBar } from "./frame-bar";
import { flameCsv } from "../pictures/flame-frames";
import { byModule, tellFrame } from "./frames";
import { questionOf, type TraceShown } from "./questions";
import { ofAll, shortOf, wordsOf } from "./telling";

export function AroundPart({ trace, focus }: { trace: TraceShown; focus: string }) {
  const asked = useAnswer<Around>(...questionOf(trace));
  const back = () => trace.set({ focus: null });
  const tools = (
    <>
      <Segmented
        label="Frames"
        options={[["function", "Functions"], ["site", "Sites"], ["module", "Modules"]]}
        value={(["site", "module"] as const).find((by) => by === trace.by) ?? "function"}
        onChange={(by) => trace.set({ by: by === "function" ? null : by })}
        disabled={(by) => !trace.can({ by })}
      />
      <Search
        label="Search, or /expression/"
        value={trace.params.get("q") ?? ""}
        onInput={(text) => trace.set({ q: text || null }, { replace: true })}
      />
      <button onClick={back} title="Back to the whole flame graph (Escape)">Whole flame graph</button>
    </>
  );
  return (
    <Panel class="flame-panel around" title={<>Around <code data-testid="focus">{focus}</code></>} tools={tools}>
      <Answered asked={asked}>
        {(around) => <Sandwich trace={trace} around={around} command={asked.answer?.command} onBack={back} />}
      </Answered>
    </Panel>
  );
}

type Side = "callers" | "callees";

interface SandwichProps {
  trace: TraceShown;
  around: Around;
  command: string | null | undefined;
  onBack: () => void;
}

function Sandwich({ trace, around, command, onBack }: SandwichProps) {
  const [side, setSide] = useState<Side>("callees");
  const [selected, setSelected] = useState(-1);
  // Synchronously, so that a key pressed right after the answer is not lost.
  useLayoutEffect(() => setSelected(-1), [around]);
  const layouts = useMemo(() => ({ callers: layOut(around.callers), callees: layOut(around.callees) }), [around]);
  const layout = layouts[side];
  const root = rootOf(layout);
  const flame = around[side];
  const label = selected >= 0 ? labelOf(layout, selected) : null;
  const actions = actionsOf(trace);
  const step = (way: Step) => () => setSelected((old) => (old < root ? root : walk(layout, root, old, way)));
  /** Moves through the function in the centre to the other side. */
  const cross = (to: Side) => () => {
    if (side === to) return step("in")();
    if (selected <= root) {
      setSide(to);
      setSelected(rootOf(layouts[to]));
      return;
    }
    step("out")();
  };
  const act = (name: keyof typeof actions) => () => {
    if (label && selected > root) actions[name](label);
  };
  useKeys([
    { key: "ArrowLeft", what: "frame on the left", run: step("left") },
    { key: "ArrowRight", what: "frame on the right", run: step("right") },
    { key: "ArrowUp", what: "towards callers", run: cross("callers") },
    { key: "ArrowDown", what: "towards callees", run: cross("callees") },
    { key: "Enter", what: "focus on the function", run: act("focus") },
    { key: "f", what: "focus on the function", run: act("focus") },
    { key: "Escape", what: "back to the whole flame graph", run: onBack },
    { key: "Backspace", what: "back to the whole flame graph", run: onBack },
    { key: "i", what: "only with this function in the stack", run: act("only") },
    { key: "x", what: "only without it", run: act("without") },
    { key: "h", what: "hide the function", run: act("hide") },
    { key: "s", what: "the source of the frame", run: act("source") },
  ]);
  const short = shortOf(around.callees.measure);
  const total = around.callees.total[0] ?? 0;
  const half = (of: Side) => (
    <Half
      trace={trace}
      side={of}
      flame={around[of]}
      layout={layouts[of]}
      command={command}
      selected={of === side ? selected : -1}
      onSelect={(node) => {
        setSide(of);
        setSelected(node);
      }}
    />
  );
  return (
    <>
      <p class="flame-head">
        <span data-testid="flame-total">
          <b>{short(total)}</b> {wordsOf(around.callees.measure)} in it and in what it calls, {percent(around.share)} of everything
          {" "}({short(around.all.value)})
        </span>
      </p>
      <FrameBar trace={trace} flame={flame} layout={layout} node={selected} actions={actions} swatch="var(--accent)" />
      <h4 class="faint">Callers ▴</h4>
      {half("callers")}
      {half("callees")}
      <h4 class="faint">Callees ▾ {ofAll(around.callees.own[rootOf(layouts.callees)] ?? 0, total)} is its own</h4>
    </>
  );
}

interface HalfProps {
  trace: TraceShown;
  side: Side;
  flame: Flame;
  layout: Layout;
  command: string | null | undefined;
  selected: number;
  onSelect: (node: number) => void;
}

/** A single function is the centre itself; several functions matched by an expression have a common frame there. */
function rootOf(layout: Layout): number {
  return layout.length > 1 && layout.end[1] === layout.length ? 1 : 0;
}

function Half({ trace, side, flame, layout, command, selected, onSelect }: HalfProps) {
  const colours = useTheme();
  const root = rootOf(layout);
  const paint = useMemo(() => byModule(layout, colours.isDark), [layout, colours.isDark]);
  const picture = useRef<(() => HTMLCanvasElement | null) | null>(null);
  const search = searchFor(trace.params.get("q") ?? "");
  const found = search && !("error" in search) ? find(layout, root, search) : null;
  const tell = (node: number) => tellFrame(flame, layout, node, root);
  const actions = actionsOf(trace);
  useExport({
    title: `${side} of ${labelOf(layout, root).name}`,
    command,
    csv: () => flameCsv(layout, root),
    svg: () => flameFileOf(flame, layout, root, { title: `${side} of ${labelOf(layout, root).name}`, notes: [], up: side === "callers" }),
    canvas: () => picture.current?.() ?? null,
  });
  return (
    <div class="half" data-testid={side}>
      <FlamePicture
        layout={layout}
        root={root}
        leastRows={1}
        up={side === "callers"}
        fill={paint.fill}
        ink={paint.ink}
        rest={colours.line}
        dim={colours.faint}
        ground={colours.ground}
        found={found}
        selected={selected}
        onSelect={onSelect}
        onOpen={(node) => (node <= root ? onSelect(node) : actions.focus(labelOf(layout, node)))}
        tell={tell}
        label={`${side} of the function in focus`}
        picture={picture}
      />
    </div>
  );
}
