/** GC parameters for a program: the recommendation, time against memory, both by s and o, the runs, and what tuning cannot change. */
import { useState } from "preact/hooks";
import { isReport } from "../api/ask";
import type { ViewProps } from "../api/files";
import type { Answer, GcAnswers, MapCell } from "../api/generated";
import { useAnswer } from "../api/use";
import { Answered, Panel, Select } from "../parts/controls";
import { useExport } from "../parts/export";
import { linkTo, useRoute } from "../state/route";
import { Front } from "./front";
import { HeatMap, MapNote } from "./heat";
import { Recommendation } from "./recommendation";
import { cellNamed, cellOf, nameOf } from "./setting";
import { Comparison, FrontTable, Runs } from "./tables";
import "./gc.css";

/** What pictures of settings share: one is shown in all of them. */
export interface Pointing {
  shown: MapCell | null;
  /** Shows it while the pointer is there. */
  point: (cell: MapCell | null) => void;
  /** Keeps it, in the URL. */
  select: (cell: MapCell) => void;
}

export function GcView({ file, files }: ViewProps) {
  const { params } = useRoute();
  const asked = useAnswer<GcAnswers>("gc", { file, memory: params.get("memory") ?? undefined, slower: params.get("slower") ?? undefined });
  const present = asked.answer?.result.answers[0]?.present.rss.value;
  return (
    <div class="gc">
      <GoalControl present={present} />
      <Answered asked={asked}>
        {(all) => <Programs all={all} name={files[file]?.name ?? ""} command={asked.answer?.command ?? null} />}
      </Answered>
    </div>
  );
}

const GOALS = [
  ["", "as in the file"],
  ["0%", "least memory, no slower"],
  ["5%", "least memory, at most 5 % slower"],
  ["10%", "least memory, at most 10 % slower"],
  ["25%", "least memory, at most 25 % slower"],
] as const;
const LIMITED = "least time, with a limit of memory";

/** Another goal is answered from the same runs. */
function GoalControl({ present }: { present: number | undefined }) {
  const { params, go } = useRoute();
  const [memory, slower] = [params.get("memory"), params.get("slower") ?? ""];
  const known = GOALS.some(([value]) => value === slower) ? GOALS : [...GOALS, [slower, `least memory, at most ${slower} slower`] as const];
  const limit = `${Math.max(1, Math.ceil((present ?? 0) / 1e6))}MB`;
  const choose = (goal: string) => go({ params: goal === "memory" ? { slower: null, memory: limit } : { slower: goal || null, memory: null } });
  return (
    <div class="row gc-goal">
      <Select label="Goal" options={[...known, ["memory", LIMITED] as const]} value={memory === null ? slower : "memory"} onChange={choose} />
      {memory !== null && !isReport && (
        <label class="select">
          <span>Limit</span>
          <input type="text" size={9} value={memory} spellcheck={false} onChange={(event) => go({ params: { memory: event.currentTarget.value.trim() || limit } })} />
        </label>
      )}
    </div>
  );
}

/** One program, or two with their comparison. */
function Programs({ all, name, command }: { all: GcAnswers; name: string; command: string | null }) {
  const route = useRoute();
  const { answers, comparison } = all;
  useExport({ title: `GC parameters ${name}`, command });
  const names = answers.map((answer, at) => answer.command[0] ?? `program ${at + 1}`);
  const tabs = [["", names[0] ?? ""], ["second", names[1] ?? ""], ["comparison", "Comparison"]] as const;
  const tab = comparison ? tabs.find(([part]) => part === route.part)?.[0] ?? "" : "";
  const answer = answers[tab === "second" ? 1 : 0];
  return (
    <>
      {comparison && (
        <nav class="tabs" aria-label="Programs">
          {tabs.map(([part, title]) => (
            <a key={part} href={linkTo(route, { part, params: { at: null } })} aria-current={part === tab ? "page" : undefined}>{title}</a>
          ))}
        </nav>
      )}
      {comparison && tab === "comparison" ? (
        <Comparison comparison={comparison} names={names} command={command} />
      ) : (
        answer && <Program key={tab} answer={answer} command={command} />
      )}
    </>
  );
}

function Program({ answer, command }: { answer: Answer; command: string | null }) {
  const { params, go } = useRoute();
  const [pointed, setPointed] = useState<MapCell | null>(null);
  const { map } = answer;
  const usual = cellOf(map, answer.recommended?.choice.cell.setting ?? answer.present.setting);
  const shown = pointed ?? cellNamed(map, params.get("at")) ?? usual;
  const select = (cell: MapCell) => go({ params: { at: nameOf(cell.setting) } }, { replace: true });
  const pointing: Pointing = { shown, point: setPointed, select };
  return (
    <>
      <Recommendation answer={answer} />
      <Front answer={answer} command={command} {...pointing} />
      <div class="gc-maps">
        <HeatMap answer={answer} of="time" command={command} {...pointing} />
        <HeatMap answer={answer} of="rss" command={command} {...pointing} />
      </div>
      <MapNote answer={answer} />
      <Runs answer={answer} command={command} shown={shown} select={select} />
      <FrontTable answer={answer} command={command} />
      <Sentences title="What tuning cannot change" sentences={answer.limits} none="The numbers show nothing that tuning cannot change." />
      <Panel title="What the counters show" class="gc-findings">
        {answer.findings.length === 0 && <p class="faint">No rule applies to the first run.</p>}
        <ul class="gc-list">
          {answer.findings.map(({ rule, sentence, advice }) => (
            <li key={rule} data-rule={rule}><strong>{sentence}.</strong> {advice}</li>
          ))}
        </ul>
      </Panel>
    </>
  );
}

function Sentences({ title, sentences, none }: { title: string; sentences: readonly string[]; none: string }) {
  return (
    <Panel title={title}>
      {sentences.length === 0 && <p class="faint">{none}</p>}
      <ul class="gc-list">
        {sentences.map((sentence) => <li key={sentence}>{sentence}</li>)}
      </ul>
    </Panel>
  );
}
