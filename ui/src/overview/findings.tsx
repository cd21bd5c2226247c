/** Findings, each a card: what it is and how sure, how large, how it grew, where it was made, who holds it, and the view that shows it. */
import type { ComponentChildren } from "preact";
import type { Suspect, SuspectsAnswer as Suspects } from "../api/generated";
import { useAnswer } from "../api/use";
import { bytes, percent } from "../format";
import { Answered } from "../parts/controls";
import { useExport } from "../parts/export";
import { linkTo, useRoute } from "../state/route";
import { Spark } from "./spark";

/** What stands out in the last of some snapshots, and what grew up to it: the largest first. */
export function SnapshotFindings({ files }: { files: readonly number[] }) {
  const route = useRoute();
  const last = files[files.length - 1] ?? 0;
  const asked = useAnswer<Suspects>("heap/suspects", { files: files.map(String) });
  useExport({ title: "Findings", command: asked.answer?.command });
  // The command line goes on with this verb; the part of that name shows the same.
  const nextLink = ([verb, what]: Suspect["next"]) => {
    const params: Record<string, string> = verb === "dominators" ? { at: what, node: what } : what ? { what } : {};
    return linkTo(route, { view: "heap", file: last, part: verb, params, fresh: true });
  };
  return (
    <Answered asked={asked}>
      {({ suspects }) => (
        <section class="findings" aria-label="Findings">
          {suspects.length === 0 && <p class="faint">Nothing stands out.</p>}
          {[...suspects].sort((a, b) => b.bytes - a.bytes).map((suspect) => (
            <Finding
              key={suspect.sentence}
              sure={suspect.severity}
              size={bytes(suspect.bytes)}
              share={suspect.share}
              series={suspect.series}
              facts={[["made in", suspect.made_at], ["held by", suspect.held_by]]}
              href={nextLink(suspect.next)}
            >
              {shortSentence(suspect)}.
            </Finding>
          ))}
        </section>
      )}
    </Answered>
  );
}

/** What stands below as facts is not said twice. */
export function shortSentence({ sentence, made_at, held_by }: Pick<Suspect, "sentence" | "made_at" | "held_by">): string {
  return sentence.replace(`. Most of it was made in ${made_at}`, "").replace(`, and is held by ${held_by}`, "");
}

interface FindingProps {
  sure: string;
  size: ComponentChildren;
  share: number;
  /** Its bytes from snapshot to snapshot; fewer than two are no picture. */
  series?: readonly number[];
  /** What a reader looks for first, taken out of the sentence. */
  facts?: readonly (readonly [name: string, value: string | null])[];
  href: string;
  children: ComponentChildren;
}

export function Finding({ sure, size, share, series = [], facts = [], href, children }: FindingProps) {
  const part = Math.min(1, share);
  const known = facts.filter(([, value]) => value);
  return (
    <article class={`finding ${sure}`}>
      <div class="finding-size">
        <strong>{size}</strong>
        <span class="finding-bar" aria-hidden="true"><span style={{ width: `${(100 * part).toFixed(1)}%` }} /></span>
        <small class="faint">{percent(part)}, {sure}</small>
        {series.length > 1 && <Spark values={series} label={`${bytes(series[0] ?? 0)} to ${bytes(series[series.length - 1] ?? 0)} in ${series.length} snapshots`} />}
      </div>
      <div>
        <p>{children}</p>
        {known.length > 0 && (
          <dl class="finding-facts">
            {known.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd><code>{value}</code></dd>
              </div>
            ))}
          </dl>
        )}
      </div>
      <a href={href}>show me</a>
    </article>
  );
}
