/** The diagnosis, before everything else: a sentence, memory over time, and findings, the largest first. */
import type { ShownFile } from "../api/files";
import type { ContentsAnswer as Contents, HeapInfo, TimelineAnswer as Timeline, TopAnswer as Top, TraceInfo } from "../api/generated";
import { useAnswer } from "../api/use";
import { bytes, count, seconds } from "../format";
import { SnapshotFindings } from "../heap/findings";
import { Answered, Estimated, Panel } from "../parts/controls";
import { Finding } from "../parts/finding";
import { Spark } from "../pictures/spark";
import { linkTo, useRoute } from "../state/route";
import { wordsOf } from "../trace/telling";

export type Placed = { file: ShownFile; at: number };

/** The number of a trace's sites shown if there is no snapshot, which would say more. */
const PLACES = 3;

export function Diagnosis({ traces, snapshots }: { traces: readonly Placed[]; snapshots: readonly Placed[] }) {
  const first = traces[0];
  if (!first && snapshots.length === 0) return null;
  return (
    <Panel class="card diagnosis" title="What is wrong?">
      {snapshots.length > 0 ? <Sentence snapshots={snapshots} /> : first && <TraceSentence trace={first} />}
      {traces.map((trace) => (
        <Memory key={trace.at} trace={trace} snapshots={trace === first ? snapshots : []} isNamed={traces.length > 1} />
      ))}
      {snapshots.length > 0 ? <SnapshotFindings files={snapshots.map(({ at }) => at)} /> : first && <OfTrace trace={first} />}
    </Panel>
  );
}

/** The size of the heap, and how it grew. */
function Sentence({ snapshots }: { snapshots: readonly Placed[] }) {
  const ends = [snapshots[0], snapshots[snapshots.length - 1]].map((one) => one?.at ?? 0);
  const earlier = useAnswer<HeapInfo>("overview/info", { file: ends[0] ?? 0 }).answer?.result;
  const last = useAnswer<HeapInfo>("overview/info", { file: ends[1] ?? 0 }).answer?.result;
  if (!earlier || !last) return null;
  const program = last.program.split("/").pop() ?? last.program;
  const isSame = earlier.pid === last.pid && earlier.taken < last.taken;
  return (
    <p class="diagnosis-sentence">
      <strong>{program}</strong> holds <strong>{bytes(last.bytes)}</strong> in {count(last.blocks)} blocks
      {isSame ? `, ${change(earlier.bytes, last.bytes)} in ${seconds(last.taken - earlier.taken)}` : ""}.
    </p>
  );
}

/** How much the program retained, of how much it allocated. */
function TraceSentence({ trace }: { trace: Placed }) {
  const info = useAnswer<TraceInfo>("overview/info", { file: trace.at }).answer?.result;
  const contents = useAnswer<Contents>("overview/contents", { file: trace.at }).answer?.result.contents;
  if (!info || !contents) return null;
  return (
    <p class="diagnosis-sentence">
      <strong>{info.program.split("/").pop()}</strong> kept <strong><Estimated of={contents.live_at_end} /></strong> of <Estimated of={contents.allocated} /> that it allocated
      in {seconds(info.duration)}; <Estimated of={contents.peak} /> at the peak.
    </p>
  );
}

function change(from: number, to: number): string {
  if (from === to) return "unchanged";
  return to > from ? `${bytes(to - from)} more` : `${bytes(from - to)} less`;
}

/** Live bytes over time, with the moments of snapshots. */
function Memory({ trace, snapshots, isNamed }: { trace: Placed; snapshots: readonly Placed[]; isNamed: boolean }) {
  const route = useRoute();
  const timeline = useAnswer<Timeline>("trace/timeline", { file: trace.at });
  const info = useAnswer<TraceInfo>("overview/info", { file: trace.at }).answer?.result;
  const all = timeline.answer?.result.all;
  const points = all?.points ?? [];
  const end = points[points.length - 1]?.time ?? 0;
  const label = `${isNamed ? `${trace.file.name}: ` : ""}live bytes over ${seconds(end)}, ${bytes(all?.peak.value ?? 0)} at most`;
  return (
    <figure class="memory">
      <div class="memory-picture">
        <a class="spark-link" href={linkTo(route, { view: "trace", file: trace.at, fresh: true })} aria-label={label}>
          <Spark values={points.map((point) => point.live.value)} label={label} />
        </a>
        {info && end > 0 && snapshots.map((one) => <Mark key={one.at} snapshot={one} pid={info.pid} end={end} />)}
      </div>
      <figcaption class="faint">
        {label}
        {snapshots.length > 0 && `; lines are snapshots`}
      </figcaption>
    </figure>
  );
}

/** The moment of a snapshot, in a picture of the same process. */
function Mark({ snapshot, pid, end }: { snapshot: Placed; pid: number; end: number }) {
  const route = useRoute();
  const of = useAnswer<HeapInfo>("overview/info", { file: snapshot.at }).answer?.result;
  if (!of || of.pid !== pid || of.since_start === null) return null;
  const title = `${snapshot.file.name}: ${bytes(of.bytes)} after ${seconds(of.since_start)}`;
  const left = `${Math.min(100, (100 * of.since_start) / end).toFixed(2)}%`;
  return <a class="memory-mark" style={{ left }} title={title} aria-label={title} href={linkTo(route, { view: "heap", file: snapshot.at, fresh: true })} />;
}

/** The allocation sites of most of what is retained. Only a snapshot knows who holds it. */
function OfTrace({ trace }: { trace: Placed }) {
  const route = useRoute();
  const top = useAnswer<Top>("trace/top", { file: trace.at, by: "site", number: PLACES });
  const measure = wordsOf(top.answer?.result.measure);
  return (
    <Answered asked={top}>
      {({ rows, all }) => (
        <section class="findings" aria-label="Findings">
          {rows.map((row) => (
            <Finding
              key={`${row.name} ${row.file} ${row.line} ${row.columns}`}
              sure="possible"
              size={<Estimated of={row.self} />}
              share={row.self.value / Math.max(1, all.value)}
              href={linkTo(route, { view: "trace", file: trace.at, part: "sites", params: row.file && row.line ? { source: `${row.file}:${row.line}` } : {}, fresh: true })}
            >
              {measure}, made in <code>{row.name}</code>
              {row.file && ` (${row.file}${row.line ? `:${row.line}` : ""})`}.
            </Finding>
          ))}
          <p class="faint">A snapshot shows what holds it: record with <code>--snapshots exit</code>, or <code>bactrian snapshot PID</code>.</p>
        </section>
      )}
    </Answered>
  );
}
