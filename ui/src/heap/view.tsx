/** A heap snapshot: who holds the memory, what it is, and any block of it. */
import { useState } from "preact/hooks";
import { ask, isReport } from "../api/ask";
import { Search } from "../parts/controls";
import type { ViewProps } from "../api/files";
import { useKeys } from "../state/keys";
import { linkTo, useRoute } from "../state/route";
import { BlocksTab } from "./blocks";
import { ClassesTab } from "./classes";
import { CollectionsTab } from "./collections";
import { CompareTab } from "./compare";
import { DominatorsTab } from "./dominators";
import { DuplicatesTab } from "./duplicates";
import { FinalisersTab } from "./finalisers";
import { FindingsTab } from "./findings";
import { GraphTab } from "./graph";
import { Inspector } from "./inspector";
import { PathsTab } from "./paths";
import type { TabProps } from "./parts";
import { RootsTab } from "./roots";
import { WhatIfPanel } from "./what_if";
import "./heap.css";

interface Tab {
  part: string;
  title: string;
  show: (props: TabProps) => preact.JSX.Element;
  /** The least number of snapshots. */
  least?: number;
}

const TABS: readonly Tab[] = [
  { part: "findings", title: "Findings", show: FindingsTab },
  { part: "roots", title: "Roots", show: RootsTab },
  { part: "dominators", title: "Dominators", show: DominatorsTab },
  { part: "types", title: "Types", show: ({ file }) => <ClassesTab file={file} by="types" /> },
  { part: "modules", title: "Modules", show: ({ file }) => <ClassesTab file={file} by="modules" /> },
  { part: "functions", title: "Functions", show: ({ file }) => <ClassesTab file={file} by="functions" /> },
  { part: "sites", title: "Sites", show: ({ file }) => <ClassesTab file={file} by="sites" /> },
  { part: "tags", title: "Tags", show: ({ file }) => <ClassesTab file={file} by="tags" /> },
  { part: "blocks", title: "Blocks", show: BlocksTab },
  { part: "paths", title: "Paths", show: PathsTab },
  { part: "graph", title: "Graph", show: GraphTab },
  { part: "collections", title: "Collections", show: CollectionsTab },
  { part: "duplicates", title: "Duplicates", show: DuplicatesTab },
  { part: "finalisers", title: "Finalisers", show: FinalisersTab },
  { part: "compare", title: "Compare", show: CompareTab, least: 2 },
];

/** Most users want to know who holds the memory. */
const FIRST = "roots";

export function HeapView({ file, files }: ViewProps) {
  const route = useRoute();
  const snapshots = files.filter(({ kind }) => kind === "snapshot").length;
  const tabs = TABS.filter(({ least = 1 }) => snapshots >= least);
  const tab = tabs.find(({ part }) => part === route.part) ?? tabs.find(({ part }) => part === FIRST);
  const node = route.params.get("node");
  const cuts = route.params.getAll("cut");
  const step = (by: number) => {
    const here = tabs.findIndex((one) => one === tab);
    const next = tabs[(here + by + tabs.length) % tabs.length];
    if (next) route.go({ part: next.part, params: { at: null } });
  };
  useKeys([
    { key: ">", what: "next tab", run: () => step(1) },
    { key: "<", what: "tab before", run: () => step(-1) },
    ...tabs.slice(0, 9).map(({ part, title }, at) => ({
      key: String(at + 1),
      what: title.toLowerCase(),
      run: () => route.go({ part, fresh: true, params: node ? { node } : {} }),
    })),
  ]);
  return (
    <div class="heap">
      <div class="heap-top">
        <nav class="tabs" aria-label="Heap">
          {tabs.map(({ part, title }) => (
            <a key={part} href={linkTo(route, { part, fresh: true, params: node ? { node } : {} })} aria-current={part === tab?.part ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        {!isReport && <Finder file={file} />}
      </div>
      <div class={node ? "heap-body with-inspector" : "heap-body"}>
        <div class="heap-main">
          {cuts.length > 0 && <WhatIfPanel file={file} cuts={cuts} />}
          {tab && <tab.show key={`${tab.part} ${files[file]?.path ?? ""}`} file={file} files={files} />}
        </div>
        {node && <Inspector file={file} block={node} />}
      </div>
    </div>
  );
}

/** Goes to what was typed: an address, a number, a value of a module, a type. */
function Finder({ file }: { file: number }) {
  const route = useRoute();
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const find = (what: string) => {
    if (!what.trim()) return;
    ask<{ node?: number; classes?: string[] }>("heap/find", { file, what: what.trim() }).then(
      ({ result }) => {
        setError("");
        if (result.node !== undefined) route.go({ params: { node: `@${result.node}` } });
        else route.go({ part: "types", fresh: true, params: { type: what.trim() } });
      },
      (reason: unknown) => setError(reason instanceof Error ? reason.message : String(reason)),
    );
  };
  return (
    <div class="finder">
      <Search label="Go to a block, value or type" value={text} onInput={setText} onEnter={find} />
      {error && <p class="error" role="alert">{error}</p>}
    </div>
  );
}
