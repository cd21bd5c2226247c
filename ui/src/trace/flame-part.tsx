/** The flame graph: zoomed by clicks, searched, navigated by keys. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { canAsk, isReport } from "../api/ask";
import { useAnswer } from "../api/use";
import { grouped } from "../format";
import { Answered, Notes, Panel, Search, Segmented, Toggle } from "../parts/controls";
import { useExport } from "../parts/export";
import { coloursOf, type Coloured, type Origin } from "../pictures/colours";
import { Flame as FlamePicture } from "../pictures/flame";
import { byChange, ChangeLegend, flameCsv, FramePath, stepsTo, type PathStep } from "../pictures/flame-frames";
import { findById, findByName, frameName, isCut, labelOf, layOut, walk, type FlameLabel, type Layout } from "../pictures/flame-layout";
import { find, nextFound, searchFor } from "../pictures/flame-search";
import { useKeys } from "../state/keys";
import { useTheme } from "../state/theme";
import type { Flame } from "./answers";
import { moduleFilter, patternOf } from "./filters";
import { flameFileOf } from "./flame-file";
import { FrameBar } from "./frame-bar";
import { byModule, modulesIn, tellFrame } from "./frames";
import { questionOf, type TraceShown } from "./questions";
import { placeOfLabel } from "./source";
import { inFull, ofAll, shortOf, wordsOf } from "./telling";

const KINDS = [
  ["function", "Functions"],
  ["site", "Sites"],
  ["module", "Modules"],
] as const;

/** The flame graph of a trace. */
export function FlamePart({ trace }: { trace: TraceShown }) {
  const [name, params] = questionOf(trace);
  const asked = useAnswer<Flame>(name, params);
  const at = trace.params.get("at");
  const whole = asked.answer?.result;
  const layout = useMemo(() => (whole ? layOut(whole) : null), [whole]);
  const node = layout && at !== null ? findById(layout, at) : 0;
  // Omitted small frames are requested when the user zooms to them; meanwhile the available ones are shown.
  const closer = { ...params, at: at ?? undefined };
  const isWanted = layout !== null && at !== null && (node < 0 || isCut(layout, node)) && canAsk(name, closer);
  const asker = useAnswer<Flame>(isWanted ? name : null, closer);
  const detail = isWanted && asker.answer && String(asker.answer.result.at) === at ? asker.answer : null;
  const detailLayout = useMemo(() => (detail ? layOut(detail.result) : null), [detail]);
  const shown = detail ?? asked.answer;
  const drawn = detailLayout ?? layout;
  return (
    <Panel class="flame-panel">
      <Answered asked={{ ...asked, loading: asked.loading || asker.loading }}>
        {() => (
          <>
            {asker.error && <p class="error" role="alert">{asker.error}</p>}
            {detail && <Notes notes={detail.notes} />}
            {shown && drawn && (
              <FlameGraph
                trace={trace}
                flame={shown.result}
                command={shown.command}
                layout={drawn}
                root={detailLayout ? 0 : Math.max(0, node)}
                before={detailLayout ? shown.result.path.slice(0, -1) : []}
                tools={<FlameTools trace={trace} />}
              />
            )}
          </>
        )}
      </Answered>
    </Panel>
  );
}

function FlameTools({ trace }: { trace: TraceShown }) {
  const way = trace.params.get("way") === "up" ? "up" : "down";
  const recursion = trace.params.has("recursion");
  const turned = new URLSearchParams(trace.params);
  if (recursion) turned.delete("recursion");
  else turned.set("recursion", "");
  return (
    <>
      <Segmented
        label="Frames"
        options={KINDS}
        value={KINDS.find(([id]) => id === trace.by)?.[0] ?? "function"}
        onChange={(by) => trace.set({ by: by === "function" ? null : by, at: null })}
        disabled={(by) => !trace.can({ by })}
      />
      <Segmented
        label="Direction of growth"
        options={[["down", "Icicle ▾"], ["up", "Flame ▴"]]}
        value={way}
        onChange={(to) => trace.set({ way: to === "up" ? "up" : null })}
      />
      {trace.can({ params: turned }) && (
        <Toggle label="Recursion" on={recursion} onChange={(on) => trace.set({ recursion: on ? "" : null, at: null })} />
      )}
    </>
  );
}

interface GraphProps {
  trace: TraceShown;
  flame: Flame;
  command: string | null;
  layout: Layout;
  root: number;
  /** The callers of the outermost frame in `layout`, if that is not the root of all. */
  before: Flame["path"];
  /** Controls beside the heading. */
  tools: ComponentChildren;
  /** Coloured by change. */
  isChange?: boolean;
}

