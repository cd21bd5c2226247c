/** Small parts that the tabs of a heap share. */
import type { ComponentChildren } from "preact";
import { canAsk } from "../api/ask";
import { bytes, percent } from "../format";
import type { Params } from "../api/ask";
import type { ShownFile } from "../api/files";
import { linkTo, useRoute, type Change } from "../state/route";
import type { Coverage } from "./answers";

/** What a tab is given. */
export interface TabProps {
  file: number;
  files: readonly ShownFile[];
}

/** A link to another question. In a report it is one only if the answer is there. */
export function Next(props: { to: Change; asks?: readonly [string, Params]; title?: string; children: ComponentChildren }) {
  const route = useRoute();
  const { asks } = props;
  if (asks && !canAsk(...asks)) return <span class="faint" title="This report does not have that.">{props.children}</span>;
  return (
    <a href={linkTo(route, props.to)} title={props.title} onClick={(event) => event.stopPropagation()}>
      {props.children}
    </a>
  );
}

/** Opens the inspector on a block or root. */
export function Block({ node, children }: { node: number | string; children: ComponentChildren }) {
  const route = useRoute();
  const name = typeof node === "number" ? `@${node}` : node;
  const { file } = route;
  return (
    <Next to={{ params: { node: name } }} asks={["heap/show", showParams(file, name)]} title="Look at it">
      {children}
    </Next>
  );
}

/** What the inspector asks. */
export function showParams(file: number, block: string): Params {
  return { file, block };
}

/** How well types are known, in a line. */
export function TypesKnown({ coverage }: { coverage: Coverage | null }) {
  if (!coverage) return null;
  const reasons = coverage.reasons.slice(0, 3).map(({ reason, share }) => `${reason} (${percent(share)})`);
  return (
    <p class="faint">
      Types: {percent(coverage.typed)} of bytes have one. {reasons.length > 0 && <>Others: {reasons.join("; ")}.</>}
    </p>
  );
}

/** A size and what part of everything it is. */
export function Size({ of, all }: { of: number; all: number }) {
  return (
    <>
      {bytes(of)} <small class="faint share">{percent(of / Math.max(1, all))}</small>
    </>
  );
}

/** A row's place in a tree, with a mark that opens it. */
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
