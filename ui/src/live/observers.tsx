/** What a program lets be observed, by kind: values, trees as trees, and the line of the one that is chosen. */
import { useMemo } from "preact/hooks";
import { canAsk } from "../api/ask";
import type { Distribution, Observer, SiteRow, TreeNode } from "../api/generated";
import { bytes, count, seconds } from "../format";
import { Answered, Panel } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { useRoute } from "../state/route";
import { LiveChart, timeParams, type Watched } from "./charts";
import { amount, byKind, isOfRuntime, treeLines } from "./live";
import { useLive } from "./use-live";

function useObservers(watched: Watched) {
  const { last: _, ...params } = timeParams(watched.watch);
  return useLive("live/observers", { file: watched.file, ...params }, watched.following);
}

/** All observers of the program, or those of its runtime. */
export function ObserversPart(watched: Watched) {
  const { params, go } = useRoute();
  const asked = useObservers(watched);
  const chosen = params.get("observer");
  return (
    <Answered asked={asked}>
      {({ observers }) => {
        const groups = byKind(observers);
        const ofRuntime = observers.filter((observer) => isOfRuntime(observer.name));
        const runtime = ofRuntime.filter((observer) => observer.kind !== "sites" && observer.state !== "failed");
        // Said once: it is the same for most of them.
        const unknown = [...new Set(ofRuntime.filter((observer) => observer.state === "failed").map((observer) => String(observer.value)))];
        const all = [...groups, { title: "Runtime and process", observers: runtime }];
        const one = observers.find((observer) => observer.title === chosen);
        return (
          <>
            {groups.length === 0 && (
              <p class="faint">The program lets nothing be observed itself: it is not linked with Bactrian's library, or has not said anything yet.</p>
            )}
            {one && one.kind !== "text" && one.kind !== "sites" && canAsk("live/chart", { file: watched.file, name: [one.title], ...timeParams(watched.watch) }) && (
              <LiveChart {...watched} title={one.title} names={[one.title]} height={15} />
            )}
            <div class="groups">
              {all.map((group, at) => (
                <Panel key={group.title} title={group.title}>
                  <ObserverTable observers={group.observers} title={group.title} keys={at === 0} selected={chosen ?? undefined} onOpen={(observer) => go({ params: { observer: observer.title === chosen ? null : observer.title } }, { replace: true })} />
                  {at === all.length - 1 && unknown.map((why) => <p key={why} class="faint">Not all numbers are known: {why}.</p>)}
                  {group.title === "Trees" && group.observers.map((observer) => <TreePicture key={observer.title} observer={observer} />)}
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
      return [name, one("time", "seconds", seconds), one("runs", "runs"), { title: "runs now", cell: (observer) => (fields(observer)["running"] ? "yes" : "") }];
    case "tag":
      return [name, one("alive", "count"), one("size", "bytes", bytes)];
    case "table":
      return [name, one("bindings", "bindings"), one("buckets", "buckets"), one("empty", "empty"), one("longest", "longest")];
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

function TreePicture({ observer }: { observer: Observer }) {
  if (observer.state !== "observed") return null;
  const lines = treeLines(observer.value as { nodes: TreeNode[] });
  return (
    <details class="tree" open>
      <summary class="mono">{observer.title}</summary>
      <ul>
        {lines.map((line, at) => (
          <li key={at} style={{ paddingLeft: `${line.depth * 1.1}rem` }} class="mono">
            {line.depth > 0 && <span class="faint">└ </span>}
            {line.label}
            {line.again && <span class="faint"> (see above)</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Where the program allocates. */
export function SitesPart(watched: Watched) {
  const asked = useObservers(watched);
  return (
    <Answered asked={asked}>
      {({ observers }) => {
        const found = observers.find((observer) => observer.kind === "sites");
        if (!found || found.state !== "observed") {
          return <p class="faint">{found?.state === "failed" ? String(found.value) : "Where the program allocates is known if it was started by bactrian, or recorded with sampling."}</p>;
        }
        return <SiteTable sites={found.value as SiteRow[]} />;
      }}
    </Answered>
  );
}

const SITE_COLUMNS = (most: number, live: number): TableColumn<SiteRow>[] => [
  { title: "site", cell: (site) => <span class="mono" title={site.name}>{site.name}</span>, value: (site) => site.name, wide: true },
  { title: "allocates", cell: (site) => `${bytes(site.bytes_per_second)}/s`, value: (site) => site.bytes_per_second, bar: (site) => site.bytes_per_second / most, number: true },
  { title: "live", cell: (site) => bytes(site.live_bytes), value: (site) => site.live_bytes, bar: (site) => site.live_bytes / live, number: true },
  { title: "samples", cell: (site) => count(site.samples), value: (site) => site.samples, number: true, help: "On how many samples the numbers rest" },
];

function SiteTable({ sites }: { sites: SiteRow[] }) {
  const most = Math.max(1, ...sites.map((site) => site.bytes_per_second));
  const live = Math.max(1, ...sites.map((site) => site.live_bytes));
  const columns = useMemo(() => SITE_COLUMNS(most, live), [most, live]);
  return (
    <Panel title="Where it allocates" tools={<span class="faint">estimated from samples</span>}>
      <Table columns={columns} rows={sites} id={(site) => site.name} title="sites" />
    </Panel>
  );
}
