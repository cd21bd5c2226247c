/** The filters as chips: added from a menu with completion, edited in place, removed. An error is shown at its chip. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isReport } from "../api/ask";
import { useAnswer } from "../api/use";
import { useSettled } from "../parts/controls";
import { useKeys } from "../state/keys";
import type { Names } from "./answers";
import { chipsOf, cleared, FILTERS, HEAPS, isAbout, replaced, type Chip, type FilterOption } from "./filters";
import type { TraceShown } from "./questions";

export function FilterBar({ trace, error }: { trace: TraceShown; error: string | undefined }) {
  const chips = chipsOf(trace.params);
  const [adding, setAdding] = useState<FilterOption | "choose" | null>(null);
  useKeys([{ key: "+", what: "add a filter", run: () => setAdding("choose") }], !isReport);
  const about = error ? chips.filter((chip) => isAbout(error, chip)) : [];
  const choose = (option: FilterOption) => {
    if (option.kind !== "flag") return setAdding(option);
    trace.addFilter(option.name, "");
    setAdding(null);
  };
  return (
    <div class="filters" role="group" aria-label="Filters">
      <div class="chips">
        {chips.map((chip) => (
          <ChipView
            key={`${chip.option.name} ${chip.at} ${chip.value}`}
            chip={chip}
            trace={trace}
            error={about.includes(chip) ? error : undefined}
          />
        ))}
        {adding && adding !== "choose" ? (
          <span class="chip adding">
            <span class="name">{adding.name}</span>
            <ValueField
              option={adding}
              value=""
              file={trace.file}
              onDone={(value) => {
                if (value) trace.addFilter(adding.name, value);
                setAdding(null);
              }}
            />
          </span>
        ) : (
          <AddMenu isOpen={adding === "choose"} onOpen={(open) => setAdding(open ? "choose" : null)} onChoose={choose} taken={chips} />
        )}
        {chips.length > 0 && (
          <button class="quiet" onClick={() => trace.set({ ...cleared(), at: null })}>clear all</button>
        )}
      </div>
      {error && chips.length > 0 && about.length === 0 && !isReport && <p class="error" role="alert">{error}</p>}
    </div>
  );
}

function ChipView({ chip, trace, error }: { chip: Chip; trace: TraceShown; error: string | undefined }) {
  const [edits, setEdits] = useState(false);
  const { option, value } = chip;
  const change = (to: string | null) => trace.set({ ...replaced(trace.params, chip, to), at: null });
  return (
    <span class={`chip ${error ? "wrong" : ""}`} data-filter={option.name} title={option.what}>
      <span class="name">{option.name}</span>
      {edits ? (
        <ValueField
          option={option}
          value={value}
          file={trace.file}
          onDone={(to) => {
            setEdits(false);
            if (to !== null && to !== value) change(to === "" ? null : to);
          }}
        />
      ) : (
        option.kind !== "flag" && (
          <button class="value" aria-label={`Change ${option.name} ${value}`} onClick={() => setEdits(true)}>{value}</button>
        )
      )}
      <button aria-label={`Remove ${option.name} ${value}`} onClick={() => change(null)}>×</button>
      {error && <span class="complaint" role="alert">{error}</span>}
    </span>
  );
}

/** A value that is being edited: Enter accepts, Escape cancels. */
function ValueField(props: { option: FilterOption; value: string; file: number; onDone: (value: string | null) => void }) {
  const { option, onDone } = props;
  const [text, setText] = useState(props.value);
  const field = useRef<HTMLInputElement>(null);
  const isDone = useRef(false);
  // Before the next key is pressed.
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const done = (value: string | null) => {
    if (isDone.current) return;
    isDone.current = true;
    onDone(value);
  };
  const list = `values-of-${option.name}`;
  return (
    <>
      <input
        ref={field}
        type="text"
        spellcheck={false}
        aria-label={`${option.name}: ${option.what}`}
        placeholder={option.example}
        value={text}
        list={list}
        size={Math.max(18, Math.min(44, text.length + 2))}
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={() => done(text === props.value ? null : text.trim())}
        onKeyDown={(event) => {
          if (event.key === "Enter") done(text.trim());
          if (event.key === "Escape") {
            event.stopPropagation();
            done(null);
          }
        }}
      />
      <Completions id={list} option={option} file={props.file} text={text} />
    </>
  );
}

/** Completions: names in the trace, or the heaps that exist. */
function Completions({ id, option, file, text }: { id: string; option: FilterOption; file: number; text: string }) {
  const prefix = useSettled(text.startsWith("/") ? "" : text.trim(), 120);
  const hasNames = option.kind === "function" || option.kind === "file";
  const { answer } = useAnswer<Names>(hasNames && !isReport ? "trace/names" : null, { file, prefix: prefix || undefined });
  const names = answer?.result;
  const all = option.kind === "heap" ? HEAPS : option.kind === "file" ? (names?.files ?? []) : (names?.functions ?? []);
  return (
    <datalist id={id}>
      {all.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}

function AddMenu(props: { isOpen: boolean; onOpen: (open: boolean) => void; onChoose: (option: FilterOption) => void; taken: readonly Chip[] }) {
  const { isOpen, onOpen, onChoose } = props;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    list.current?.querySelector("button")?.focus();
    const close = (event: Event) => {
      if (event.target instanceof Node && !list.current?.parentElement?.contains(event.target)) onOpen(false);
    };
    addEventListener("pointerdown", close);
    return () => removeEventListener("pointerdown", close);
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll("button") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) all[(at + step + all.length) % all.length]?.focus();
    else if (event.key === "Escape") {
      list.current?.parentElement?.querySelector("button")?.focus();
      onOpen(false);
    }
    else if (event.key === "Enter" || event.key === " ") return;
    else if (/^[a-z]$/.test(event.key)) all.find((button, place) => place > at && button.dataset["name"]?.startsWith(event.key))?.focus();
    else return;
    event.preventDefault();
  };
  const isTaken = (option: FilterOption) => !option.repeated && props.taken.some((chip) => chip.option === option);
  return (
    <span class="add">
      <button
        aria-haspopup="menu"
        aria-expanded={isOpen}
        disabled={isReport}
        title={isReport ? "A report has no filters: `bactrian view` does" : "Add a filter (+)"}
        onClick={() => onOpen(!isOpen)}
      >
        + Filter
      </button>
      {isOpen && (
        <div class="add-list" role="menu" ref={list} onKeyDown={onKeyDown}>
          {FILTERS.filter((option) => !isTaken(option)).map((option) => (
            <button key={option.name} role="menuitem" data-name={option.name} onClick={() => onChoose(option)}>
              <b>{option.name}</b> <span class="faint">{option.what}</span>
            </button>
          ))}
        </div>
      )}
    </span>
  );
}
