/** All views, and which files they show. */
import type { ComponentType } from "preact";
import type { FileKind, ShownFile, ViewProps } from "../api/files";
import { EvolutionView } from "../evolution/view";
import { FleetView } from "../fleet/view";
import { GcView } from "../gc/view";
import { HeapView } from "../heap/view";
import { LiveView } from "../live/view";
import { Overview } from "../overview/view";
import { QueryView } from "../query/view";
import { TraceView } from "../trace/view";

export interface View {
  id: string;
  title: string;
  /** `g` followed by this key goes there. */
  key: string;
  /** The kind of file that it shows; null for all files but those that only their own view shows. */
  kind: FileKind | null;
  /** The least number of such files. */
  least: number;
  /** Whether it needs an SQL engine. */
  needsSql?: boolean;
  show: ComponentType<ViewProps>;
}

export const VIEWS: readonly View[] = [
  { id: "overview", title: "Overview", key: "o", kind: null, least: 1, show: Overview },
  { id: "trace", title: "Trace", key: "t", kind: "trace", least: 1, show: TraceView },
  { id: "heap", title: "Heap", key: "h", kind: "snapshot", least: 1, show: HeapView },
  { id: "evolution", title: "Evolution", key: "e", kind: "snapshot", least: 2, show: EvolutionView },
  { id: "live", title: "Live", key: "l", kind: "live", least: 1, show: LiveView },
  { id: "fleet", title: "Fleet", key: "f", kind: "fleet", least: 1, show: FleetView },
  { id: "gc", title: "GC", key: "c", kind: "gc", least: 1, show: GcView },
  { id: "query", title: "Query", key: "q", kind: null, least: 1, needsSql: true, show: QueryView },
];

/** Files that nothing but their own view is about. */
const OF_THEIR_OWN: readonly FileKind[] = ["fleet", "gc"];

export function shows(view: View, files: readonly ShownFile[], knowsSql: boolean): boolean {
  if (view.needsSql && !knowsSql) return false;
  if (view.kind === null) return files.some((file) => !OF_THEIR_OWN.includes(file.kind));
  return files.filter((file) => file.kind === view.kind).length >= view.least;
}

/**
 * The file that a view shows: the requested one, or the first of its kind; for snapshots the last, which has what stayed in
 * memory.
 */
export function fileFor(view: View, wanted: number, files: readonly ShownFile[]): number {
  if (view.kind === null || files[wanted]?.kind === view.kind) return wanted < files.length ? wanted : 0;
  const of = files.flatMap((file, at) => (file.kind === view.kind ? [at] : []));
  return (view.kind === "snapshot" ? of[of.length - 1] : of[0]) ?? 0;
}
