/** Blocks by type, module, function, site and tag. A row leads to the next table: module, function, site, type. */
import { canAsk, type Params } from "../api/ask";
import { useAnswer } from "../api/use";
import { ROWS, useWindow, type RowWindow } from "../api/window";
import { bytes, count, percent, seconds } from "../format";
import { Answered, Estimated, Panel, Search } from "../parts/controls";
import { orderIn, Table, type TableColumn } from "../parts/table";
import { useRoute } from "../state/route";
import { labelText, type ClassRow, type ClassTable, type FieldRow, type FieldTable } from "./answers";
import { Next, TypesKnown } from "./parts";
import { WithoutLink } from "./what_if";

export type By = "types" | "modules" | "functions" | "sites" | "tags";
/** The server's names. */
const BY: Record<By, string> = { types: "type", modules: "module", functions: "function", sites: "site", tags: "tag" };

/** The question for the first rows of a table. */
export function classesParams(file: number, by: By, filters: Record<string, string> = {}): Params {
  return { file, by: by === "types" ? undefined : BY[by], ...filters, number: ROWS };
}

const ONE: Record<By, string> = { types: "Type", modules: "Module", functions: "Function", sites: "Site", tags: "Tag" };
/** The filter that a row sets on the next table, and that table. */
const NEXT: Partial<Record<By, { filter: string; part: By }>> = {
  modules: { filter: "module", part: "functions" },
  functions: { filter: "function", part: "sites" },
  sites: { filter: "site", part: "types" },
};
const FILTERS = ["module", "function", "site", "type"] as const;

export function ClassesTab({ file, by }: { file: number; by: By }) {
  const route = useRoute();
  const filters: Record<string, string> = {};
  for (const name of FILTERS) {
    const value = route.params.get(name);
    if (value !== null) filters[name] = value;
  }
  const sort = route.params.get("sort") ?? undefined;
  const [reverse, search] = [route.params.has("reverse"), route.params.get("q") || undefined];
  const params = { ...classesParams(file, by, filters), sort, reverse, search };
  const { asked, window } = useWindow<ClassTable, ClassRow>("heap/classes", params, (table) => table);
  const fieldsOf = by === "types" ? route.params.get("fields") : null;
  return (
    <>
      {fieldsOf !== null && <FieldsPanel file={file} of={fieldsOf} />}
      <Panel title={`Blocks by ${ONE[by].toLowerCase()}`} tools={<Filters filters={filters} />}>
        <Answered asked={asked}>
          {(table) => <Classes file={file} by={by} table={table} window={window} filters={filters} command={asked.answer?.command} />}
        </Answered>
      </Panel>
    </>
  );
}

/** The drill-down path; each step can be removed. */
function Filters({ filters }: { filters: Record<string, string> }) {
  const route = useRoute();
  const names = Object.keys(filters);
  if (names.length === 0) return null;
  return (
    <span class="chips">
      {names.map((name) => (
        <span class="chip" key={name}>
          {name} <span class="value" title={filters[name]}>{filters[name]}</span>
          <button aria-label={`Without ${name}`} onClick={() => route.go({ params: { [name]: null } })}>×</button>
        </span>
      ))}
    </span>
  );
}

interface ClassesProps {
  file: number;
  by: By;
  table: ClassTable;
  window: RowWindow<ClassRow>;
  filters: Record<string, string>;
  command: string | null | undefined;
}

