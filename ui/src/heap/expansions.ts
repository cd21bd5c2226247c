/** Questions about the boxes of a picture that were opened, in addition to what the picture shows. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, type Params } from "../api/ask";

/** The answers that have arrived, by opened box. */
export function useExpansions<T>(question: string, open: readonly string[], params: (one: string) => Params): ReadonlyMap<string, T> {
  const [known, setKnown] = useState<ReadonlyMap<string, T>>(new Map());
  const keys = open.map((one) => JSON.stringify(params(one)));
  const all = keys.join(" ");
  useEffect(() => {
    const stop = new AbortController();
    open.forEach((one, at) => {
      const key = keys[at] ?? "";
      if (known.has(key)) return;
      ask<T>(question, params(one), stop.signal).then(
        ({ result }) => setKnown((old) => new Map(old).set(key, result)),
        () => undefined,
      );
    });
    return () => stop.abort();
  }, [question, all]);
  return useMemo(() => {
    const there = open.map((one, at) => [one, known.get(keys[at] ?? "")] as const);
    return new Map(there.filter((pair): pair is readonly [string, T] => pair[1] !== undefined));
  }, [question, all, known]);
}

/** The opened boxes with this one added, or removed if it was open. */
export function toggled(open: readonly string[], one: string): string[] {
  return open.includes(one) ? open.filter((other) => other !== one) : [...open, one];
}
