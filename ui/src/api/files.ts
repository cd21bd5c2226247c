/** The list of shown files, which grows when a snapshot is taken from the page. */
import { useEffect, useState } from "preact/hooks";
import { isReport } from "./ask";
import { useAnswer, type Asked } from "./use";

export type FileKind = "trace" | "snapshot" | "live" | "fleet" | "gc";

export interface ShownFile {
  path: string;
  name: string;
  kind: FileKind;
  state: "opening" | "open" | "failed";
  /** The fraction that was read, from 0 to 1. */
  done: number;
  /** Whether it is a process of which the page can take a snapshot. */
  takes_snapshots: boolean;
}

/** The snapshot that is being taken, or was taken last. */
export type Taking = {
  /** How many were requested, including this one. */
  number: number;
  /** The file of which it is taken. */
  of: number;
} & (
  | { state: "freezing" }
  | { state: "reading"; done: number }
  /** The new file has this index. */
  | { state: "taken"; file: number; said: string[] }
  | { state: "failed"; why: string }
);

export interface Files {
  version: string;
  files: ShownFile[];
  taking: Taking | null;
  /** Whether there is an SQL engine. */
  knows_sql: boolean;
}

/** The properties of every view. */
export interface ViewProps {
  /** The index of the shown file. */
  file: number;
  /** All files. */
  files: ShownFile[];
  /** The snapshot that is being taken, or was taken last. */
  taking: Taking | null;
}

/** The polling interval while something is being opened or taken, in milliseconds. */
const SOON = 300;
/** The polling interval while another tab may take a snapshot. */
const NOW_AND_THEN = 2000;

const waiting = new Set<() => void>();

/** Reloads the list of files at once, after a request that changes it. */
export function lookAgain(): void {
  waiting.forEach((look) => look());
}

export function isUnderWay(taking: Taking | null | undefined): boolean {
  return taking?.state === "freezing" || taking?.state === "reading";
}

/** When to ask again; null if nothing will change. */
function nextLook(files: Files | undefined): number | null {
  if (!files || isReport) return null;
  if (isUnderWay(files.taking) || files.files.some((file) => file.state === "opening")) return SOON;
  return files.files.some((file) => file.takes_snapshots) ? NOW_AND_THEN : null;
}

/** The list of files, reloaded as long as it may change. */
export function useFiles(): Asked<Files> {
  const [round, setRound] = useState(0);
  const asked = useAnswer<Files>("files", {}, round);
  const next = nextLook(asked.answer?.result);
  useEffect(() => {
    const look = () => setRound((n) => n + 1);
    waiting.add(look);
    return () => void waiting.delete(look);
  }, []);
  useEffect(() => {
    if (next === null || asked.loading) return;
    const timer = setTimeout(() => setRound((n) => n + 1), next);
    return () => clearTimeout(timer);
  }, [next, round, asked.loading]);
  return asked;
}
