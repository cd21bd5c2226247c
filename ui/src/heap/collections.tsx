/** Lists, arrays, hash tables, maps etc.: their number, sizes and fill. */
import { useWindow } from "../api/window";
import { bytes, count, percent } from "../format";
import { Answered, Panel } from "../parts/controls";
import { orderIn, Table, type TableColumn } from "../parts/table";
import { useRoute } from "../state/route";
import type { CollectionRow, Collections } from "./answers";
import { TypesKnown } from "./parts";

const COLUMNS: TableColumn<CollectionRow>[] = [
  { title: "Type", order: "name", wide: true, value: (row) => row.name, cell: (row) => <span class="what">{row.name}</span> },
  { title: "Bytes", order: "bytes", number: true, help: "Of the collections themselves, without what they hold", value: (row) => row.bytes, cell: (row) => bytes(row.bytes), bar: (row) => row.share },
  { title: "Share", order: "bytes", number: true, value: (row) => row.share, cell: (row) => percent(row.share) },
  { title: "Count", order: "count", number: true, value: (row) => row.count, cell: (row) => count(row.count) },
  { title: "Elements", order: "elements", number: true, value: (row) => row.elements, cell: (row) => count(row.elements) },
  { title: "Mean", order: "mean", number: true, value: (row) => row.mean, cell: (row) => row.mean.toFixed(1) },
  { title: "Largest", order: "largest", number: true, help: "Enter opens it", value: (row) => row.largest, cell: (row) => count(row.largest) },
  { title: "Empty", order: "empty", number: true, value: (row) => row.empty ?? -1, cell: (row) => (row.empty === null ? "" : count(row.empty)) },
  { title: "Single", order: "single", number: true, value: (row) => row.single, cell: (row) => count(row.single) },
  { title: "Fill", order: "fill", number: true, help: "The share of buckets in use, or of lazy values that were forced", value: (row) => row.fill ?? -1, cell: (row) => (row.fill === null ? "" : percent(row.fill)), bar: (row) => row.fill ?? 0 },
  { title: "Overhead", order: "overhead", number: true, help: "Words for each element in addition to the element itself", value: (row) => row.overhead ?? -1, cell: (row) => (row.overhead === null ? "" : row.overhead.toFixed(1)) },
];

export function CollectionsTab({ file }: { file: number }) {
  const route = useRoute();
  const order = { sort: route.params.get("sort") ?? undefined, reverse: route.params.has("reverse") };
  const { asked, window } = useWindow<Collections, CollectionRow>("heap/collections", { file, ...order }, (answer) => answer);
  return (
    <Panel title="Collections by type">
      <Answered asked={asked}>
        {(answer) => (
          <>
            <Table
              title="Collections"
              command={asked.answer?.command}
              columns={COLUMNS}
              rows={window.rows}
              window={window}
              order={orderIn(route.params, "bytes")}
              id={(row) => row.name}
              onOpen={(row) => row.largest_node !== null && route.go({ params: { node: `@${row.largest_node}` } })}
            />
            <p class="faint">A row opens its largest collection. Empty lists, maps and sets are not blocks and cannot be counted.</p>
            <TypesKnown coverage={answer.coverage} />
          </>
        )}
      </Answered>
    </Panel>
  );
}
