/** How the heap evolves over snapshots: stacked areas by type, module, function or site, with drill-down by clicks. */
import { useMemo, useRef, useState } from "preact/hooks";
import { isReport } from "../api/ask";
import { useAnswer } from "../api/use";
import { errorOf, percent } from "../format";
import { Answered, Panel } from "../parts/controls";
import { csvOf, useExport } from "../parts/export";
import { hit, shapesOf, type AreasInput, type Hit } from "../pictures/areas";
import { Picture, type Drawing } from "../pictures/areas-picture";
import { useRoute } from "../state/route";
import { useTheme } from "../state/theme";
import type { ViewProps } from "../api/files";
import { canShow, Controls, useEvolutionKeys } from "./controls";
import "./evolution.css";
import { Stayed } from "./leaks";
import { bandsOf, Legend, linesOf, type Entry } from "./legend";
import { Numbers } from "./numbers";
import { below, breadcrumb, compactionsOf, estimatesOf, namesOf, questionOf, showIn, shownFrom, timesOf, type Series, type Shown } from "./series";

export function EvolutionView(_: ViewProps) {
  const route = useRoute();
  const shown = shownFrom(route.params);
  const asked = useAnswer<Series>("heap/evolution", questionOf(shown));
  useEvolutionKeys(shown, asked.answer?.result);
  return (
    <div class="evolution">
      <Controls shown={shown} series={asked.answer?.result} />
      {shown.stayed && <Stayed />}
      <Breadcrumb shown={shown} />
      <Answered asked={asked}>
        {(series) => <Evolution shown={shown} series={series} command={asked.answer?.command} />}
      </Answered>
    </div>
  );
}

function Breadcrumb({ shown }: { shown: Shown }) {
  const { go } = useRoute();
  const steps = breadcrumb(shown);
  return (
    <nav class="breadcrumb" aria-label="Levels">
      {steps.map(({ text, back }, at) => (
        <span key={at}>
          {at > 0 && <span class="faint"> › </span>}
          {at + 1 < steps.length ? <button class="link" onClick={() => go(back)}>{text}</button> : <strong>{text}</strong>}
        </span>
      ))}
      <span class="faint"> by {shown.by}</span>
    </nav>
  );
}

function Evolution({ shown, series, command }: { shown: Shown; series: Series; command: string | null | undefined }) {
  const { go } = useRoute();
  const { isDark, text, good, bad } = useTheme();
  const [hovered, setHovered] = useState<Hit | null>(null);
  const drawing = useRef<Drawing | null>(null);
  const show = showIn(shown.unit);
  const entries = useMemo(() => bandsOf(series, shown, isDark), [series, shown.unit, shown.off.join("\n"), isDark]);
  const times = timesOf(series.snapshots);
  const names = namesOf(series.snapshots);
  const input: AreasInput = {
    xs: shown.axis === "time" ? times : times.map((_, at) => at),
    names,
    // The largest is at the bottom, the rest on top.
    bands: entries.filter((entry) => entry.isOn),
    lines: linesOf(series, shown, { live: good, heap: text }),
    marks: shown.lines.includes("compactions")
      ? compactionsOf(series.snapshots).map(({ at, count }) => ({ at, label: count === 1 ? "compaction" : `${count} compactions`, colour: bad }))
      : [],
    chosen: shown.chosen,
    hovered,
    show,
  };
  const drill = (entry: Entry | undefined) => {
    const change = entry?.row && below(shown, entry.row);
    if (change && canShow(change)) go(change);
  };
  const pointed = entries.find((entry) => entry.id === hovered?.band);
  const canDrill = pointed?.row !== undefined && below(shown, pointed.row) !== null;
  const title = `evolution by ${shown.by}`;
  useExport({
    title,
    command,
    canvas: () => drawing.current?.canvas() ?? null,
    svg: () => drawing.current?.svg() ?? "",
    csv: () => csvOfSeries(series, shown),
  });
  const shapes = useMemo(() => (look: Parameters<typeof shapesOf>[1]) => shapesOf(input, look), [JSON.stringify(input)]);
  return (
    <>
      <div class="stage">
        <Panel class="chart">
          <Picture
            label={`${title}: ${entries.length} areas over ${series.snapshots.length} snapshots; the table below has the numbers`}
            height={30}
            shapes={shapes}
            drawing={drawing}
            cursor={hovered?.onAxis || (hovered?.band && canDrill) ? "pointer" : undefined}
            onPoint={(at, look) => {
              const next = at && hit(input, look, at);
              if (JSON.stringify(next) !== JSON.stringify(hovered)) setHovered(next);
            }}
            isSame={(a, b, look) => hit(input, look, a)?.band === hit(input, look, b)?.band}
            onClick={(at, look) => {
              const found = hit(input, look, at);
              if (!found) return;
              const chosen = { params: chosenParams(shown, found.place) };
              if (found.onAxis && canShow(chosen)) go(chosen);
              else if (found.onAxis) return;
              else drill(entries.find((entry) => entry.id === found.band));
            }}
          >
            {hovered && <Tip hit={hovered} entry={pointed} series={series} shown={shown} names={names} canDrill={canDrill} />}
          </Picture>
          <p class="faint hint">
            {isReport ? "Areas" : "Click an area to see what it consists of"}; click below the axis to sort by that snapshot. {series.exact ? "" : "Estimated from samples."}
          </p>
        </Panel>
        <Legend entries={entries} series={series} shown={shown} hovered={hovered} onDrill={drill} />
      </div>
      <Numbers entries={entries} series={series} shown={shown} command={command} onDrill={drill} />
    </>
  );
}

