/** A window on the rows of an answer: the first rows, and more as the user scrolls. The server sorts and searches. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, canAsk, isReport, key, type Params } from "./ask";
import { useAnswer, type Asked } from "./use";

/** The number of rows per request. */
export const ROWS = 200;
/** The number of rows per request of an export, which is the most in any answer. */
const AT_ONCE = 5000;

export interface RowWindow<R> {
  rows: readonly R[];
  /** The number of all rows. */
  count: number;
  /** Requests the next rows; null if there are none, or they are not available. */
  more: (() => void) | null;
  /** Requests all rows, for an export. */
  all: () => Promise<readonly R[]>;
}

/** Requests the first rows, and returns a window on all of them. `rowsOf` extracts the rows from an answer. */
export function useWindow<A, R>(
  name: string | null,
  params: Params,
  rowsOf: (answer: A) => { rows: readonly R[]; row_count: number },
): { asked: Asked<A>; window: RowWindow<R> } {
  const first = { ...params, number: ROWS };
  const asked = useAnswer<A>(name, first);
  const question = name === null ? "" : key(name, first);
  const [later, setLater] = useState<{ of: string; rows: readonly R[] }>({ of: "", rows: [] });
  const loading = useRef<string | null>(null);
  useEffect(() => {
    loading.current = null;
  }, [question]);
  const found = asked.answer ? rowsOf(asked.answer.result) : { rows: [], row_count: 0 };
  const isCurrent = later.of === question && !asked.loading;
  const rows = isCurrent ? [...found.rows, ...later.rows] : found.rows;
  const next = { ...first, offset: rows.length };
  const hasMore = name !== null && !asked.loading && rows.length < found.row_count && canAsk(name, next);
  const more = () => {
    const wanted = key(name ?? "", next);
    if (loading.current === wanted) return;
    loading.current = wanted;
    ask<A>(name ?? "", next).then(
      (answer) => {
        if (loading.current !== wanted) return;
        loading.current = null;
        setLater((old) => ({ of: question, rows: [...(old.of === question ? old.rows : []), ...rowsOf(answer.result).rows] }));
      },
      () => {
        loading.current = null;
      },
    );
  };
  const all = async () => {
    if (isReport || name === null) return rows;
    const whole: R[] = [];
    for (;;) {
      const answer = await ask<A>(name, { ...params, number: AT_ONCE, offset: whole.length });
      const part = rowsOf(answer.result);
      whole.push(...part.rows);
      if (part.rows.length === 0 || whole.length >= part.row_count) return whole;
    }
  };
  return { asked, window: { rows, count: found.row_count, more: hasMore ? more : null, all } };
}
