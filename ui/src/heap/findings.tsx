/** Findings about snapshots, from `heap suspects`, here and in the overview. */
import type { Suspect, SuspectsAnswer as Suspects } from "../api/generated";
import { useAnswer } from "../api/use";
import { bytes } from "../format";
import { Answered, Panel } from "../parts/controls";
import { useExport } from "../parts/export";
import { Finding } from "../parts/finding";
import { linkTo, useRoute } from "../state/route";
import type { TabProps } from "./parts";

/** The findings about this snapshot, and about the growth up to it. */
export function FindingsTab({ file, files }: TabProps) {
  const upTo = files.flatMap(({ kind }, at) => (kind === "snapshot" && at <= file ? [at] : []));
  return (
    <Panel title="Findings">
      <SnapshotFindings files={upTo} />
    </Panel>
  );
}

/** The findings about the last of some snapshots, and about the growth up to it, the largest first. */
export function SnapshotFindings({ files }: { files: readonly number[] }) {
  const route = useRoute();
  const last = files[files.length - 1] ?? 0;
  const asked = useAnswer<Suspects>("heap/suspects", { files: files.map(String) });
  useExport({ title: "Findings", command: asked.answer?.command });
  // The finding suggests this verb of the command line; the tab of the same name shows the same.
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

/** Omits what is shown as facts below. */
export function shortSentence({ sentence, made_at, held_by }: Pick<Suspect, "sentence" | "made_at" | "held_by">): string {
  return sentence.replace(`. Most of it was made in ${made_at}`, "").replace(`, and is held by ${held_by}`, "");
}
