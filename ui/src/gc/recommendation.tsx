/** The recommendation: a sentence, the lines that set it, and the prediction beside the measurement. */
import type { Answer, Recommendation as Recommended } from "../api/generated";
import { bytes, count, seconds } from "../format";
import { Estimated, Notes, Panel } from "../parts/controls";
import { Copyable } from "../parts/copy";
import { nameOf } from "./setting";
import { change } from "./telling";

export function Recommendation({ answer }: { answer: Answer }) {
  const { recommended, runs, model, ocaml } = answer;
  const isNew = recommended && !recommended.choice.keeps_present;
  const of = model.repetitions > 0 ? "equal runs differ by" : "equal runs are assumed to differ by";
  return (
    <Panel title="Recommendation" class="gc-recommendation">
      <p class="gc-sentence" data-testid="sentence">{answer.sentence}</p>
      <p class="faint">
        Wanted: {answer.wanted}. <code>{answer.command.join(" ")}</code>
        {ocaml && `, OCaml ${ocaml}`}; {count(runs.length)} {runs.length === 1 ? "run" : "runs"}; time is {answer.time_by === "cpu" ? "processor time" : "elapsed time"},{" "}
        {of} {(model.time_noise * 100).toFixed(2)} %; memory is the peak of resident memory.
      </p>
      {isNew && (
        <div class="gc-lines">
          <Copyable name="shell" text={`export OCAMLRUNPARAM='${recommended.ocamlrunparam}'`} />
          <Copyable name="dune" text={recommended.dune} />
          <Copyable name="OCaml" text={recommended.gc_set} />
        </div>
      )}
      {recommended && <Verified answer={answer} recommended={recommended} />}
      {recommended?.reservation && (
        <p class="faint">With it, OCaml 5 reserves {bytes(recommended.reservation)} of address space for minor heaps, which counts against ulimit -v, but not as memory.</p>
      )}
      {answer.notes.length > 0 && (
        <>
          <h4>Reasons to doubt this</h4>
          <Notes notes={answer.notes} />
        </>
      )}
    </Panel>
  );
}

/** Predicted and measured, side by side. */
function Verified({ answer, recommended }: { answer: Answer; recommended: Recommended }) {
  const { present, runs } = answer;
  const { choice, verified_by, time_factor, rss_factor } = recommended;
  const run = verified_by === null ? undefined : runs[verified_by];
  const predicted = run?.predicted;
  const measured = run ? { time: run.time_interval, rss: run.rss_interval } : choice.cell;
  const isNow = choice.keeps_present;
  const verdict = predicted ? (run?.as_predicted ? "as predicted" : "not as predicted: the model was fitted again with this run") : "";
  return (
    <div class="gc-verified-frame">
      <table class="gc-verified" aria-label={`${nameOf(choice.cell.setting)}: predicted and measured`}>
        <thead>
          <tr>
            <td />
            {!isNow && <th scope="col">now</th>}
            {predicted && <th scope="col">predicted</th>}
            <th scope="col">measured</th>
            {!isNow && <th scope="col">change</th>}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">time</th>
            {!isNow && <td><Estimated of={present.time} show={seconds} /></td>}
            {predicted && <td><Estimated of={predicted.time} show={seconds} /></td>}
            <td><Estimated of={measured.time} show={seconds} /></td>
            {!isNow && <td>{change(time_factor)}</td>}
          </tr>
          <tr>
            <th scope="row">memory</th>
            {!isNow && <td><Estimated of={present.rss} /></td>}
            {predicted && <td><Estimated of={predicted.rss} /></td>}
            <td><Estimated of={measured.rss} /></td>
            {!isNow && <td>{change(rss_factor)}</td>}
          </tr>
        </tbody>
      </table>
      <p class={run?.as_predicted === false ? "gc-off" : "faint"} data-testid="verdict">
        {verdict || (isNow ? "This is the setting that the program has now." : "This setting was run without a prediction.")}
      </p>
    </div>
  );
}
