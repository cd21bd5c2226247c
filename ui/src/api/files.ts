/** The list of files that are shown. */
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
}

export interface Files {
  version: string;
  files: ShownFile[];
}

/** What a view is given. */
export interface ViewProps {
  /** The place of the file that is shown. */
  file: number;
  /** All that there are. */
  files: ShownFile[];
}

/** The files, asked again while some are being opened. */
export function useFiles(): Asked<Files> {
  const [round, setRound] = useState(0);
  const asked = useAnswer<Files>("files", {}, round);
  const isOpening = asked.answer?.result.files.some((file) => file.state === "opening") ?? false;
  useEffect(() => {
    if (!isOpening || isReport || asked.loading) return;
    const timer = setTimeout(() => setRound((n) => n + 1), 300);
    return () => clearTimeout(timer);
  }, [isOpening, round, asked.loading]);
  return asked;
}
