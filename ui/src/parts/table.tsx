/**
 * A table that is sorted by clicks and navigated by keys. It can be exported as CSV. Small tables have all their rows; others are
 * windows on rows that the server sorts, with more rows loaded as the user scrolls.
 *
 * On phones each row is a card (style.css): cells have the name of their column, and the head is a row of chips for sorting. Such
 * styles remove a table's ARIA roles in some browsers, so all roles are explicit.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { canClick, mostRows } from "../api/ask";
import type { RowWindow } from "../api/window";
import { useKeys } from "../state/keys";
import { go, useRoute } from "../state/route";
import { csvOf, useExport } from "./export";

export interface TableColumn<R> {
  title: string;
  /** What is shown. */
  cell: (row: R) => ComponentChildren;
  /** The value for export and for sorting small tables; without it the column has neither. */
  value?: (row: R) => number | string;
  /** The server's name for the order by this column, if it has one. */
  order?: string;
  /** From 0 to 1: drawn as a bar behind the cell. */
  bar?: (row: R) => number;
  /** Right-aligned, for numbers. */
  number?: boolean;
  /** Takes the remaining width. */
  wide?: boolean;
  /** Explains the column. */
  help?: string;
}

/** A key that acts on the current row. */
export interface RowKey<R> {
  key: string;
  what: string;
  run: (row: R) => void;
}

/** The server's sort order. */
export interface TableOrder {
  by: string;
  reverse: boolean;
  set: (by: string, reverse: boolean) => void;
}

/** The order in the URL; by default `first`, which is not written to the URL. */
export function orderIn(params: URLSearchParams, first: string): TableOrder {
  return {
    by: params.get("sort") ?? first,
    reverse: params.has("reverse"),
    set: (by, reverse) => go({ params: { sort: by === first ? null : by, reverse: reverse ? "" : null } }, { replace: true }),
  };
}

interface Props<R> {
  columns: readonly TableColumn<R>[];
  rows: readonly R[];
  /** If these are the first of many rows. */
  window?: RowWindow<R> | undefined;
  /** The server's order of the rows, and how to change it. */
  order?: TableOrder | undefined;
  /** Identifies a row. */
  id: (row: R, at: number) => string;
  /** Called when a row is clicked, or Enter is pressed on it. */
  onOpen?: ((row: R) => void) | undefined;
  /** The initial sort column, and whether ascending. By default the order of the rows. */
  sorted?: { by: string; up?: boolean };
  selected?: string | undefined;
  /** Keys for the current row, in addition to those of all tables. */
  rowKeys?: readonly RowKey<R>[] | undefined;
  /** For export. */
  title: string;
  command?: string | null | undefined;
  /** Shown below the table. */
  more?: ComponentChildren;
  /** Whether keys go to this table, rather than to another visible one. */
  keys?: boolean;
}

