/** A program's observers by kind: values, trees as graphs, and charts of the chosen ones. */
import { useMemo, useState } from "preact/hooks";
import { canAsk } from "../api/ask";
import type { Distribution, Observer, SiteRow, TreeNode } from "../api/generated";
import { bytes, count, percent, seconds } from "../format";
import { Answered, Panel, Segmented, Toggle } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { LinksPicture } from "../pictures/links_picture";
import { useRoute } from "../state/route";
import { LiveChart, timeParams, type Watched } from "./charts";
import { amount, byKind, drawnTree, graphsOf, isOfRuntime, treeLines } from "./live";
import { useLive } from "./use-live";

function useObservers(watched: Watched) {
  const { last: _, ...params } = timeParams(watched.watch);
  return useLive("live/observers", { file: watched.file, ...params }, watched.following);
}

/** All observers of the program, or those of its runtime. */
export function ObserversPart(watched: Watched) {
  const { params, go } = useRoute();
  const asked = useObservers(watched);
  const chosen = params.getAll("observer");
  const isTogether = params.has("together");
  const toggle = ({ title }: Observer) =>
    go({ params: { observer: chosen.includes(title) ? chosen.filter((one) => one !== title) : [...chosen, title] } }, { replace: true });
  return (
    <Answered asked={asked}>
      {({ observers }) => {
        const groups = byKind(observers);
        const ofRuntime = observers.filter((observer) => isOfRuntime(observer.name));
        const runtime = ofRuntime.filter((observer) => observer.kind !== "sites" && observer.state !== "failed");
        // Shown once, because the reason is the same for most of them.
        const unknown = [...new Set(ofRuntime.filter((observer) => observer.state === "failed").map((observer) => String(observer.value)))];
        const all = [...groups, { title: "Runtime and process", observers: runtime }];
        const graphs = graphsOf(chosen.flatMap((title) => observers.find((observer) => observer.title === title) ?? []), isTogether);
        const isAnswered = (names: readonly string[]) => canAsk("live/chart", { file: watched.file, name: names, ...timeParams(watched.watch) });
        return (
          <>
            {groups.length === 0 && (
              <p class="faint">The program publishes no observers: it is not linked with Bactrian's library, or has not published any yet.</p>
            )}
            {chosen.length > 1 && (
              <p class="graph-tools">
                <Toggle label="one graph per unit" on={isTogether} onChange={(on) => go({ params: { together: on ? "" : null } }, { replace: true })} />
                <button onClick={() => go({ params: { observer: null, together: null } }, { replace: true })}>Close all graphs</button>
              </p>
            )}
            {graphs.length > 0 && (
              <div class={graphs.length > 1 ? "charts chosen" : ""}>
                {graphs.filter(({ names }) => isAnswered(names)).map((graph) => (
                  <LiveChart key={graph.title} {...watched} {...graph} height={15} />
                ))}
              </div>
            )}
            <div class="groups">
              {all.map((group, at) => (
                <Panel key={group.title} title={group.title}>
                  <ObserverTable observers={group.observers} title={group.title} keys={at === 0} selected={chosen.at(-1)} onOpen={toggle} />
                  {at === all.length - 1 && unknown.map((why) => <p key={why} class="faint">Some numbers are unknown: {why}.</p>)}
                  {group.title === "Trees" && group.observers.map((observer) => <Tree key={observer.title} observer={observer} />)}
                </Panel>
              ))}
            </div>
          </>
        );
      }}
    </Answered>
  );
}

function ObserverTable(props: { observers: Observer[]; title: string; keys: boolean; selected: string | undefined; onOpen: (observer: Observer) => void }) {
  const kind = props.observers[0]?.kind ?? "";
  const columns = useMemo(() => columnsOf(kind), [kind]);
  return (
    <Table columns={columns} rows={props.observers} id={(observer) => observer.title} title={props.title} keys={props.keys} selected={props.selected} onOpen={props.onOpen} />
  );
}

