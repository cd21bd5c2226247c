/** The evidence, a row for each file: how much, when, how certain. Each row opens to more facts. */
import type { ContentsAnswer as Contents, HeapInfo, TraceInfo } from "../api/generated";
import { useAnswer } from "../api/use";
import { bytes, count, date, seconds } from "../format";
import { Estimated, Panel } from "../parts/controls";
import { linkTo, useRoute } from "../state/route";
import type { Placed } from "./diagnosis";
import { SnapshotMore } from "./snapshots";
import { TraceMore } from "./trace";

export function Evidence({ traces, snapshots }: { traces: readonly Placed[]; snapshots: readonly Placed[] }) {
  const last = snapshots[snapshots.length - 1];
  if (traces.length + snapshots.length === 0) return null;
  return (
    <Panel class="card evidence" title="Evidence">
      <table class="files">
        <tbody>
          {traces.map((trace) => <TraceRow key={trace.at} {...trace} />)}
          {snapshots.map((snapshot) => <SnapshotRow key={snapshot.at} {...snapshot} />)}
        </tbody>
      </table>
      {traces.map(({ file, at }) => (
        <details key={at}>
          <summary>More on {file.name}</summary>
          <TraceMore at={at} name={file.name} />
        </details>
      ))}
      {last && (
        <details>
          <summary>More on {last.file.name}</summary>
          <SnapshotMore at={last.at} />
        </details>
      )}
    </Panel>
  );
}

function TraceRow({ file, at }: Placed) {
  const route = useRoute();
  const { answer, error } = useAnswer<TraceInfo>("overview/info", { file: at });
  const contents = useAnswer<Contents>("overview/contents", { file: at }).answer?.result.contents;
  const of = answer?.result;
  return (
    <tr>
      <td><a href={linkTo(route, { view: "trace", file: at, fresh: true })}>{file.name}</a></td>
      <td class="number">{contents && <Estimated of={contents.peak} />}</td>
      <td>{contents && <>at the peak, <Estimated of={contents.live_at_end} /> at the end</>}</td>
      <td>{of && `for ${seconds(of.duration)}, ${date(of.start)}`}</td>
      <td class={of?.exact === false ? "sampling" : "faint"}>{of && (of.exact ? "exact" : `1 word in ${count(1 / of.sample_rate)}${of.last_rate < of.sample_rate ? ` to ${count(1 / of.last_rate)}` : ""}`)}</td>
      <td>{error && <span class="error">{error}</span>}</td>
    </tr>
  );
}

function SnapshotRow({ file, at }: Placed) {
  const route = useRoute();
  const { answer, error } = useAnswer<HeapInfo>("overview/info", { file: at });
  const of = answer?.result;
  return (
    <tr>
      <td><a href={linkTo(route, { view: "heap", file: at, fresh: true })}>{file.name}</a></td>
      <td class="number">{of && bytes(of.bytes)}</td>
      <td>{of && `in ${count(of.blocks)} blocks`}</td>
      <td>{of && (of.since_start === null ? date(of.taken) : `after ${seconds(of.since_start)}`)}</td>
      <td class="faint">{of && (of.name ?? of.reason)}</td>
      <td>{error && <span class="error">{error}</span>}</td>
    </tr>
  );
}
