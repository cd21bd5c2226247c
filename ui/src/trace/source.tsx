/** Source lines around a site, with what each allocates or retains, if the source is available. */
import { useEffect, useRef } from "preact/hooks";
import { canAsk, type Params } from "../api/ask";
import { useAnswer } from "../api/use";
import { Answered, Panel } from "../parts/controls";
import { csvOf, useExport } from "../parts/export";
import { estimate, type Estimate } from "../format";
import type { FlameLabel } from "../pictures/flame-layout";
import type { Measure, Source } from "./answers";
import { filterParams } from "./filters";
import { metricParam, type TraceShown } from "./questions";
import { shortOf } from "./telling";

/** A location in the source, as in the URL: `map.ml:115`. */
export interface Place {
  path: string;
  line: number;
}

export function parsePlace(text: string | null): Place | null {
  const [, path = "", line = ""] = /^(.+):([0-9]+)$/.exec(text ?? "") ?? [];
  return path ? { path, line: Number(line) } : null;
}

export function placeOfLabel({ file, line }: FlameLabel): Place | null {
  return file && line ? { path: file, line } : null;
}

function questionAt(trace: TraceShown, { path, line }: Place): Params {
  return { file: trace.file, ...filterParams(trace.params), raw: trace.params.has("raw"), metric: metricParam(trace), path, line };
}

/** Whether the lines around a site are available: a report has those of its first sites. */
export function hasSource(trace: TraceShown, label: FlameLabel): boolean {
  const place = placeOfLabel(label);
  return place !== null && canAsk("trace/source", questionAt(trace, place));
}

export function SourceButton({ trace, label }: { trace: TraceShown; label: FlameLabel }) {
  const place = placeOfLabel(label);
  if (!place) return null;
  return (
    <button disabled={!hasSource(trace, label)} title="The lines around it (s)" onClick={() => trace.set({ source: `${place.path}:${place.line}` })}>
      Source
    </button>
  );
}

/** The lines around the location in the URL. */
export function SourcePanel({ trace }: { trace: TraceShown }) {
  const place = parsePlace(trace.params.get("source"));
  if (!place) return null;
  return <SourceLines trace={trace} place={place} />;
}

function SourceLines({ trace, place }: { trace: TraceShown; place: Place }) {
  const asked = useAnswer<Source>("trace/source", questionAt(trace, place));
  const close = <button class="quiet" aria-label="Close the source" onClick={() => trace.set({ source: null })}>×</button>;
  return (
    <Panel class="source-panel" title={<>Source of <code>{place.path}:{place.line}</code></>} tools={close}>
      <Answered asked={asked}>
        {(source) =>
          source.found ? (
            <Lines source={source} place={place} command={asked.answer?.command} unit={trace.metric === "objects" ? "objects" : "bytes"} />
          ) : (
            <p class="faint">
              The source of {source.file} is not here. It is looked for where the program was compiled, in this folder, beside the trace, and in the
              standard library that <code>ocamlfind ocamlc -where</code> names.
            </p>
          )
        }
      </Answered>
    </Panel>
  );
}

function Lines(props: { source: Source; place: Place; command: string | null | undefined; unit: Measure["unit"] }) {
  const { source, place } = props;
  const here = useRef<HTMLTableRowElement>(null);
  const short = shortOf({ unit: props.unit, of: "allocated" });
  useEffect(() => here.current?.scrollIntoView({ block: "nearest" }), [source, place.line]);
  const most = Math.max(1, ...Object.values(source.numbers).map(({ total }) => total.value));
  useExport({
    title: `source of ${source.file}`,
    command: props.command,
    csv: () =>
      csvOf([
        ["line", "self", "total", "text"],
        ...source.lines.map((text, at) => {
          const numbers = source.numbers[String(source.first + at)];
          return [source.first + at, numbers?.self.value ?? 0, numbers?.total.value ?? 0, text];
        }),
      ]),
  });
  return (
    <div class="source" tabIndex={0} role="region" aria-label={`Source of ${source.file}`}>
      <table>
        <thead>
          <tr><th class="number">self</th><th class="number">total</th><th /><th /></tr>
        </thead>
        <tbody>
          {source.lines.map((text, at) => {
            const line = source.first + at;
            const numbers = source.numbers[String(line)];
            const isHere = line === place.line;
            return (
              <tr key={line} ref={isHere ? here : null} class={isHere ? "here" : ""}>
                <td class="number">{numbers && numbers.self.value > 0 && <Short of={numbers.self} show={short} />}</td>
                <td class="number">
                  {numbers && <span class="bar" style={{ width: `${(numbers.total.value / most) * 100}%` }} aria-hidden="true" />}
                  {numbers && <span class="cell"><Short of={numbers.total} show={short} /></span>}
                </td>
                <td class="number faint">{line}</td>
                <td><code>{text || " "}</code></td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** There is little space beside the code, so the uncertainty is in the tooltip. */
function Short({ of, show }: { of: Estimate; show: (value: number) => string }) {
  return <span title={estimate(of, show)}>{show(of.value)}</span>;
}
