/** Duplicate structures, and what sharing them would save. */
import { useAnswer } from "../api/use";
import { bytes, count, percent } from "../format";
import { Answered, Estimated, Panel } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { useRoute } from "../state/route";
import { labelText, type Duplicates, type Label } from "./answers";

export function DuplicatesTab({ file }: { file: number }) {
  const asked = useAnswer<Duplicates>("heap/duplicates", { file, number: 50 });
  return <Answered asked={asked}>{(answer) => <Found answer={answer} command={asked.answer?.command} />}</Answered>;
}

function Found({ answer, command }: { answer: Duplicates; command: string | null | undefined }) {
  const route = useRoute();
  // Bars are relative to the longest: as shares of the total, most would be too short to be visible.
  const most = (rows: readonly { saved: number }[]) => rows.reduce((most, row) => Math.max(most, row.saved), 1);
  const [largest, largestClass] = [most(answer.structures), most(answer.classes)];
  const place = (row: Label) => (
    <>
      <span class="what">{row.name}</span>
      {row.file && <small class="faint place"> {row.line ? `${row.file}:${row.line}` : row.file}</small>}
    </>
  );
  type Structure = Duplicates["structures"][number];
  const structures: TableColumn<Structure>[] = [
    {
      title: "Value",
      wide: true,
      value: (row) => row.value,
      cell: (row) => (
        <>
          <span class="what">{row.value}</span>
          {row.value !== row.what && <small class="faint place"> {row.what}</small>}
        </>
      ),
    },
    { title: "Saved", number: true, value: (row) => row.saved, cell: (row) => bytes(row.saved), bar: (row) => row.saved / largest },
    { title: "Copies", number: true, value: (row) => row.copies, cell: (row) => count(row.copies) },
    { title: "Each", number: true, value: (row) => row.each, cell: (row) => bytes(row.each) },
  ];
  type Class = Duplicates["classes"][number];
  const classes: TableColumn<Class>[] = [
    { title: "Type", wide: true, value: (row) => labelText(row), cell: place },
    { title: "Saved", number: true, value: (row) => row.saved, cell: (row) => bytes(row.saved), bar: (row) => row.saved / largestClass },
    { title: "Blocks", number: true, value: (row) => row.blocks, cell: (row) => count(row.blocks) },
  ];
  type Site = Duplicates["sites"][number];
  const sites: TableColumn<Site>[] = [
    { title: "Site", wide: true, value: (row) => labelText(row), cell: place },
    { title: "Saved", number: true, value: (row) => row.saved.value, cell: (row) => <Estimated of={row.saved} />, bar: (row) => row.share },
    { title: "Sampled", number: true, value: (row) => row.sampled_blocks, cell: (row) => count(row.sampled_blocks) },
  ];
  const more = (all: number, shown: number) => all > shown && `${count(all - shown)} more.`;
  return (
    <>
      <Panel title="Duplicates: equal structures">
        <p class="headline">
          <strong>{bytes(answer.saved)}</strong> of {bytes(answer.bytes)} ({percent(answer.saved / Math.max(1, answer.bytes))}) would be saved if equal
          structures were shared; {count(answer.saved_blocks)} blocks would be saved.
        </p>
        <ul class="faint heap-facts">
          <li>{answer.mutable === null ? "Only if none of them is mutated, which is unknown without types." : `Not compared: ${count(answer.mutable)} blocks of mutable types.`}</li>
          {answer.left_out > 0 && <li>Not compared: {count(answer.left_out)} blocks (objects, lazy values, continuations, memory outside the heap, what is not known).</li>}
          {!answer.immediates_known && <li>The snapshot has no immediates: blocks that contain any were not compared.</li>}
          {!answer.contents_known && <li>The snapshot does not record equal contents: strings and floats were not compared.</li>}
        </ul>
      </Panel>
      <div class="two">
        <Panel title="By type">
          <Table title="Duplicates by type" command={command} columns={classes} rows={answer.classes} id={labelText} sorted={{ by: "Saved" }} keys={false} more={more(answer.class_count, answer.classes.length)} />
        </Panel>
        <Panel title="Where they were allocated">
          {answer.sites.length === 0 ? (
            <p class="faint">Unknown: none of them was sampled.</p>
          ) : (
            <Table title="Duplicates by site" command={command} columns={sites} rows={answer.sites} id={labelText} sorted={{ by: "Saved" }} keys={false} more={more(answer.site_count, answer.sites.length)} />
          )}
        </Panel>
      </div>
      <Panel title="The values themselves">
        <Table
          title="Equal structures"
          command={command}
          columns={structures}
          rows={answer.structures}
          id={(row, at) => `${row.nodes[0] ?? at}`}
          sorted={{ by: "Saved" }}
          onOpen={(row) => row.nodes[0] !== undefined && route.go({ params: { node: `@${row.nodes[0]}` } })}
          more={more(answer.structure_count, answer.structures.length)}
        />
      </Panel>
    </>
  );
}
