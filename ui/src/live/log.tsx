/** The program's log, up to the viewed moment. */
import { useEffect, useRef } from "preact/hooks";
import { canAsk } from "../api/ask";
import type { LogAnswer } from "../api/generated";
import { count } from "../format";
import { Answered, Panel, Search, useSettled } from "../parts/controls";
import { csvOf, useExport } from "../parts/export";
import { useRoute } from "../state/route";
import { timeParams, type Watched } from "./charts";
import { clock } from "./live";
import { useLive } from "./use-live";

export function LogPart(watched: Watched) {
  const { params, go } = useRoute();
  const typed = params.get("filter") ?? "";
  const filter = useSettled(typed);
  const { last: _, ...time } = timeParams(watched.watch);
  const asked = useLive("live/log", { file: watched.file, ...time, filter: filter || undefined }, watched.following);
  return (
    <Panel
      title="Log"
      tools={canAsk("live/log", { file: watched.file, filter: "x" }) && <Search label="Only lines with" value={typed} onInput={(text) => go({ params: { filter: text || null } }, { replace: true })} />}
    >
      <Answered asked={asked}>{(log) => <Lines log={log} command={asked.answer?.command} />}</Answered>
    </Panel>
  );
}

function Lines({ log, command }: { log: LogAnswer; command: string | null | undefined }) {
  const list = useRef<HTMLOListElement>(null);
  // Scrolls to the newest line, like a terminal.
  useEffect(() => list.current?.lastElementChild?.scrollIntoView({ block: "nearest" }), [log.count]);
  useExport({ title: "log", command, csv: () => csvOf([["seconds", "line"], ...log.log.map((line) => [line.time, line.text])]) });
  if (log.count === 0) return <p class="faint">No lines.</p>;
  return (
    <>
      {log.count > log.log.length && <p class="faint">The last {log.log.length} of {count(log.count)} lines.</p>}
      <ol class="log" ref={list} tabIndex={0} aria-label="Lines of the log">
        {log.log.map((line, at) => (
          <li key={at}>
            <time>{clock(line.time)}</time> <span>{line.text}</span>
          </li>
        ))}
      </ol>
    </>
  );
}
