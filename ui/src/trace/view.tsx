/** A trace: size over time, filters, and below them one of several tabs that show who allocates. */
import { useAnswer } from "../api/use";
import type { ViewProps } from "../api/files";
import { Segmented, Toggle } from "../parts/controls";
import { useKeys } from "../state/keys";
import { linkTo, useRoute, type Change } from "../state/route";
import type { Timeline } from "./answers";
import { AroundPart } from "./around";
import { FilterBar } from "./chips";
import { DiffPart, othersOf } from "./diff";
import { FlamePart } from "./flame-part";
import { LifetimesPart } from "./lifetimes";
import { PathsPart } from "./paths";
import { METRICS, PARTS, useTrace, type Part, type TraceShown } from "./questions";
import { SourcePanel } from "./source";
import { TopPart } from "./tables";
import { TimelinePanel, timelineParams } from "./timeline";
import "./trace.css";

export function TraceView({ file, files }: ViewProps) {
  const trace = useTrace(file);
  const state = files[file]?.state;
  // All questions reject filters in the same way, so the one that is always asked reports the error.
  const timeline = useAnswer<Timeline>("trace/timeline", timelineParams(trace));
  const parts = PARTS.filter(([id]) => id !== "diff" || othersOf(file, files).length > 0);
  useKeys(parts.map(([id, title, key]) => ({ key, what: title.toLowerCase(), run: () => trace.go(changeTo(id)) })));
  if (state === "failed") return <p class="error" role="alert">{files[file]?.name} could not be read.</p>;
  const hasSource = trace.params.has("source");
  return (
    <div class="trace">
      <div class="trace-head">
        <FilterBar trace={trace} error={timeline.error} />
        <Segmented
          label="Measure"
          options={METRICS}
          value={trace.metric}
          onChange={(metric) => trace.set({ metric: metric === "kept" ? null : metric })}
          disabled={(metric) => trace.part === "lifetimes" || !trace.can({ metric })}
        />
        <Toggle
          label="library code"
          title="Shows C primitives and the standard library too; otherwise their allocations count to their callers"
          on={trace.params.has("raw")}
          onChange={(on) => trace.set({ raw: on ? "" : null, at: null })}
        />
      </div>
      <TimelinePanel trace={trace} asked={timeline} />
      <Tabs trace={trace} parts={parts} />
      <div class={hasSource ? "beside" : ""}>
        <div class="part" data-part={trace.part}>
          <PartOf trace={trace} files={files} />
        </div>
        <SourcePanel trace={trace} />
      </div>
    </div>
  );
}

/** Switches to another tab: filters, metric and source stay, parameters of a single tab are removed. */
function changeTo(part: Part): Change {
  return { part, params: { at: null, frame: null, q: null, by: null, n: null, path: null, focus: null } };
}

function Tabs({ trace, parts }: { trace: TraceShown; parts: readonly (typeof PARTS)[number][] }) {
  const route = useRoute();
  return (
    <nav class="tabs" aria-label="Parts">
      {parts.map(([id, title, key]) => (
        <a
          key={id}
          href={linkTo(route, changeTo(id))}
          aria-current={id === trace.part ? "page" : undefined}
          title={`${title} (${key})`}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

function PartOf({ trace, files }: { trace: TraceShown; files: ViewProps["files"] }) {
  const focus = trace.params.get("focus");
  switch (trace.part) {
    case "flame":
      return focus ? <AroundPart trace={trace} focus={focus} /> : <FlamePart trace={trace} />;
    case "paths":
      return <PathsPart trace={trace} />;
    case "lifetimes":
      return <LifetimesPart trace={trace} />;
    case "diff":
      return <DiffPart trace={trace} files={files} />;
    default:
      return <TopPart key={trace.part} trace={trace} />;
  }
}
