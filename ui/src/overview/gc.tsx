/** A result of `bactrian gc`: what it recommends. */
import type { ShownFile } from "../api/files";
import type { GcAnswers } from "../api/generated";
import { useAnswer } from "../api/use";
import { Answered, Panel } from "../parts/controls";
import { linkTo, useRoute } from "../state/route";

export function GcCard({ at, file }: { at: number; file: ShownFile }) {
  const route = useRoute();
  const asked = useAnswer<GcAnswers>("gc", { file: at });
  return (
    <Panel class="card" title={<a href={linkTo(route, { view: "gc", file: at, fresh: true })}>{file.name}</a>} tools={<span class="faint">GC parameters</span>}>
      <Answered asked={asked}>
        {({ answers }) => (
          <>
            {answers.map(({ command, sentence }, program) => (
              <p key={program}><code>{command.join(" ")}</code>: {sentence}</p>
            ))}
          </>
        )}
      </Answered>
    </Panel>
  );
}
