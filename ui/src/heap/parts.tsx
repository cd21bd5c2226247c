/** Small components shared by the tabs of a heap. */
import type { ComponentChildren } from "preact";
import { canAsk } from "../api/ask";
import { bytes, percent } from "../format";
import type { Params } from "../api/ask";
import type { ShownFile } from "../api/files";
import { linkTo, useRoute, type Change } from "../state/route";
import type { Coverage } from "./answers";

/** The properties of a tab. */
export interface TabProps {
  file: number;
  files: readonly ShownFile[];
}

/** A link to another question. In a report it is a link only if the answer is available. */
export function Next(props: { to: Change; asks?: readonly [string, Params]; title?: string; children: ComponentChildren }) {
  const route = useRoute();
  const { asks } = props;
  if (asks && !canAsk(...asks)) return <span class="faint" title="This is not in the report.">{props.children}</span>;
  return (
    <a href={linkTo(route, props.to)} title={props.title} onClick={(event) => event.stopPropagation()}>
      {props.children}
    </a>
  );
}

/** A link that opens the inspector on a block or root. */
export function Block({ node, children }: { node: number | string; children: ComponentChildren }) {
  const route = useRoute();
  const name = typeof node === "number" ? `@${node}` : node;
  const { file } = route;
  return (
    <Next to={{ params: { node: name } }} asks={["heap/show", showParams(file, name)]} title="Show it">
      {children}
    </Next>
  );
}

/** The parameters of the inspector's question. */
export function showParams(file: number, block: string): Params {
  return { file, block };
}

/** How many types are known, in one line. */
export function TypesKnown({ coverage }: { coverage: Coverage | null }) {
  if (!coverage) return null;
  const reasons = coverage.reasons.slice(0, 3).map(({ reason, share }) => `${reason} (${percent(share)})`);
  return (
    <p class="faint">
      Types: {percent(coverage.typed)} of bytes have one. {reasons.length > 0 && <>Others: {reasons.join("; ")}.</>}
    </p>
  );
}

/** A size and its share of the total. */
export function Size({ of, all }: { of: number; all: number }) {
  return (
    <>
      {bytes(of)} <small class="faint share">{percent(of / Math.max(1, all))}</small>
    </>
  );
}

/** A row's indentation in a tree, with a button that opens it. */
export function TreeCell(props: { level: number; opens: boolean; isOpen: boolean; isLoading?: boolean; onToggle: () => void; children: ComponentChildren }) {
  return (
    <span class="tree-cell" style={{ paddingLeft: `${props.level * 1.1}rem` }}>
      <button
        class="quiet twist"
        tabIndex={-1}
        aria-label={props.isOpen ? "Close" : "Open"}
        aria-expanded={props.isOpen}
        disabled={!props.opens}
        onClick={(event) => {
          event.stopPropagation();
          props.onToggle();
        }}
      >
        {props.opens ? (props.isLoading ? "…" : props.isOpen ? "▾" : "▸") : ""}
      </button>
      {props.children}
    </span>
  );
}
