/** Answers for components: asked when the question changes, and the old one stays while the new one is on its way. */
import { useEffect, useState } from "preact/hooks";
import { ask, askAtOnce, key, type Answer, type Params } from "./ask";

export interface Asked<T> {
  answer: Answer<T> | undefined;
  /** Why there is none, in a sentence. */
  error: string | undefined;
  loading: boolean;
  /** What is being asked; null: nothing. */
  question: string | null;
}

/** Asks a question; with the name null none is asked. `again` asks it again when it changes. */
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
    // The question says all that the parameters say.
  }, [question, again]);
  if (name === null) return { answer: undefined, error: undefined, loading: false, question: null };
  const known = askAtOnce<T>(question);
  if (known instanceof Error) return { answer: undefined, error: known.message, loading: false, question };
  return known === null ? state : { answer: known, error: undefined, loading: false, question };
}
