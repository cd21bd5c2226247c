/** What appeared between two snapshots and still exists in a third: by class, with its holder and allocation site. */
import type { LeakRow, LeaksAnswer } from "../api/generated";
import { useAnswer } from "../api/use";
import { bytes, count } from "../format";
import { Answered, Panel } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";

/** The number of snapshots that it needs. */
export const LEAST = 3;

/** The number of rows requested. */
const ROWS = 20;

export function Stayed() {
  const asked = useAnswer<LeaksAnswer>("heap/leaks", { number: ROWS });
  return (
    <Panel title="What stayed">
      <div data-testid="stayed">
        <Answered asked={asked}>{(answer) => <Rows answer={answer} command={asked.answer?.command} />}</Answered>
      </div>
    </Panel>
  );
}

function Rows({ answer, command }: { answer: LeaksAnswer; command: string | null | undefined }) {
  const [first, second, third] = answer.compared;
  const most = Math.max(1, ...answer.rows.map((row) => row.bytes));
  const columns: TableColumn<LeakRow>[] = [
    { title: "Class", wide: true, value: (row) => row.class, cell: (row) => <span class="what">{row.class}</span> },
    { title: "Bytes", number: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes), bar: (row) => row.bytes / most },
    { title: "Blocks", number: true, value: (row) => row.blocks, cell: (row) => count(row.blocks) },
    { title: "Held by", value: (row) => row.holder ?? "", cell: (row) => row.holder ?? <span class="faint">several roots</span> },
    { title: "Allocated in", value: (row) => row.site ?? "", cell: (row) => row.site ?? <span class="faint">not sampled</span> },
  ];
  return (
    <>
      <p>
        <strong>{bytes(answer.all.bytes)}</strong> in {count(answer.all.blocks)} blocks came between {first} and {second}, and are there in {third}.
      </p>
      {answer.rows.length > 0 && (
        <Table
          title="What stayed"
          command={command}
          columns={columns}
          rows={answer.rows}
          id={(row) => row.class}
          sorted={{ by: "Bytes" }}
          keys={false}
          more={answer.row_count > answer.rows.length && `${count(answer.row_count - answer.rows.length)} more.`}
        />
      )}
    </>
  );
}
