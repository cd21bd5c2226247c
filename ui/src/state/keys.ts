/** Keys: components declare the keys that they handle, and the help lists them. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Key {
  /** As in `KeyboardEvent.key`; or two consecutive keys, separated by a space: `g t`. */
  key: string;
  /** What it does, for the help. Empty: not listed. */
  what: string;
  run: (event: KeyboardEvent) => void;
}

/** The layers declared last come first. */
const layers: { keys: () => readonly Key[] }[] = [];
const listeners = new Set<() => void>();
let waiting = "";
let waitingSince = 0;

/** Keys typed into a field are for the field. */
function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "range", "button"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

const RANGE_KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"]);

/** A focused control keeps its native keys: Enter and Space press it, arrows move it. */
function isOfControl(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  if (event.key === "Enter") return target.matches("a[href], button, summary");
  if (event.key === " ") return target.matches("button, summary, input");
  // A range input whose arrows belong to its view is marked.
  return RANGE_KEYS.has(event.key) && target.matches('input[type="range"]:not([data-keys="view"])');
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isOfControl(event)) return;
  if (isTyping(event)) {
    if (event.key === "Escape" && event.target instanceof HTMLElement) event.target.blur();
    return;
  }
  const since = Date.now() - waitingSince;
  const two = waiting && since < 1500 ? `${waiting} ${event.key}` : "";
  const all = [...layers].reverse().flatMap((layer) => layer.keys());
  const found = (two && all.find((key) => key.key === two)) || all.find((key) => key.key === event.key);
  const begins = all.some((key) => key.key.startsWith(`${event.key} `));
  waiting = !found && begins ? event.key : "";
  waitingSince = Date.now();
  if (!found) return;
  event.preventDefault();
  found.run(event);
}

/** Handles these keys while the component is mounted and `active`. */
export function useKeys(keys: readonly Key[], active = true): void {
  const now = useRef(keys);
  now.current = keys;
  // Synchronously: keys must work as soon as the component is visible.
  useLayoutEffect(() => {
    if (!active) return;
    const layer = { keys: () => now.current };
    if (layers.length === 0) addEventListener("keydown", onKey);
    layers.push(layer);
    listeners.forEach((tell) => tell());
    return () => {
      layers.splice(layers.indexOf(layer), 1);
      if (layers.length === 0) removeEventListener("keydown", onKey);
      listeners.forEach((tell) => tell());
    };
  }, [active]);
}

/** All current keys, those of the view first. */
export function useKnownKeys(): Key[] {
  const [, redraw] = useState(0);
  useEffect(() => {
    const tell = () => redraw((n) => n + 1);
    listeners.add(tell);
    return () => void listeners.delete(tell);
  }, []);
  const seen = new Set<string>();
  const all = [...layers].reverse().flatMap((layer) => layer.keys());
  return all.filter((key) => key.what && !seen.has(key.key) && seen.add(key.key));
}
