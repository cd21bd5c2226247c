/** How far answers have come that take long. */
import { useEffect, useState } from "preact/hooks";
import { isReport } from "./ask";

export interface Progress {
  /** Which step it is at, from 1; at 0 it waits for its turn. */
  step: number;
  /** How much of the step is done, up to 1. */
  done: number;
}

/** Nobody wants to know it of an answer that is there in a moment. */
const FIRST = 700;
const EVERY = 500;

/** How far the answer to a question has come, if it is known and takes long; null: nothing is asked. */
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

/** Browsers escape letters of their own choice. */
function isSame(a: string, b: string): boolean {
  return a === b || decodeURIComponent(a) === decodeURIComponent(b);
}
