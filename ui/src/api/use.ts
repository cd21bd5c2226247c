/** Answers for components: requested when the question changes; the old answer stays until the new one arrives. */
import { useEffect, useState } from "preact/hooks";
import { ask, askAtOnce, key, type Answer, type Params } from "./ask";

export interface Asked<T> {
  answer: Answer<T> | undefined;
  /** Why there is no answer, in a sentence. */
  error: string | undefined;
  loading: boolean;
  /** The question being asked; null for none. */
  question: string | null;
}

/** Asks a question, unless the name is null. A change of `again` asks it again. */
export function useAnswer<T>(name: string | null, params: Params, again: unknown = 0): Asked<T> {
  const question = name === null ? "" : key(name, params);
  const [state, setState] = useState<Asked<T>>({
    answer: undefined,
    error: undefined,
    loading: name !== null,
    question,
  });
  useEffect(() => {
    if (name === null) return;
    const stop = new AbortController();
    setState((old) => ({ ...old, loading: true, question }));
    ask<T>(name, params, stop.signal).then(
      (answer) => {
        if (!stop.signal.aborted) setState({ answer, error: undefined, loading: false, question });
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        const sentence = error instanceof Error ? error.message : String(error);
        setState({ answer: undefined, error: sentence, loading: false, question });
      },
    );
    return () => stop.abort();
    // The question contains all parameters.
  }, [question, again]);
  if (name === null) return { answer: undefined, error: undefined, loading: false, question: null };
  const known = askAtOnce<T>(question);
  if (known instanceof Error) return { answer: undefined, error: known.message, loading: false, question };
  return known === null ? state : { answer: known, error: undefined, loading: false, question };
}