/** Choosing a snapshot sorts by it; choosing it again undoes that. */
function chosenParams(shown: Shown, place: number): Record<string, string | null> {
  const name = String(place + 1);
  return shown.sort === name ? { at: null, sort: null } : { at: name, sort: name };
}

/** The tooltip at the pointer. */
function Tip(props: { hit: Hit; entry: Entry | undefined; series: Series; shown: Shown; names: [string, string][]; canDrill: boolean }) {
  const { hit, entry, series, shown } = props;
  const show = showIn(shown.unit);
  const all = estimatesOf(series.all, shown.unit, series.word)[hit.place];
  const of = entry?.estimates[hit.place];
  const point = series.snapshots[hit.place];
  const [name, when] = props.names[hit.place] ?? ["", ""];
  return (
    <div class="tip" role="status">
      <div>
        <strong>{name}</strong> at {when}{point?.name ? `, ${point.name}` : ""} <span class="faint">({point?.reason})</span>
      </div>
      {entry && of && (
        <div>
          <span class="swatch" style={{ background: entry.colour }} /> {entry.label}: <strong>{show(of.value)}</strong> {errorOf(of)}{" "}
          <span class="faint">{all && all.value > 0 ? percent(of.value / all.value) : ""}</span>
        </div>
      )}
      {all && <div class="faint">all: {show(all.value)}</div>}
      {props.canDrill && <div class="faint">click: what it consists of</div>}
    </div>
  );
}

function csvOfSeries(series: Series, shown: Shown): string {
  const rows = [...series.rows, ...(series.rest ? [series.rest] : []), series.all];
  const names = namesOf(series.snapshots);
  const head = [shown.by, ...names.map(([name, when]) => `${name} ${when} ${shown.unit}`), "average", "growth"];
  const scale = shown.unit === "words" ? series.word : 1;
  const line = (row: (typeof rows)[number]) => [
    row.title,
    ...estimatesOf(row, shown.unit, series.word).map((of) => of.value),
    row.average / scale,
    row.growth / scale,
  ];
  const points: [string, (point: Series["snapshots"][number]) => number | string][] = [
    ["live bytes", (point) => point.live],
    ["heap bytes", (point) => point.heap ?? ""],
    ["compactions", (point) => point.compactions ?? ""],
  ];
  return csvOf([head, ...rows.map(line), ...points.map(([name, of]) => [name, ...series.snapshots.map(of), "", ""])]);
}
