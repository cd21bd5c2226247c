/** The progress of answers that take long. */
import { useEffect, useState } from "preact/hooks";
import { isReport } from "./ask";

export interface Progress {
  /** The current step, from 1; 0 while the question waits for its turn. */
  step: number;
  /** The fraction of the step that is done. */
  done: number;
}

/** The progress of faster answers is not shown, in milliseconds. */
const FIRST = 700;
const EVERY = 500;

/** The progress of the answer to a question, if known and if it takes long; null if nothing is being asked. */
export function useProgress(question: string | null): Progress | null {
  const [progress, setProgress] = useState<Progress | null>(null);
  useEffect(() => {
    setProgress(null);
    if (question === null || isReport) return;
    let timer = setTimeout(look, FIRST);
    let isOver = false;
    async function look() {
      const all = await fetch("api/progress").then((response) => response.json(), () => ({ result: [] })) as { result: (Progress & { question: string })[] };
      if (isOver) return;
      setProgress(all.result.find((one) => isSame(one.question, question ?? "")) ?? null);
      timer = setTimeout(look, EVERY);
    }
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [question]);
  return progress;
}

/** Browsers differ in which characters they escape. */
function isSame(a: string, b: string): boolean {
  return a === b || decodeURIComponent(a) === decodeURIComponent(b);
}
