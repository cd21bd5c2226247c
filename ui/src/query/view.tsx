/** Everything else, in SQL: a query on all shown files, its rows, and a plot of two columns. */
import { useEffect, useState } from "preact/hooks";
import type { ViewProps } from "../api/files";
import { useAnswer } from "../api/use";
import { grouped } from "../format";
import { Table, type TableColumn } from "../parts/table";
import { useKeys } from "../state/keys";
import { useRoute } from "../state/route";
import { EXAMPLES } from "./examples";
import { lineThrough, plotOf, shown, type Plot, type Row } from "./plot";
import "./query.css";

/** The number of rows that a browser shows without effort. */
const MOST_ROWS = 1000;

export function QueryView({ files }: ViewProps) {
  const route = useRoute();
  const asked = route.params.get("sql") ?? "";
  const [text, setText] = useState(asked);
  useEffect(() => setText(asked), [asked]);
  const { answer, error, loading } = useAnswer<Row[]>(asked ? "query" : null, { sql: asked }, files.length);
  const run = (sql: string) => route.go({ params: { sql: sql.trim() || null } });
  const examples = EXAMPLES.filter((example) => files.some((file) => file.kind === example.of));
  useKeys([{ key: "/", what: "write a query", run: () => document.getElementById("sql")?.focus() }]);
  return (
    <div class="query">
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          run(text);
        }}
      >
        <label for="sql">A query of {files.length === 1 ? files[0]?.name : `${files.length} files`}, in SQL (Ctrl-Enter runs it)</label>
        <textarea
          id="sql"
          rows={5}
          spellcheck={false}
          value={text}
          placeholder="select class, count(*) from blocks group by class"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(text);
          }}
        />
        <div class="row">
          <button type="submit">Run</button>
          <select aria-label="Examples" value="" onChange={(event) => event.currentTarget.value && run(event.currentTarget.value)}>
            <option value="">Examples…</option>
            {examples.map((example) => <option key={example.title} value={example.sql}>{example.title}</option>)}
          </select>
          {loading && asked && <span class="loading faint" role="status">Asking…</span>}
        </div>
      </form>
      {error && <pre class="error mistake" role="alert">{error}</pre>}
      {answer && !error && <Rows rows={answer.result} command={answer.command} isOld={loading} />}
    </div>
  );
}

function Rows({ rows, command, isOld }: { rows: readonly Row[]; command: string | null; isOld: boolean }) {
  const names = Object.keys(rows[0] ?? {});
  const plot = plotOf(rows);
  const columns = names.map((name): TableColumn<Row> => {
    const isNumber = rows.every((row) => row[name] === null || typeof row[name] === "number");
    return {
      title: name,
      cell: (row) => (isNumber && Number.isInteger(row[name]) && !/^(id|address|from|to|idom|stack|holder)$/.test(name) ? grouped(row[name] as number) : shown(row[name])),
      value: (row) => (isNumber ? ((row[name] as number | null) ?? 0) : shown(row[name])),
      number: isNumber,
    };
  });
  return (
    <section class={isOld ? "stale" : ""} aria-label="Answer">
      {rows.length === 0 && <p class="faint">No rows.</p>}
      {plot && <Picture plot={plot} />}
      {rows.length > 0 && (
        <Table
          title="Answer"
          columns={columns}
          rows={rows.slice(0, MOST_ROWS)}
          id={(_, at) => String(at)}
          command={command}
          more={rows.length > MOST_ROWS ? `and ${grouped(rows.length - MOST_ROWS)} more rows` : `${grouped(rows.length)} ${rows.length === 1 ? "row" : "rows"}`}
        />
      )}
    </section>
  );
}

const WIDTH = 900;
const HEIGHT = 220;

function Picture({ plot }: { plot: Plot }) {
  if (plot.kind === "bars") {
    const most = Math.max(...plot.bars.map((bar) => bar.value)) || 1;
    return (
      <figure class="panel bars" aria-label={`${plot.value} by ${plot.name}`}>
        {plot.bars.map((bar, at) => (
          <div key={at} class="bar">
            <span class="label" title={bar.label}>{bar.label || "(none)"}</span>
            <span class="track">
              <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width={(bar.value / most) * 100} height="1" /></svg>
            </span>
            <span class="number">{grouped(bar.value)}</span>
          </div>
        ))}
        {plot.left > 0 && <p class="faint">{plot.left} more rows are in the table.</p>}
      </figure>
    );
  }
  const { path, x, y } = lineThrough(plot.points, WIDTH, HEIGHT);
  return (
    <figure class="panel" aria-label={`${plot.value} by ${plot.name}`}>
      <p class="faint">{plot.value}, from {shown(y[0])} to {shown(y[1])}</p>
      <svg class="query-line" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${plot.value} by ${plot.name}`}>
        <path d={path} />
      </svg>
      <p class="faint ends"><span>{plot.name} {shown(x[0])}</span><span>{shown(x[1])}</span></p>
    </figure>
  );
}