/** A flame graph with its controls. The URL identifies frames by name, so that keys and links work. */
export function FlameGraph({ trace, flame, command, layout, root, before, tools, isChange = false }: GraphProps) {
  const colours = useTheme();
  const up = trace.params.get("way") === "up";
  const frame = trace.params.get("frame");
  const selected = useMemo(() => findByName(layout, frame), [layout, frame]);
  const setSelected = (node: number) => trace.set({ frame: node < 0 ? null : frameName(layout, node) }, { replace: true });
  const picture = useRef<(() => HTMLCanvasElement | null) | null>(null);
  const isShares = trace.params.has("shares");
  const paint = useMemo(
    () => (isChange ? byChange(layout, colours.isDark, isShares) : byModule(layout, colours.isDark)),
    [layout, colours.isDark, isChange, isShares],
  );
  const query = trace.params.get("q") ?? "";
  const search = useMemo(() => searchFor(query), [query]);
  const found = useMemo(() => (search && !("error" in search) ? find(layout, root, search) : null), [layout, root, search]);
  const zoom = (node: number) => {
    trace.set({ frame: node < 0 ? null : frameName(layout, node), at: node <= 0 && before.length === 0 ? null : String(layout.tree.id[node] ?? "") });
  };
  const outwards = () => {
    if (root > 0) return zoom(layout.tree.parent[root] ?? 0);
    const last = before.at(-1);
    if (last) trace.set({ at: before.length === 1 ? null : String(last.id) });
  };
  const step = (way: "out" | "in" | "left" | "right") => () => setSelected(selected < root ? root : walk(layout, root, selected, way));
  const chosen = selected >= root && selected < (layout.end[root] ?? 0) ? selected : -1;
  const label = chosen >= 0 ? labelOf(layout, chosen) : null;
  const act = (run: (label: FlameLabel) => void) => () => {
    if (label) run(label);
  };
  const actions = actionsOf(trace);
  useKeys([
    { key: "ArrowLeft", what: "frame on the left", run: step("left") },
    { key: "ArrowRight", what: "frame on the right", run: step("right") },
    { key: up ? "ArrowDown" : "ArrowUp", what: "its caller", run: step("out") },
    { key: up ? "ArrowUp" : "ArrowDown", what: "its largest callee", run: step("in") },
    { key: "Enter", what: "zoom to the frame", run: () => chosen >= 0 && zoom(chosen) },
    { key: "Escape", what: "zoom out to everything", run: () => trace.set({ at: null }) },
    { key: "Backspace", what: "zoom out to the caller", run: outwards },
    { key: "f", what: "callers and callees of the function", run: act(actions.focus) },
    { key: "i", what: "only with this function in the stack", run: act(actions.only) },
    { key: "x", what: "only without it", run: act(actions.without) },
    { key: "h", what: "hide the function", run: act(actions.hide) },
    { key: "s", what: "the source of the frame", run: act(actions.source) },
    { key: "n", what: "next frame found", run: () => found && setSelected(nextFound(found, selected, 1)) },
    { key: "N", what: "previous frame found", run: () => found && setSelected(nextFound(found, selected, -1)) },
    { key: "w", what: "flame graph or icicle", run: () => trace.set({ way: up ? null : "up" }) },
  ]);
  const short = shortOf(flame.measure);
  const title = `${short(layout.tree.total[root] ?? 0)} ${wordsOf(flame.measure)}`;
  useExport({
    title: isChange ? "flame graph of the change" : "flame graph",
    command,
    csv: () => flameCsv(layout, root),
    svg: () => flameFileOf(flame, layout, root, { title: [flame.program, root > 0 ? labelOf(layout, root).name : null].filter(Boolean).join(": ") || title, notes: [], up }),
    canvas: () => picture.current?.() ?? null,
  });
  const total = layout.tree.total[root] ?? 0;
  return (
    <>
      <div class="flame-head">
        <div class="where">
          <FramePath label="Callers" steps={pathOf(layout, root, before)} onGo={(at) => trace.set({ at })} />
          <span class="faint" title={inFull(total, flame.measure)} data-testid="flame-total">
            {isChange ? `${wordsOf(flame.measure)}: ${short(layout.tree.before?.[root] ?? 0)} before, ${short(total)} after` : `${title}, ${ofAll(total, flame.all.value)} of everything`}
          </span>
        </div>
        <div class="tools">{tools}</div>
      </div>
      <div class="flame-row">
        <FrameBar flame={flame} layout={layout} node={chosen} actions={actions} swatch={chosen >= 0 ? paint.fill(chosen) : ""} trace={trace} />
        <SearchField trace={trace} query={query}>
          {search && "error" in search ? <span class="error">{search.error}</span> : null}
          {found && `${grouped(found.count)} ${found.count === 1 ? "frame" : "frames"}, ${ofAll(found.matched, total)}`}
        </SearchField>
      </div>
      <FlamePicture
        layout={layout}
        root={root}
        up={up}
        fill={paint.fill}
        ink={paint.ink}
        rest={colours.line}
        dim={colours.faint}
        ground={colours.ground}
        found={found}
        selected={chosen}
        onSelect={setSelected}
        onOpen={zoom}
        onOut={outwards}
        tell={(node) => tellFrame(flame, layout, node, root)}
        label={`Flame graph of ${title}; arrow keys walk through it`}
        picture={picture}
      />
      {isChange ? <ChangeLegend /> : <Legend trace={trace} layout={layout} root={root} isDark={colours.isDark} />}
    </>
  );
}