export function Table<R>(props: Props<R>) {
  const { columns, rows, id, onOpen, title, command, more, order, window: rest, keys = true } = props;
  const route = useRoute();
  const inUrl = `sort-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  const sort = sortFrom(route.params.get(inUrl)) ?? (props.sorted ? { by: props.sorted.by, up: props.sorted.up ?? false } : null);
  const [at, setAt] = useState(-1);
  const body = useRef<HTMLTableSectionElement>(null);
  // A row reached by keys gets the focus, so that screen readers read it.
  const isWalking = useRef(false);
  const heading = columns.find((column) => column.wide) ?? columns[0];
  const column = columns.find((column) => column.title === sort?.by);
  const shown = useMemo(() => {
    const value = column?.value;
    if (order || !sort || !value) return [...rows];
    const compare = (a: R, b: R) => {
      const [x, y] = [value(a), value(b)];
      const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return sort.up ? less : -less;
    };
    return [...rows].sort(compare);
  }, [rows, sort?.by, sort?.up, column]);
  // Rows come and go, as in trees that are opened: the current row stays the same. Synchronously, so that an immediately
  // following key is not undone by effects of the previous one.
  const here = useRef<string | null>(null);
  useLayoutEffect(() => {
    const name = here.current;
    if (name !== null) setAt(shown.findIndex((row, place) => id(row, place) === name));
  }, [rows]);
  useLayoutEffect(() => {
    const row = body.current?.children[at];
    row?.scrollIntoView({ block: "nearest" });
    if (isWalking.current && row instanceof HTMLElement) row.focus({ preventScroll: true });
    isWalking.current = false;
    const now = shown[at];
    if (now !== undefined) here.current = id(now, at);
  }, [at]);
  if (onOpen) shown.slice(0, mostRows()).forEach((row) => canClick(() => onOpen(row)));
  const move = (by: number) => {
    isWalking.current = true;
    setAt((old) => Math.max(0, Math.min(shown.length - 1, old + by)));
  };
  const open = () => {
    const row = shown[at];
    if (row !== undefined) onOpen?.(row);
  };
  const known = [
    { key: "j", what: "next row", run: () => move(1) },
    { key: "k", what: "row before", run: () => move(-1) },
    { key: "ArrowDown", what: "", run: () => move(1) },
    { key: "ArrowUp", what: "", run: () => move(-1) },
    ...(onOpen ? [{ key: "Enter", what: "open the row", run: open }] : []),
    ...(props.rowKeys ?? []).map(({ key, what, run }) => ({
      key,
      what,
      run: () => {
        const row = shown[at];
        if (row !== undefined) run(row);
      },
    })),
  ];
  useKeys(known, keys && rows.length > 0);
  // Keys that go elsewhere are handled here while one of the rows has the focus.
  const press = (event: KeyboardEvent) => {
    if (keys || event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof HTMLTableRowElement)) return;
    const key = known.find((one) => one.key === event.key);
    if (!key) return;
    event.preventDefault();
    key.run();
  };
  useExport({
    title,
    command,
    csv: async () => {
      const told = columns.filter((column) => column.value);
      const all = rest ? await rest.all() : shown;
      return csvOf([told.map((c) => c.title), ...all.map((row) => told.map((c) => c.value?.(row) ?? ""))]);
    },
  });
  // Sizes are sorted with the largest first, names alphabetically; another click on the same column reverses the order.
  const sortBy = (column: TableColumn<R>) => {
    if (order) {
      if (column.order !== undefined) order.set(column.order, order.by === column.order && !order.reverse);
      return;
    }
    if (!column.value) return;
    const up = sort?.by === column.title ? !sort.up : !column.number;
    route.go({ params: { [inUrl]: `${column.title} ${up ? "up" : "down"}` } }, { replace: true });
  };
  const isSortable = (column: TableColumn<R>) => (order ? column.order !== undefined : column.value !== undefined);
  const direction = (column: TableColumn<R>): "ascending" | "descending" | undefined => {
    if (!order) return sort?.by === column.title ? (sort.up ? "ascending" : "descending") : undefined;
    if (column.order !== order.by) return undefined;
    return order.reverse === Boolean(column.number) ? "ascending" : "descending";
  };
  const isStop = onOpen !== undefined || (props.rowKeys ?? []).length > 0;
  return (
    <div class="table">
      <table role="table" aria-label={title}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th
                key={column.title}
                role="columnheader"
                class={`${column.number ? "number" : ""} ${column.wide ? "wide" : ""}`}
                title={column.help}
                aria-sort={direction(column)}
              >
                {isSortable(column) ? (
                  <button onClick={() => sortBy(column)}>
                    {column.title}
                    {{ ascending: " ▴", descending: " ▾", none: "" }[direction(column) ?? "none"]}
                  </button>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} role="rowgroup" onKeyDown={press}>
          {shown.slice(0, mostRows()).map((row, place) => {
            const name = id(row, place);
            const classes = [
              onOpen ? "opens" : "",
              place === at ? "here" : "",
              name === props.selected ? "selected" : "",
            ];
            return (
              <tr
                key={name}
                role="row"
                class={classes.join(" ")}
                // Tab leads to one row, from which arrows lead to the others.
                tabIndex={isStop && place === Math.max(0, at) ? 0 : -1}
                onFocus={(event) => event.target === event.currentTarget && setAt(place)}
                onClick={() => {
                  setAt(place);
                  onOpen?.(row);
                }}
              >
                {columns.map((column) => (
                  <td
                    key={column.title}
                    role="cell"
                    class={`${column.number ? "number" : column.wide ? "wide" : ""} ${column === heading ? "heading" : ""}`}
                    data-label={column.title}
                  >
                    {column.bar && <Bar share={column.bar(row)} />}
                    <span class="cell">{column.cell(row)}</span>
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {rest && rest.rows.length < rest.count && <More window={rest} />}
      {more && <p class="faint">{more}</p>}
    </div>
  );
}

/** The sort order of a small table in the URL: `Blocks down`. */
function sortFrom(text: string | null): { by: string; up: boolean } | null {
  const [, by, way] = /^(.*) (up|down)$/.exec(text ?? "") ?? [];
  return by ? { by, up: way === "up" } : null;
}

/** The end of a window: when it is scrolled into view, the next rows are requested. */
function More<R>({ window: rest }: { window: RowWindow<R> }) {
  const end = useRef<HTMLParagraphElement>(null);
  const { more } = rest;
  useEffect(() => {
    if (!end.current || !more) return;
    const watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && more(), { rootMargin: "400px" });
    watcher.observe(end.current);
    return () => watcher.disconnect();
  }, [rest.rows.length, more !== null]);
  const left = rest.count - rest.rows.length;
  return (
    <p class="faint" ref={end} data-testid="more-rows">
      {rest.rows.length} of {rest.count} rows{" "}
      {more ? <button class="link" onClick={more}>show more</button> : `(${left} are not in this report)`}
    </p>
  );
}

/** A share of the total as a bar. */
function Bar({ share }: { share: number }) {
  const width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return <span class="bar" style={{ width }} aria-hidden="true" />;
}
