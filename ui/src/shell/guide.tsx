/**
 * A one-minute tour for newcomers: a bar at the bottom of the page that goes through the views, outlines one element in each, and
 * says which question it answers. It is offered once, and the page stays usable meanwhile.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { isReport } from "../api/ask";
import type { ShownFile } from "../api/files";
import { useKeys } from "../state/keys";
import { recall, remember } from "../state/memory";
import "./guide.css";
import { stepsFor } from "./guide-steps";

const MEMORY = "bactrian-guide";
/** The interval between checks for the target and its position, in milliseconds. */
const LOOK = 200;

export type GuideState = "offered" | "shown" | "off";

/** Whether the guide is offered or shown. It is not offered again after being seen or declined, and never in a report. */
export function useGuide(): [GuideState, (next: "shown" | "off") => void] {
  const [state, setState] = useState<GuideState>(() => (isReport || recall(MEMORY) !== null ? "off" : "offered"));
  const change = (next: "shown" | "off") => {
    remember(MEMORY, "seen");
    setState(next);
  };
  return [state, change];
}

export function GuideOffer({ onAnswer }: { onAnswer: (next: "shown" | "off") => void }) {
  return (
    <p class="guide-offer" data-testid="guide-offer">
      New here? <button class="link" onClick={() => onAnswer("shown")}>Take a one-minute tour</button>
      <button class="quiet" onClick={() => onAnswer("off")}>No, thanks</button>
    </p>
  );
}

export function Guide({ files, goTo, onEnd }: { files: readonly ShownFile[]; goTo: (view: string) => void; onEnd: () => void }) {
  // New files do not change the tour.
  const [steps] = useState(() => stepsFor(files));
  const [at, setAt] = useState(0);
  const next = useRef<HTMLButtonElement>(null);
  const step = steps[at];
  const go = (by: number) => (at + by >= steps.length ? onEnd() : setAt(Math.max(0, at + by)));
  const keys: Record<string, () => void> = { ArrowRight: () => go(1), ArrowLeft: () => go(-1), Escape: onEnd };
  useKeys([
    { key: "Escape", what: "end the tour", run: onEnd },
    { key: "ArrowRight", what: "next step of the tour", run: () => go(1) },
    { key: "ArrowLeft", what: "previous step of the tour", run: () => go(-1) },
  ]);
  useEffect(() => {
    const before = document.activeElement;
    next.current?.focus();
    return () => {
      // On a narrow screen the last step scrolls sideways.
      scrollTo({ left: 0 });
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  useEffect(() => {
    if (step?.view) goTo(step.view);
  }, [at]);
  useOutline(step?.targets ?? []);
  if (!step) return null;
  const isLast = at === steps.length - 1;
  // Views have the same keys and precedence within a view. With the focus in the guide, keys are for the guide.
  const onKeyDown = (event: KeyboardEvent) => {
    const run = keys[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  };
  return (
    <section class="guide" role="dialog" aria-modal="false" aria-label="Tour" data-testid="guide" onKeyDown={onKeyDown}>
      <div class="guide-text" aria-live="polite">
        <h2>{step.title}</h2>
        <p>{step.text}</p>
      </div>
      <div class="guide-steps">
        <span class="faint">{at + 1} of {steps.length}</span>
        <button onClick={() => go(-1)} disabled={at === 0}>Back</button>
        <button ref={next} class="next" onClick={() => go(1)}>{isLast ? "Done" : "Next"}</button>
        {!isLast && <button class="quiet" onClick={onEnd}>Skip</button>}
      </div>
    </section>
  );
}

/** Outlines the first of these elements as soon as it exists, and keeps it in view until the user scrolls. */
function useOutline(targets: readonly string[]): void {
  useEffect(() => {
    let outlined: Element | null = null;
    let isOurs = true;
    const leave = () => outlined?.removeAttribute("data-guided");
    const look = () => {
      const found = targets.map((target) => document.querySelector(target)).find((element) => element !== null) ?? null;
      if (found !== outlined) {
        leave();
        outlined = found;
        outlined?.setAttribute("data-guided", "");
      }
      // Its margins, set in the style sheet, keep it clear of the bars above and below.
      if (isOurs) outlined?.scrollIntoView({ block: "nearest", inline: "nearest" });
    };
    const letGo = () => (isOurs = false);
    look();
    const timer = setInterval(look, LOOK);
    addEventListener("wheel", letGo, { passive: true });
    addEventListener("touchmove", letGo, { passive: true });
    return () => {
      clearInterval(timer);
      removeEventListener("wheel", letGo);
      removeEventListener("touchmove", letGo);
      leave();
    };
  }, [targets]);
}