export interface FrameActions {
  focus: (label: FlameLabel) => void;
  only: (label: FlameLabel) => void;
  without: (label: FlameLabel) => void;
  hide: (label: FlameLabel) => void;
  source: (label: FlameLabel) => void;
}

/** The actions on a frame. Modules are filtered by all their functions. */
export function actionsOf(trace: TraceShown): FrameActions {
  const source = (label: FlameLabel) => {
    const place = placeOfLabel(label);
    if (place) trace.set({ source: `${place.path}:${place.line}` });
  };
  // A report has only the answers that it contains.
  if (isReport) return { focus: nothing, only: nothing, without: nothing, hide: nothing, source };
  const pattern = ({ name }: FlameLabel) => (trace.by === "module" ? moduleFilter(name) : patternOf(name));
  return {
    focus: (label) => trace.focusOn(pattern(label)),
    only: (label) => trace.addFilter("in", pattern(label)),
    without: (label) => trace.addFilter("not-in", pattern(label)),
    hide: (label) => trace.addFilter("hide", pattern(label)),
    source,
  };
}

function nothing(): void {}

/** From the outermost caller to the shown frame. */
function pathOf(layout: Layout, root: number, before: Flame["path"]): PathStep[] {
  return [
    ...before.map(({ id, label }, place) => ({ id: place === 0 ? null : String(id), name: label })),
    ...stepsTo(layout, root).map((step) => (before.length > 0 && step.id === null ? { ...step, id: String(layout.tree.id[0] ?? "") } : step)),
  ];
}

/** The search field, with the results beside it. */
function SearchField({ trace, query, children }: { trace: TraceShown; query: string; children: ComponentChildren }) {
  return (
    <span class="flame-search">
      <Search label="Search, or /expression/" value={query} onInput={(text) => trace.set({ q: text || null }, { replace: true })} />
      {query && <output class="matched" aria-live="polite" data-testid="matched">{children}</output>}
    </span>
  );
}

/** The colours of the widest modules; a click searches for a module. */
function Legend({ trace, layout, root, isDark }: { trace: TraceShown; layout: Layout; root: number; isDark: boolean }) {
  const modules = useMemo(() => widestModules(layout, root), [layout, root]);
  const colours = useMemo(() => coloursOf(modulesIn(layout), isDark), [layout, isDark]);
  return (
    <ul class="legend" aria-label="Colours of modules">
      {modules.map(({ name, origin }) => (
        <li key={name}>
          <button class="quiet" title={`${ORIGINS[origin ?? "program"]}; look for it`} onClick={() => trace.set({ q: moduleFilter(name) })}>
            <i style={{ background: colours.get(name) }} /> {name}
          </button>
        </li>
      ))}
    </ul>
  );
}

const ORIGINS: Record<Origin, string> = {
  program: "The program's own",
  library: "Library",
  stdlib: "Standard library",
  c: "In C",
};

/** The shown modules, sorted by the self size of their frames. */
export function widestModules(layout: Layout, root: number, most = 10): Coloured[] {
  const { tree, end } = layout;
  const shown = { ...tree, label: tree.label.slice(root, end[root]), own: tree.own.slice(root, end[root]) };
  const isAll = (name: string) => name === tree.labels[tree.label[0] ?? -1]?.name && !tree.labels[tree.label[0] ?? -1]?.module;
  return modulesIn({ tree: shown }).filter(({ name }) => !name.startsWith("[") && !isAll(name)).slice(0, most);
}
