/** The list of files that are shown, which grows when a snapshot is taken from here. */
import { useEffect, useState } from "preact/hooks";
import { isReport } from "./ask";
import { useAnswer, type Asked } from "./use";

export type FileKind = "trace" | "snapshot" | "live";

export interface ShownFile {
  path: string;
  name: string;
  kind: FileKind;
  state: "opening" | "open" | "failed";
  /** How much of it is read, from 0 to 1. */
  done: number;
  /** Whether it is a process of which a snapshot can be taken from here. */
  takes_snapshots: boolean;
}

/** A snapshot that is being taken, or was taken last. */
export type Taking = {
  /** How many were asked for until then. */
  number: number;
  /** The file of which it is taken. */
  of: number;
} & (
  | { state: "freezing" }
  | { state: "reading"; done: number }
  /** It has this number among the files. */
  | { state: "taken"; file: number; said: string[] }
  | { state: "failed"; why: string }
);

export interface Files {
  version: string;
  files: ShownFile[];
  taking: Taking | null;
  /** Whether there is somebody who answers queries in SQL. */
  knows_sql: boolean;
}

/** What a view is given. */
export interface ViewProps {
  /** The place of the file that is shown. */
  file: number;
  /** All that there are. */
  files: ShownFile[];
  /** The snapshot that is being taken, or was taken last. */
  taking: Taking | null;
}

/** While something is being opened or taken. */
const SOON = 300;
/** While somebody else, in another tab, may take a snapshot. */
const NOW_AND_THEN = 2000;

const waiting = new Set<() => void>();

/** Has the list of files asked for at once: something was asked of the server that changes it. */
export function lookAgain(): void {
  waiting.forEach((look) => look());
}

export function isUnderWay(taking: Taking | null | undefined): boolean {
  return taking?.state === "freezing" || taking?.state === "reading";
}

/** When to ask again; null: nothing will change. */
function nextLook(files: Files | undefined): number | null {
  if (!files || isReport) return null;
  if (isUnderWay(files.taking) || files.files.some((file) => file.state === "opening")) return SOON;
  return files.files.some((file) => file.takes_snapshots) ? NOW_AND_THEN : null;
}

/** The files, asked for again as long as they may change. */
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
