/** Small controls for all views. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { canClick } from "../api/ask";
import { useProgress, type Progress } from "../api/progress";
import type { Asked } from "../api/use";
import { errorOf, bytes, type Estimate } from "../format";
import { useKeys } from "../state/keys";

/** A choice of one among a few options. */
export function Segmented<V extends string>(props: {
  label: string;
  options: readonly (readonly [V, string])[];
  value: V;
  onChange: (value: V) => void;
  /** Options that are not available: a report does not have them. */
  disabled?: ((value: V) => boolean) | undefined;
}) {
  for (const [value] of props.options) if (!props.disabled?.(value)) canClick(() => props.onChange(value));
  const group = useRef<HTMLDivElement>(null);
  // After Tab, arrow keys choose another option here. After a click, they belong to the view.
  const isByKeys = useRef(true);
  const isPressed = useRef(false);
  const open = props.options.filter(([value]) => !props.disabled?.(value)).map(([value]) => value);
  const stop = open.includes(props.value) ? props.value : open[0];
  const press = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined || !isByKeys.current || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const all = [...(group.current?.querySelectorAll<HTMLButtonElement>("button:enabled") ?? [])];
    const next = (all.indexOf(document.activeElement as HTMLButtonElement) + step + all.length) % all.length;
    all[next]?.focus();
    const value = open[next];
    if (value !== undefined) props.onChange(value);
  };
  return (
    <div
      class="segmented"
      role="radiogroup"
      aria-label={props.label}
      ref={group}
      onKeyDown={press}
      onPointerDown={() => {
        isPressed.current = true;
        isByKeys.current = false;
      }}
      onPointerUp={() => (isPressed.current = false)}
      onFocusIn={() => (isByKeys.current = !isPressed.current)}
    >
      {props.options.map(([value, text]) => (
        <button
          key={value}
          role="radio"
          aria-checked={value === props.value}
          tabIndex={value === stop ? 0 : -1}
          disabled={props.disabled?.(value) ?? false}
          onClick={() => props.onChange(value)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

/** A choice of one among many options. */
export function Select<V extends string>(props: {
  label: string;
  options: readonly (readonly [V, string])[];
  value: V;
  onChange: (value: V) => void;
}) {
  props.options.forEach(([value]) => canClick(() => props.onChange(value)));
  return (
    <label class="select">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value as V)}>
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A switch. */
export function Toggle(props: { label: string; title?: string; on: boolean; onChange: (on: boolean) => void }) {
  canClick(() => props.onChange(!props.on));
  return (
    <label class="toggle" title={props.title}>
      <input type="checkbox" checked={props.on} onChange={(event) => props.onChange(event.currentTarget.checked)} />
      {props.label}
    </label>
  );
}

/** A number on a scale. */
export function Slider(props: { label: string; min: number; max: number; value: number; onChange: (value: number) => void }) {
  return (
    <label class="slider">
      <span>{props.label}</span>
      <input
        type="range"
        min={props.min}
        max={props.max}
        value={props.value}
        onInput={(event) => props.onChange(event.currentTarget.valueAsNumber)}
      />
      <output>{props.value}</output>
    </label>
  );
}

/** A search field, which has the focus key `/`. Suggestions complete the input. */
export function Search(props: {
  label: string;
  value: string;
  onInput: (text: string) => void;
  onEnter?: (text: string) => void;
  suggestions?: readonly string[];
  /** The key that focuses it. */
  hotkey?: string;
}) {
  const input = useRef<HTMLInputElement>(null);
  const [id] = useState(() => `list-${Math.random().toString(36).slice(2)}`);
  const hotkey = props.hotkey ?? "/";
  useKeys([{ key: hotkey, what: props.label.toLowerCase(), run: () => input.current?.focus() }]);
  return (
    <label class="search">
      <input
        ref={input}
        type="search"
        placeholder={`${props.label} (${hotkey})`}
        aria-label={props.label}
        value={props.value}
        spellcheck={false}
        list={props.suggestions ? id : undefined}
        onInput={(event) => props.onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") props.onEnter?.(event.currentTarget.value);
        }}
      />
      {props.suggestions && (
        <datalist id={id}>
          {props.suggestions.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
    </label>
  );
}

/** A value that follows another with a delay, so that input is not sent letter by letter. */
export function useSettled<V>(value: V, milliseconds = 200): V {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/** Instructions for the mouse and for touch; the device determines which are shown (style.css). */
export function ByPointer({ mouse, touch }: { mouse: ComponentChildren; touch: ComponentChildren }) {
  return (
    <>
      <span class="for-mouse">{mouse}</span>
      <span class="for-touch">{touch}</span>
    </>
  );
}

/** A part of a view, with a heading. */
export function Panel(props: { title?: ComponentChildren; tools?: ComponentChildren; children: ComponentChildren; class?: string }) {
  return (
    <section class={`panel ${props.class ?? ""}`}>
      {(props.title || props.tools) && (
        <header>
          <h3>{props.title}</h3>
          <div class="tools">{props.tools}</div>
        </header>
      )}
      {props.children}
    </section>
  );
}

/** Notes on what was lost, estimated or left out. */
export function Notes({ notes }: { notes: readonly string[] | undefined }) {
  if (!notes?.length) return null;
  return (
    <div role="status">
      <ul class="notes">
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </div>
  );
}

/** Shows an answer when it has arrived, and otherwise why it has not. */
export function Answered<T>(props: { asked: Asked<T>; children: (result: T) => ComponentChildren }) {
  const { answer, error, loading, question } = props.asked;
  const progress = useProgress(loading ? question : null);
  if (error) return <p class="error" role="alert">{error}</p>;
  if (!answer) return <p class="faint loading">{progress ? <HowFar {...progress} /> : loading ? "Reading…" : ""}</p>;
  return (
    <div class={loading ? "stale" : ""} aria-busy={loading}>
      {progress && <p class="faint loading"><HowFar {...progress} /></p>}
      <Notes notes={answer.notes} />
      {props.children(answer.result)}
    </div>
  );
}

function HowFar({ step, done }: Progress) {
  if (step === 0) return <>Waiting for other questions…</>;
  return (
    <>
      Computing, step {step}: <progress value={done} aria-label="progress of the step" /> {Math.floor(done * 100)} %
    </>
  );
}

/** A number, and its uncertainty. */
export function Estimated({ of, show = bytes }: { of: Estimate; show?: (value: number) => string }) {
  const error = errorOf(of);
  return (
    <span title={error ? `between ${show(of.low)} and ${show(of.high)}, in 95 of 100 cases` : "exact"}>
      {show(of.value)}
      {error && <small class="faint"> {error}</small>}
    </span>
  );
}