function columnsOf(kind: string): TableColumn<Observer>[] {
  const name: TableColumn<Observer> = { title: "name", cell: (observer) => <span class="mono" title={observer.title}>{observer.title}</span>, value: (observer) => observer.title };
  const fields = (observer: Observer) => (typeof observer.value === "object" && observer.value !== null ? (observer.value as Record<string, unknown>) : {});
  const one = (title: string, field: string, show: (value: number) => string = count): TableColumn<Observer> => ({
    title,
    cell: (observer) => {
      const value = fields(observer)[field];
      return typeof value === "number" ? show(value) : observer.state === "observed" ? "" : <span class="faint">{observer.text}</span>;
    },
    value: (observer) => Number(fields(observer)[field] ?? 0),
    number: true,
  });
  const spread = (of: (observer: Observer) => Distribution | undefined, unit: (observer: Observer) => Observer["unit"]): TableColumn<Observer>[] =>
    (["count", "p50", "p90", "p99", "max"] as const).map((field) => ({
      title: field,
      cell: (observer) => {
        const value = of(observer)?.[field];
        return value === undefined ? <span class="faint">{field === "count" ? observer.text : ""}</span> : field === "count" ? count(value) : amount(value, unit(observer));
      },
      value: (observer) => of(observer)?.[field] ?? 0,
      number: true,
    }));
  switch (kind) {
    case "time":
      return [name, one("time", "seconds", seconds), one("share of time", "share", percent), one("runs", "runs"), { title: "runs now", cell: (observer) => (fields(observer)["running"] ? "yes" : "") }];
    case "tag":
      return [name, one("alive", "count"), one("size", "bytes", bytes)];
    case "table":
      return [name, one("bindings", "bindings"), one("buckets", "buckets"), one("filled", "fill", percent), one("longest", "longest")];
    case "histogram":
      return [name, ...spread((observer) => (observer.state === "observed" ? (observer.value as Distribution) : undefined), (observer) => observer.unit)];
    case "span":
      return [name, one("open", "open"), ...spread((observer) => fields(observer)["durations"] as Distribution | undefined, () => "nanoseconds")];
    default:
      return [
        name,
        {
          title: "value",
          cell: (observer) => <span class={observer.state === "observed" ? "" : "faint"} title={observer.text}>{observer.text}</span>,
          value: (observer) => (typeof observer.value === "number" ? observer.value : observer.text),
          number: true,
        },
      ];
  }
}

/** A picture with more nodes is not informative. */
const MOST_DRAWN = 300;

/** A tree or graph, as a picture and as lines of text. */
function Tree({ observer }: { observer: Observer }) {
  const nodes = observer.state === "observed" ? (observer.value as { nodes: TreeNode[] }).nodes : [];
  const canDraw = nodes.length > 0 && nodes.length <= MOST_DRAWN;
  const [as, setAs] = useState<"graph" | "text">("graph");
  const [selected, select] = useState<string | undefined>();
  const shape = JSON.stringify(nodes);
  const drawn = useMemo(() => drawnTree(nodes), [shape]);
  if (observer.state !== "observed") return null;
  return (
    <details class="tree" open>
      <summary class="mono">{observer.title}</summary>
      {canDraw && <Segmented label={`${observer.title} as`} options={[["graph", "Graph"], ["text", "Text"]]} value={as} onChange={setAs} />}
      {canDraw && as === "graph" ? (
        <LinksPicture {...drawn} title={observer.title} selected={selected} onSelect={select} keys={false} />
      ) : (
        <TreeText nodes={nodes} />
      )}
    </details>
  );
}

function TreeText({ nodes }: { nodes: TreeNode[] }) {
  return (
    <ul>
      {treeLines({ nodes }).map((line, at) => (
        <li key={at} style={{ paddingLeft: `${line.depth * 1.1}rem` }} class="mono">
          {line.depth > 0 && <span class="faint">└ </span>}
          {line.label}
          {line.again && <span class="faint"> (see above)</span>}
        </li>
      ))}
    </ul>
  );
}

/** Allocation sites. */
export function SitesPart(watched: Watched) {
  const asked = useObservers(watched);
  return (
    <Answered asked={asked}>
      {({ observers, not_seen }) => {
        const found = observers.find((observer) => observer.kind === "sites");
        if (!found || found.state !== "observed") {
          return <p class="faint">{found?.state === "failed" ? String(found.value) : "Allocation sites are known only if bactrian started the program, or if it is being recorded."}</p>;
        }
        return <SiteTable sites={found.value as SiteRow[]} notSeen={not_seen} />;
      }}
    </Answered>
  );
}

const SITE_COLUMNS = (most: number, live: number): TableColumn<SiteRow>[] => [
  { title: "site", cell: (site) => <span class="mono" title={site.name}>{site.name}</span>, value: (site) => site.name, wide: true },
  { title: "allocates", cell: (site) => `${bytes(site.bytes_per_second)}/s`, value: (site) => site.bytes_per_second, bar: (site) => site.bytes_per_second / most, number: true },
  { title: "live", cell: (site) => bytes(site.live_bytes), value: (site) => site.live_bytes, bar: (site) => site.live_bytes / live, number: true },
  { title: "samples", cell: (site) => count(site.samples), value: (site) => site.samples, number: true, help: "The number of samples behind the numbers" },
];

function SiteTable({ sites, notSeen }: { sites: SiteRow[]; notSeen: string }) {
  const most = Math.max(1, ...sites.map((site) => site.bytes_per_second));
  const live = Math.max(1, ...sites.map((site) => site.live_bytes));
  const columns = useMemo(() => SITE_COLUMNS(most, live), [most, live]);
  return (
    <Panel title="Where it allocates" tools={<span class="faint">estimated from samples</span>}>
      <Table columns={columns} rows={sites} id={(site) => site.name} title="sites" />
      <p class="faint">{notSeen}</p>
    </Panel>
  );
}
