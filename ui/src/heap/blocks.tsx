/** The blocks of a type, one by one or grouped by the value of a field. */
import { useEffect, useState } from "preact/hooks";
import { isReport } from "../api/ask";
import { useAnswer } from "../api/use";
import { useWindow, type RowWindow } from "../api/window";
import { bytes, count, seconds } from "../format";
import { Answered, Panel, Search } from "../parts/controls";
import { orderIn, Table, type TableColumn } from "../parts/table";
import { useRoute } from "../state/route";
import type { BlockRow, Blocks, ClassTable } from "./answers";
import { classesParams } from "./classes";
import { Next } from "./parts";

type Group = Blocks["groups"][number];

/** A block or a group as a row: both are shown in one table. */
interface Row {
  node: number;
  value: string;
  blocks: number;
  shallow: number;
  retained: number;
  age: number | null;
}

export function BlocksTab({ file }: { file: number }) {
  const route = useRoute();
  const type = route.params.get("type");
  const [text, setText] = useState(type ?? "");
  useEffect(() => setText(type ?? ""), [type]);
  const search = !isReport && (
    <>
      <Search label="Blocks of a type" hotkey="s" value={text} onInput={setText} onEnter={(type) => type.trim() && route.go({ params: { type: type.trim(), where: null, "group-by": null } })} />
      {type !== null && <Conditions />}
    </>
  );
  return (
    <Panel title={<>Blocks{type !== null && <> of <span class="what">{type}</span></>}</>} tools={search}>
      {type === null ? <Types file={file} /> : <OfType file={file} type={type} />}
    </Panel>
  );
}

/** Inputs for conditions and grouping, in the syntax of `heap blocks`. */
function Conditions() {
  const route = useRoute();
  const [where, setWhere] = useState(route.params.get("where") ?? "");
  const [field, setField] = useState(route.params.get("group-by") ?? "");
  return (
    <>
      <Search label="Only where FIELD=VALUE" hotkey="w" value={where} onInput={setWhere} onEnter={(text) => route.go({ params: { where: text.trim() || null } })} />
      <Search label="Together by FIELD" hotkey="t" value={field} onInput={setField} onEnter={(text) => route.go({ params: { "group-by": text.trim() || null } })} />
    </>
  );
}

/** Types to choose from. */
function Types({ file }: { file: number }) {
  const asked = useAnswer<ClassTable>("heap/classes", classesParams(file, "types"));
  return (
    <Answered asked={asked}>
      {(table) => (
        <ul class="suggestions">
          {table.rows.slice(0, 20).map((row) => (
            <li key={row.name}>
              <Next to={{ params: { type: row.name } }} asks={["heap/blocks", { ...blocksParams(file, row.name, new URLSearchParams()), number: 200 }]}><span class="what">{row.name}</span></Next>
              <span class="faint"> {count(row.blocks.value)} blocks, {bytes(row.shallow.value)}</span>
            </li>
          ))}
        </ul>
      )}
    </Answered>
  );
}

function blocksParams(file: number, type: string, params: URLSearchParams) {
  return {
    file,
    type,
    where: params.getAll("where").length > 0 ? params.getAll("where") : undefined,
    "group-by": params.get("group-by") ?? undefined,
    sort: params.get("sort") ?? undefined,
    reverse: params.has("reverse"),
    search: params.get("q") || undefined,
  };
}

function OfType({ file, type }: { file: number; type: string }) {
  const route = useRoute();
  const { asked, window } = useWindow<Blocks, Row>("heap/blocks", blocksParams(file, type, route.params), rowsOf);
  return (
    <Answered asked={asked}>
      {(blocks) => (
        <>
          <p class="faint">{count(blocks.blocks)} blocks, {bytes(blocks.shallow)} themselves.</p>
          {blocks.copies.length > 0 && <Copies copies={blocks.copies} />}
          <List window={window} isGrouped={route.params.has("group-by")} command={asked.answer?.command} />
        </>
      )}
    </Answered>
  );
}

function rowsOf({ rows, groups, row_count }: Blocks): { rows: Row[]; row_count: number } {
  const one = ({ node, value, shallow, retained, age }: BlockRow): Row => ({ node, value, shallow, retained, age, blocks: 1 });
  return { rows: groups.length > 0 ? groups.map((group) => ({ ...group, age: null })) : rows.map(one), row_count };
}

/** Frequent duplicates. */
function Copies({ copies }: { copies: readonly Group[] }) {
  const route = useRoute();
  return (
    <ul class="faint" aria-label="Duplicates">
      {copies.map((copy) => (
        <li key={copy.node}>
          <button class="link" onClick={() => route.go({ params: { node: `@${copy.node}` } })}><span class="what">{copy.value}</span></button> {count(copy.blocks)} times, {bytes(copy.shallow)}
        </li>
      ))}
    </ul>
  );
}

function List({ window, isGrouped, command }: { window: RowWindow<Row>; isGrouped: boolean; command: string | null | undefined }) {
  const route = useRoute();
  const columns: TableColumn<Row>[] = [
    { title: "Value", wide: true, value: (row) => row.value, cell: (row) => <><small class="faint mono">@{row.node} </small><span class="what">{row.value}</span></> },
    ...(isGrouped ? [{ title: "Blocks", number: true, value: (row: Row) => row.blocks, cell: (row: Row) => count(row.blocks) }] : []),
    { title: "Retained", order: "retained", number: true, help: "What would be freed without it", value: (row) => row.retained, cell: (row) => bytes(row.retained) },
    { title: "Size", order: "size", number: true, help: "Its own bytes", value: (row) => row.shallow, cell: (row) => bytes(row.shallow) },
    ...(isGrouped ? [] : [{ title: "Age", order: "age", number: true, help: "If it was sampled", value: (row: Row) => row.age ?? 0, cell: (row: Row) => (row.age === null ? "" : seconds(row.age)) }]),
  ];
  return (
    <Table
      title="Blocks"
      command={command}
      columns={columns}
      rows={window.rows}
      window={window}
      order={isGrouped ? { by: "", reverse: false, set: () => undefined } : orderIn(route.params, "retained")}
      id={(row) => `@${row.node}`}
      selected={route.params.get("node") ?? undefined}
      onOpen={(row) => route.go({ params: { node: `@${row.node}` } })}
    />
  );
}
