/** A question about a store, which takes seconds: its progress, a button that cancels it, and the answer. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { key, type Params } from "../api/ask";
import { useAnswer } from "../api/use";
import { Answered } from "../parts/controls";
import type { FleetAnswer } from "./answers";

/** Answers that the server has kept arrive sooner, in milliseconds. */
const LONG = 400;

export function Asked(props: { params: Params; children: (fleet: FleetAnswer, command: string | null) => ComponentChildren }) {
  const question = key("fleet", props.params);
  const [stopped, setStopped] = useState("");
  // An aborted request is cancelled by the server, which ends the engine.
  const isStopped = stopped === question;
  const asked = useAnswer<FleetAnswer>(isStopped ? null : "fleet", props.params);
  const [isLong, setIsLong] = useState(false);
  useEffect(() => {
    setIsLong(false);
    if (!asked.loading) return;
    const timer = setTimeout(() => setIsLong(true), LONG);
    return () => clearTimeout(timer);
  }, [asked.loading, question]);
  if (isStopped) {
    return (
      <p class="faint" role="status">
        Stopped. <button class="link" onClick={() => setStopped("")}>Ask again</button>
      </p>
    );
  }
  return (
    <>
      {asked.loading && isLong && (
        <p class="faint" role="status">
          Asking the engine… <button onClick={() => setStopped(question)}>Stop</button>
        </p>
      )}
      <Answered asked={asked}>{(fleet) => props.children(fleet, asked.answer?.command ?? null)}</Answered>
    </>
  );
}
