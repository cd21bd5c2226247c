/** Controls of the evolution picture: switches, search, the number of areas, and keys for all of these. */
import { useState } from "preact/hooks";
import { canAsk } from "../api/ask";
import { useAnswer } from "../api/use";
import { Search, Segmented, Select, Slider, Toggle, useSettled } from "../parts/controls";
import { useKeys } from "../state/keys";
import { changed, currentRoute, useRoute, type Change } from "../state/route";
import { LEAST } from "./leaks";
import { AXES, breadcrumb, BYS, FIRST, MOST, namesOf, questionOf, shownFrom, toggled, UNITS, type Series, type Shown } from "./series";

/** Whether the picture after a change is available: a report does not have all of them. */
export function canShow(change: Change): boolean {
  return canAsk("heap/evolution", questionOf(shownFrom(changed(currentRoute(), change).params)));
}

const LINES = [["compactions", "Compactions", "c"], ["heap", "Heap size", "h"], ["live", "Live size", "v"]] as const;

export function Controls({ shown, series }: { shown: Shown; series: Series | undefined }) {
  const { go } = useRoute();
  const [typed, setTyped] = useState("");
  const settled = useSettled(typed);
  const { n: _n, also: _also, ...narrow } = questionOf(shown);
  const names = useAnswer<{ names: string[] }>(settled && canAsk("heap/evolution-names", { ...narrow, like: settled }) ? "heap/evolution-names" : null, { ...narrow, like: settled });
  const found = names.answer?.result.names ?? [];
  const asks = (change: Partial<Shown>) => canAsk("heap/evolution", questionOf({ ...shown, ...change }));
  const add = (text: string) => {
    // The last keystroke before Enter may have added it already.
    const name = text && (found.find((one) => one === text) ?? found[0]);
    if (!name) return;
    go({ params: { also: shown.also.includes(name) || series?.rows.some((row) => row.title === name) ? shown.also : [...shown.also, name], off: shown.off.filter((one) => one !== name) } });
    setTyped("");
  };
  const places = namesOf(series?.snapshots ?? []).map(([name, when], at) => [String(at + 1), `snapshot ${name} (${when})`] as const);
  return (
    <div class="evolution-controls">
      <div class="row">
        <Segmented label="Blocks by" options={BYS} value={shown.by} onChange={(by) => go({ params: { by: by === "type" ? null : by, also: null, off: null } })} disabled={(by) => !asks({ by, also: [] })} />
        <Segmented label="Unit" options={UNITS} value={shown.unit} onChange={(unit) => go({ params: { unit: unit === "bytes" ? null : unit } })} disabled={(unit) => !asks({ unit })} />
        <Select
          label="Sort by"
          options={[["average", "average"], ["growth", "growth"], ...places]}
          value={shown.sort}
          onChange={(sort) => {
            const change = { params: { sort: sort === "average" ? null : sort, at: /^\d/.test(sort) ? sort : null } };
            if (canShow(change)) go(change);
          }}
        />
        <Segmented label="Axis" options={AXES} value={shown.axis} onChange={(x) => go({ params: { x: x === "time" ? null : x } }, { replace: true })} />
      </div>
      <div class="row">
        <Search label="Add to the picture" value={typed} onInput={(text) => { setTyped(text); if (found.includes(text)) add(text); }} onEnter={add} suggestions={found} />
        <Slider label="Areas" min={1} max={Math.min(MOST, Math.max(FIRST, series?.row_count ?? FIRST))} value={shown.number} onChange={(n) => { if (asks({ number: n })) go({ params: { n: n === FIRST ? null : String(n) } }, { replace: true }); }} />
        {LINES.map(([id, label]) => (
          <Toggle key={id} label={label} on={shown.lines.includes(id)} onChange={() => go({ params: { lines: toggled(shown.lines, id).join(",") || null } }, { replace: true })} />
        ))}
        {places.length >= LEAST && (
          <Toggle label="What stayed" title="Blocks that appeared between the first snapshot and the middle one, and still exist in the last" on={shown.stayed} onChange={(on) => go({ params: { stayed: on ? "1" : null } })} />
        )}
      </div>
    </div>
  );
}

/** Everything that can be clicked has a key. */
export function useEvolutionKeys(shown: Shown, series: Series | undefined): void {
  const route = useRoute();
  const go: typeof route.go = (change, options) => {
    if (canShow(change)) route.go(change, options);
  };
  const after = <V extends string>(options: readonly (readonly [V, string])[], now: V, usual: V): string | null => {
    const place = options.findIndex(([value]) => value === now);
    const next = options[(place + 1) % options.length]?.[0] ?? usual;
    return next === usual ? null : next;
  };
  const count = series?.snapshots.length ?? 0;
  const step = (by: number) => {
    if (count === 0) return;
    const from = shown.chosen ?? (by > 0 ? -1 : count);
    go({ params: { at: String(Math.max(0, Math.min(count - 1, from + by)) + 1) } }, { replace: true });
  };
  const areas = (by: number) => {
    const next = Math.max(1, Math.min(MOST, shown.number + by));
    go({ params: { n: next === FIRST ? null : String(next) } }, { replace: true });
  };
  const sort = () => {
    const place = shown.chosen === null ? null : String(shown.chosen + 1);
    const next = shown.sort === "average" ? "growth" : shown.sort === "growth" ? place : null;
    go({ params: { sort: next } });
  };
  const up = () => {
    const steps = breadcrumb(shown);
    const back = steps[steps.length - 2]?.back;
    if (back) go(back);
  };
  useKeys([
    { key: "b", what: "by type, module, function, site", run: () => go({ params: { by: after(BYS, shown.by, "type"), also: null, off: null } }) },
    { key: "u", what: "bytes, words, blocks", run: () => go({ params: { unit: after(UNITS, shown.unit, "bytes") } }) },
    { key: "s", what: "sort by average, growth, or the chosen snapshot", run: sort },
    { key: "x", what: "switch the axis: time, collections", run: () => go({ params: { x: after(AXES, shown.axis, "time") } }, { replace: true }) },
    { key: "ArrowRight", what: "choose the next snapshot", run: () => step(1) },
    { key: "ArrowLeft", what: "choose the previous snapshot", run: () => step(-1) },
    { key: "+", what: "show one more area", run: () => areas(1) },
    { key: "-", what: "show one area fewer", run: () => areas(-1) },
    { key: "Backspace", what: "go up one level", run: up },
    ...LINES.map(([id, label, key]) => ({
      key,
      what: `${label.toLowerCase()} on or off`,
      run: () => go({ params: { lines: toggled(shown.lines, id).join(",") || null } }, { replace: true }),
    })),
  ]);
}
