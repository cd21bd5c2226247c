/** A trace: its peak, what is left at the end, who retains it, and how reliable these numbers are. */
import { useAnswer } from "../api/use";
import type { ContentsAnswer as Contents, TopAnswer as Top, TraceInfo as Info } from "../api/generated";
import { bytes, count, date, seconds } from "../format";
import { Answered, Estimated } from "../parts/controls";
import { useExport } from "../parts/export";
import { linkTo, useRoute } from "../state/route";
import { wordsOf } from "../trace/telling";
import { Big, Facts, Headline } from "./headline";

export function TraceMore({ at, name }: { at: number; name: string }) {
  const route = useRoute();
  const info = useAnswer<Info>("overview/info", { file: at });
  const contents = useAnswer<Contents>("overview/contents", { file: at });
  const top = useAnswer<Top>("trace/top", { file: at, number: 5 });
  const link = (params: Record<string, string>, part = "") =>
    linkTo(route, { view: "trace", file: at, part, params, fresh: true });
  useExport({ title: `Overview of ${name}`, command: contents.answer?.command });
  const owner = top.answer?.result.rows[0];
  return (
    <>
      <Answered asked={contents}>
        {({ contents: of }) => (
          <Headline>
            <Big what="peak" detail={`at ${seconds(of.peak_time)}`} href={link({ metric: "peak" })}>
              <Estimated of={of.peak} />
            </Big>
            <Big what="live at the end" detail="or not collected yet" href={link({ metric: "live" })}>
              <Estimated of={of.live_at_end} />
            </Big>
            <Big what="allocated" detail={<Estimated of={of.objects} show={(n) => `${count(n)} blocks`} />} href={link({ metric: "allocated" })}>
              <Estimated of={of.allocated} />
            </Big>
            {owner && (
              <Big
                what={`most that is ${wordsOf(top.answer?.result.measure)}`}
                detail={<Estimated of={owner.self} />}
                href={link({ focus: owner.name })}
              >
                <span class="mono owner">{owner.name}</span>
              </Big>
            )}
          </Headline>
        )}
      </Answered>
      <Answered asked={info}>
        {(of) => (
          <>
            <p class={of.exact ? "faint" : "sampling"}>
              {of.exact
                ? "Every word was sampled: the numbers are exact."
                : `One word in ${count(1 / of.sample_rate)} was sampled${of.last_rate < of.sample_rate ? ` at the beginning, one in ${count(1 / of.last_rate)} at the end` : ""}: ${count(of.sampled_allocations)} samples stand for all. ± is the 95 % interval.`}
            </p>
            <Facts
              facts={[
                ["program", <code key="p">{of.program}</code>],
                ["ran on", `${of.host}, process ${of.pid}`],
                ["started", date(of.start)],
                ["for", seconds(of.duration)],
                ["recorded by", of.recorder ? `Bactrian ${of.recorder.version} in OCaml ${of.recorder.ocaml}, ${of.recorder.state}` : `memtrace${of.context ? `: ${of.context}` : ""}`],
                ["domains", String(of.domains.length)],
                ["file", bytes(of.file_bytes)],
              ]}
            />
          </>
        )}
      </Answered>
    </>
  );
}
