/** What a snapshot contains, and how it was taken. */
import type { HeapInfo as Info, Roots, Summary } from "../api/generated";
import { useAnswer } from "../api/use";
import { bytes, count, date, percent, seconds } from "../format";
import { Answered, Notes } from "../parts/controls";
import { useExport } from "../parts/export";
import { linkTo, useRoute } from "../state/route";
import { Big, Facts, Headline } from "./headline";

export function SnapshotMore({ at }: { at: number }) {
  const route = useRoute();
  const info = useAnswer<Info>("overview/info", { file: at });
  const summary = useAnswer<Summary>("heap/summary", { file: at });
  const roots = useAnswer<Roots>("heap/roots", { file: at });
  const link = (part: string, params: Record<string, string> = {}) => linkTo(route, { view: "heap", file: at, part, params, fresh: true });
  useExport({ title: "Summary of the last snapshot", command: summary.answer?.command });
  // Kinds of roots own nothing; their modules, threads and variables do.
  const owners = roots.answer?.result.all.rows.flatMap((kind) => (kind.rows.length > 0 ? kind.rows : [kind])) ?? [];
  const owner = owners.sort((a, b) => b.retained - a.retained)[0];
  const of = info.answer?.result;
  return (
    <>
      <Answered asked={summary}>
        {(of) => (
          <Headline>
            <Big what="live" detail={`${count(of.live_blocks)} blocks`} href={link("types")}>{bytes(of.live_bytes)}</Big>
            {of.external_bytes > 0 && <Big what="outside the heap">{bytes(of.external_bytes)}</Big>}
            {of.major?.mapped != null && (
              <Big what="major heap" detail={of.major.slack != null ? `${percent(of.major.slack)} of it not live` : ""}>{bytes(of.major.mapped)}</Big>
            )}
            <Big what="largest block">{bytes(of.largest)}</Big>
            {owner && (
              <Big what="top owner" detail={`alone holds ${bytes(owner.retained)}`} href={link("roots")}>
                <span class="mono owner">{owner.name || owner.kind}</span>
              </Big>
            )}
          </Headline>
        )}
      </Answered>
      {info.error && <p class="error" role="alert">{info.error}</p>}
      <Notes notes={info.answer?.notes} />
      {of && (
        <>
          <p class="faint">
            Sizes of blocks are exact. {of.samples > 0 ? `Allocation sites are estimated from ${count(of.samples)} samples.` : "Nothing was sampled: allocation sites are unknown."}
          </p>
          <Facts
            facts={[
              ["program", <code key="p">{[of.program, ...of.arguments.slice(1)].join(" ")}</code>],
              ["ran on", `${of.host}, process ${of.pid}`],
              ["OCaml", `${of.ocaml}, ${of.code}`],
              ["taken", `${date(of.taken)} (${of.reason}, by ${of.way})`],
              ["paused for", of.pause === null ? "not known" : seconds(of.pause)],
              ["file", bytes(of.file_bytes)],
            ]}
          />
          <Collector numbers={summary.answer?.result.collector ?? []} />
          <Sizes sizes={summary.answer?.result.sizes ?? []} />
        </>
      )}
    </>
  );
}

/** The free memory in the major heap, by size class. */
function Sizes({ sizes }: { sizes: Summary["sizes"] }) {
  const free = sizes.filter((row) => row.free > 0);
  if (free.length === 0) return null;
  return (
    <details>
      <summary>Free memory by size</summary>
      <Facts
        facts={free.map((row) => [
          `blocks up to ${bytes(row.most)}`,
          `${bytes(row.free)} free in ${count(row.free_blocks)} pieces, ${bytes(row.used)} used`,
        ])}
      />
    </details>
  );
}

/** The collector's counters and settings. */
function Collector({ numbers }: { numbers: Summary["collector"] }) {
  if (numbers.length === 0) return null;
  return (
    <details>
      <summary>The collector</summary>
      <Facts facts={numbers.map(({ name, value }) => [name, value.toLocaleString("en", { maximumFractionDigits: 3 })])} />
    </details>
  );
}
