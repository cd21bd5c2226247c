/** A running program, or a recording of one: its state, its size, and warnings. */
import { isReport } from "../api/ask";
import type { ShownFile } from "../api/files";
import type { WatchState } from "../api/generated";
import { bytes, seconds } from "../format";
import { sizesOf } from "../live/live";
import { useLive } from "../live/use-live";
import { Answered, Panel } from "../parts/controls";
import { linkTo, useRoute } from "../state/route";
import { Big, Facts, Headline } from "./headline";

const STATES: Record<WatchState, string> = {
  live: "runs now",
  lost: "does not respond",
  replay: "a recording",
  over: "has ended",
};

export function LiveCard({ at, file }: { at: number; file: ShownFile }) {
  const route = useRoute();
  const state = useLive("live/state", { file: at }, !isReport);
  const observers = useLive("live/observers", { file: at }, !isReport);
  const link = linkTo(route, { view: "live", file: at, fresh: true });
  return (
    <Panel class="card" title={<a href={link}>{file.name}</a>} tools={<span class="faint">live numbers</span>}>
      <Answered asked={state}>
        {({ about, state, reason }) => (
          <>
            <Headline>
              <Big what={STATES[state]} detail={reason ?? about.ended?.reason ?? ""} href={link}>
                {seconds(about.to - about.from)}
              </Big>
              {sizesOf(observers.answer?.result.observers ?? [], about.ended !== null).map((size) => (
                <Big key={size.title} what={size.title} detail={about.ended ? "at last" : ""} href={link}>{bytes(size.bytes)}</Big>
              ))}
            </Headline>
            <section class="findings">
              {about.warnings.length > 0 && <h4>Warnings</h4>}
              <ol>
                {about.warnings.map((warning) => (
                  <li key={warning.sentence} class="likely">
                    {warning.sentence} <span class="faint">{warning.advice}</span>
                  </li>
                ))}
              </ol>
            </section>
            {(about.dropped.ticks > 0 || about.dropped.lines > 0) && (
              <p class="sampling">{about.dropped.ticks} moments and {about.dropped.lines} lines were lost on the way.</p>
            )}
            <Facts
              facts={[
                ["program", <code key="p">{about.program.name}</code>],
                ["process", String(about.program.pid)],
                ["runtime", about.program.runtime || "not known"],
              ]}
            />
          </>
        )}
      </Answered>
    </Panel>
  );
}