function Classes({ file, by, table, window, filters, command }: ClassesProps) {
  const route = useRoute();
  const total = Math.max(1, table.total);
  const next = NEXT[by];
  const drilled = (row: ClassRow) => (next ? { ...filters, [next.filter]: labelText(row) } : {});
  const drill = (row: ClassRow) => {
    if (!next) return route.go({ part: "paths", fresh: true, params: { what: row.name } });
    if (canAsk("heap/classes", classesParams(file, next.part, drilled(row)))) {
      route.go({ part: next.part, params: { [next.filter]: labelText(row), fields: null, q: null, sort: null, reverse: null } });
    }
  };
  const columns: TableColumn<ClassRow>[] = [
    {
      title: ONE[by],
      wide: true,
      order: "name",
      value: (row) => labelText(row),
      cell: (row) => (
        <>
          <span class="what">{row.name}</span>
          {row.file && <small class="faint place"> {row.line ? `${row.file}:${row.line}` : row.file}{row.columns ? `:${row.columns[0]}-${row.columns[1]}` : ""}</small>}
        </>
      ),
    },
    { title: "Blocks", order: "blocks", number: true, value: (row) => row.blocks.value, cell: (row) => <Estimated of={row.blocks} show={count} /> },
    {
      title: "Shallow",
      order: "shallow",
      number: true,
      help: "Bytes of the blocks themselves",
      value: (row) => row.shallow.value,
      cell: (row) => <Estimated of={row.shallow} />,
      bar: (row) => row.shallow.value / total,
    },
    { title: "Share", number: true, cell: (row) => <span class="faint">{percent(row.shallow.value / total)}</span> },
  ];
  if (table.exact) {
    columns.push({
      title: "Retained",
      order: "retained",
      number: true,
      help: "What would be freed without them",
      value: (row) => row.retained ?? 0,
      cell: (row) => (row.retained === null ? "" : bytes(row.retained)),
      bar: (row) => (row.retained ?? 0) / total,
    });
  }
  if (window.rows.some(({ age }) => age)) {
    columns.push({
      title: "Age",
      number: true,
      help: "Half of the sampled bytes are older",
      value: (row) => row.age?.median ?? 0,
      cell: (row) => (row.age ? <span title={`the oldest: ${seconds(row.age.oldest)}`}>{seconds(row.age.median)}</span> : ""),
    });
  }
  if (window.rows.some(({ age }) => age?.grows)) {
    const growth = ({ age, shallow }: ClassRow) => (age?.grows && age.oldest > 0 ? shallow.value / age.oldest : 0);
    columns.push({
      title: "Grows",
      order: "growth",
      number: true,
      help: "Growth rate of old classes that still grow: some of their blocks were allocated in each eighth of the time since the oldest",
      value: growth,
      cell: (row) => (growth(row) > 0 ? `${bytes(growth(row))}/s` : ""),
    });
  }
  if (by === "types") columns.push({ title: "Look at", cell: (row) => <TypeLinks file={file} row={row} /> });
  const toPaths = (row: ClassRow) => route.go({ part: "paths", fresh: true, params: { what: row.name } });
  return (
    <>
      <div class="row">
        <Search label={`Search ${by}`} hotkey="s" value={route.params.get("q") ?? ""} onInput={(text) => route.go({ params: { q: text || null } }, { replace: true })} />
        <span class="faint">
          {count(table.blocks)} blocks of {bytes(table.bytes)}
          {!table.exact && `, estimated from ${count(table.sampled_blocks)} samples`}
        </span>
      </div>
      <Table
        key={by}
        title={`Blocks by ${ONE[by].toLowerCase()}`}
        command={command}
        columns={columns}
        rows={window.rows}
        window={window}
        order={orderIn(route.params, "shallow")}
        id={labelText}
        onOpen={by === "tags" ? undefined : drill}
        rowKeys={
          by === "types"
            ? [
                { key: "p", what: "paths to the type", run: toPaths },
                { key: "f", what: "fields of the type", run: (row) => route.go({ params: { fields: row.name } }) },
                { key: "a", what: "where the type is allocated", run: (row) => route.go({ part: "sites", fresh: true, params: { type: row.name } }) },
              ]
            : []
        }
      />
      {by === "types" && <TypesKnown coverage={table.coverage} />}
    </>
  );
}

function TypeLinks({ file, row }: { file: number; row: ClassRow }) {
  const { name } = row;
  return (
    <span class="row-links">
      <Next to={{ part: "paths", fresh: true, params: { what: name } }} asks={["heap/paths", { file, what: name }]} title="Why they are alive (p)">paths</Next>
      <Next to={{ params: { fields: name } }} asks={["heap/fields", { file, type: name }]} title="What each field holds (f)">fields</Next>
      <Next to={{ part: "sites", fresh: true, params: { type: name } }} asks={["heap/classes", classesParams(file, "sites", { type: name })]} title="Where they are allocated (a)">sites</Next>
      <WithoutLink file={file} what={name}>what if</WithoutLink>
    </span>
  );
}

/** What is retained through each field of a type. */
function FieldsPanel({ file, of }: { file: number; of: string }) {
  const route = useRoute();
  const asked = useAnswer<FieldTable>("heap/fields", { file, type: of });
  const close = <button class="quiet" aria-label="Close fields" onClick={() => route.go({ params: { fields: null } })}>×</button>;
  return (
    <Panel title={<>Fields of <span class="what">{of}</span></>} tools={close}>
      <Answered asked={asked}>
        {({ fields, row_count }) => (
          <>
            <p class="faint">
              {count(fields.blocks)} blocks of {bytes(fields.shallow)} retain {bytes(fields.retained)}
              {fields.together > 0 && `, ${bytes(fields.together)} of it through several fields together`}.
            </p>
            <Table
              title={`Fields of ${of}`}
              command={asked.answer?.command}
              keys={false}
              columns={[...FIELD_COLUMNS, { title: "Look at", cell: (row) => <span class="row-links"><WithoutLink file={file} what={`${of}.${fieldName(row)}`}>what if</WithoutLink></span> }]}
              rows={fields.rows}
              id={(row, at) => `${at} ${row.field}`}
              more={row_count > fields.rows.length && `${count(row_count - fields.rows.length)} more.`}
            />
          </>
        )}
      </Answered>
    </Panel>
  );
}

/** `Node.left` of a constructor, `name` of a record. */
const fieldName = (row: FieldRow) => (row.constructor ? `${row.constructor}.${row.field}` : row.field);

const FIELD_COLUMNS: TableColumn<FieldRow>[] = [
  {
    title: "Field",
    wide: true,
    value: fieldName,
    cell: (row) => (
      <span class="what">
        {fieldName(row)}
        {row.type_name && <span class="faint">: {row.type_name}</span>}
      </span>
    ),
  },
  { title: "Retained", number: true, help: "What is held only through this field", value: (row) => row.retained, cell: (row) => bytes(row.retained), bar: (row) => row.share },
  { title: "Share", number: true, value: (row) => row.share, cell: (row) => percent(row.share) },
  { title: "Pointers", number: true, value: (row) => row.pointers, cell: (row) => count(row.pointers) },
  { title: "Shared", number: true, help: "Pointers to blocks that others hold as well", value: (row) => row.shared, cell: (row) => count(row.shared) },
  { title: "Same type", number: true, help: "Pointers to blocks of the same type", value: (row) => row.same, cell: (row) => count(row.same) },
  { title: "Immediates", number: true, value: (row) => row.immediates, cell: (row) => count(row.immediates) },
];
