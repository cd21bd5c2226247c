/** What would be freedd without some references, which were chosen in tables and in the inspector. */
import { useAnswer } from "../api/use";
import { bytes, count, percent } from "../format";
import { Answered, Panel } from "../parts/controls";
import { useExport } from "../parts/export";
import { Table, type TableColumn } from "../parts/table";
import { useRoute } from "../state/route";
import type { FreedClass, WhatIf } from "./answers";
import { Next } from "./parts";

/** The number of rows requested. */
const ROWS = 10;

const params = (file: number, cut: readonly string[]) => ({ file, cut, number: ROWS });

/** A link that adds a reference to those to cut. */
export function WithoutLink({ file, what, children }: { file: number; what: string; children: string }) {
  const route = useRoute();
  const cuts = route.params.getAll("cut");
  const all = cuts.includes(what) ? cuts : [...cuts, what];
  return (
    <Next to={{ params: { cut: all } }} asks={["heap/what-if", params(file, all)]} title="What would be freedd without these references">
      {children}
    </Next>
  );
}

export function WhatIfPanel({ file, cuts }: { file: number; cuts: readonly string[] }) {
  const route = useRoute();
  const asked = useAnswer<WhatIf>("heap/what-if", params(file, cuts));
  const without = (what: string) => route.go({ params: { cut: cuts.filter((cut) => cut !== what) } });
  useExport({ title: "What if", command: asked.answer?.command });
  const close = <button class="quiet" aria-label="Close what if" onClick={() => route.go({ params: { cut: null } })}>×</button>;
  return (
    <Panel title="What if these references did not exist" tools={close}>
      <div data-testid="what-if">
        <Answered asked={asked}>
          {(answer) => (
            <>
              <p>
                <strong>{bytes(answer.freed.bytes)}</strong> in {count(answer.freed.blocks)} blocks would be free,{" "}
                {percent(answer.freed.share)} of {bytes(answer.total)}.
              </p>
              <span class="chips">
                {answer.cuts.map((cut) => (
                  <span class="chip" key={cut.what}>
                    <span class="value" title={cut.what}>{cut.what}</span> alone {bytes(cut.bytes)}
                    <button aria-label={`With ${cut.what}`} onClick={() => without(cut.what)}>×</button>
                  </span>
                ))}
              </span>
              <Table
                title="What would be freed"
                command={asked.answer?.command}
                keys={false}
                columns={COLUMNS}
                rows={answer.rows}
                id={(row) => row.name}
                more={answer.row_count > answer.rows.length && `${count(answer.row_count - answer.rows.length)} more.`}
              />
            </>
          )}
        </Answered>
      </div>
    </Panel>
  );
}

const COLUMNS: TableColumn<FreedClass>[] = [
  { title: "What would be freed", wide: true, value: (row) => row.name, cell: (row) => <span class="what">{row.name}</span> },
  { title: "Blocks", number: true, value: (row) => row.blocks, cell: (row) => count(row.blocks) },
  { title: "Bytes", number: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
];
