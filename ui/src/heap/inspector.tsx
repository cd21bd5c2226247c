/** The inspector: one block or root, beside any view, with its type, its fields, and what points to it. */
import { useEffect, useState } from "preact/hooks";
import { canAsk } from "../api/ask";
import { useAnswer } from "../api/use";
import { bytes, count, percent, seconds } from "../format";
import { Answered, Panel } from "../parts/controls";
import { useExport } from "../parts/export";
import { useKeys } from "../state/keys";
import { useRoute } from "../state/route";
import type { NodeLine, Shown } from "./answers";
import { Block, Next, showParams } from "./parts";
import { treeParams } from "./tree";
import { WithoutLink } from "./what_if";

/** The number of rows requested after the first ones. */
const MORE = 500;

export function Inspector({ file, block }: { file: number; block: string }) {
  const route = useRoute();
  const [all, setAll] = useState(false);
  useEffect(() => setAll(false), [block]);
  const asked = useAnswer<Shown>("heap/show", { ...showParams(file, block), ...(all ? { number: MORE } : {}) });
  const close = () => route.go({ params: { node: null } });
  useKeys([{ key: "Escape", what: "close the block", run: close }]);
  useExport({ title: `Block ${block}`, command: asked.answer?.command });
  return (
    <aside class="inspector" aria-label="Block" data-testid="inspector">
      <Panel
        title={<><span class="mono">{block}</span></>}
        tools={<button class="quiet" aria-label="Close" title="Close (Escape)" onClick={close}>×</button>}
      >
        <Answered asked={asked}>{(shown) => <Details file={file} shown={shown} all={all} onAll={() => setAll(true)} />}</Answered>
      </Panel>
    </aside>
  );
}

function Details({ file, shown, all, onAll }: { file: number; shown: Shown; all: boolean; onAll: () => void }) {
  const { node, what } = shown.this;
  const number = `@${node}`;
  return (
    <>
      <p class="what block-name">{what}</p>
      <p class="row row-links">
        <Next to={{ part: "paths", fresh: true, params: { what: number, node: number } }} asks={["heap/paths", { file, what: number }]} title="Why it is alive">paths to it</Next>
        <Next to={{ part: "dominators", fresh: true, params: { at: [`${number} ${what}`], node: number } }} asks={["heap/dominators", treeParams(file, [number], false)]} title="What would be freed without it">what it holds</Next>
        <Next to={{ part: "graph", fresh: true, params: { around: number, node: number } }} asks={["heap/graph", { file, around: number, nodes: 30 }]}>around it</Next>
        <WithoutLink file={file} what={number}>what if</WithoutLink>
      </p>
      <dl class="heap-facts">
        {shown.of_type && (
          <Fact name="Type">
            <span class="what">{shown.of_type.name}</span>
            {shown.of_type.origin && <small class="faint"> {shown.of_type.origin}</small>}
          </Fact>
        )}
        {shown.value && <Fact name="Value"><code class="value">{shown.value}</code></Fact>}
        {shown.text !== null && <Fact name="Text"><code class="value">"{shown.text}"</code></Fact>}
        <Fact name="Retains">{bytes(shown.retained)} <small class="faint">{percent(shown.share)} of the heap</small></Fact>
        {shown.address && (
          <>
            <Fact name="Itself">{bytes(shown.shallow)}{shown.external > 0 && `, and ${bytes(shown.external)} outside the heap`}</Fact>
            <Fact name="Address"><span class="mono">{shown.address}</span>{shown.space && <small class="faint"> {shown.space}</small>}</Fact>
            {shown.class !== what && <Fact name="Counted as"><span class="what">{shown.class}</span></Fact>}
          </>
        )}
        {shown.dominator && <Fact name="Held by"><Line line={shown.dominator} /> <small class="faint">alone</small></Fact>}
        {shown.weakly_held_by > 0 && <Fact name="Weakly">in {count(shown.weakly_held_by)} ephemerons or weak arrays</Fact>}
        {shown.finalisers.length > 0 && <Fact name="Finalisers">{shown.finalisers.map((line) => <Line key={line.node} line={line} />)}</Fact>}
      </dl>
      <Fields shown={shown} />
      <Holders shown={shown} />
      {!all && (shown.fields.length < shown.field_count || shown.held_by.length < shown.holder_count) && canAsk("heap/show", { ...showParams(file, number), number: MORE }) && (
        <button onClick={onAll}>Show more of them</button>
      )}
      {shown.allocation && shown.allocation.frames.length === 0 && shown.allocation.age !== null && (
        <p class="faint">Allocated {seconds(shown.allocation.age)} before the snapshot.</p>
      )}
      {shown.allocation && shown.allocation.frames.length > 0 && (
        <>
          <h4>Allocated{shown.allocation.age !== null && ` ${seconds(shown.allocation.age)} before the snapshot`}, by</h4>
          <ol class="frames">
            {shown.allocation.frames.map((frame, at) => <li key={at} class="what">{at > 0 && <small class="faint">called by </small>}{frame}</li>)}
          </ol>
        </>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A block in one line, as a link. */
function Line({ line }: { line: NodeLine }) {
  return <Block node={line.node}><span class="what">{line.what}</span></Block>;
}

function Fields({ shown }: { shown: Shown }) {
  if (shown.fields.length === 0) return null;
  const left = shown.field_count - shown.fields.length;
  // What a root holds has no position in it.
  const hasPlaces = shown.fields.some(({ place }) => place);
  return (
    <>
      <h4>{shown.address ? "Fields" : "What it holds"}</h4>
      <table class={hasPlaces ? "references" : "references no-places"} data-testid="fields">
        <tbody>
          {shown.fields.map((field, at) => (
            <tr key={at}>
              {hasPlaces && <td class="mono faint">{field.place}</td>}
              <td class="reference">{field.block ? <Line line={field.block} /> : <span class="mono">{field.value}</span>}</td>
              <td class="number">{field.block && bytes(field.block.retained)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 && <p class="faint">{count(left)} more.</p>}
    </>
  );
}

function Holders({ shown }: { shown: Shown }) {
  if (shown.held_by.length === 0) return null;
  const left = shown.holder_count - shown.held_by.length;
  return (
    <>
      <h4>Pointers to it</h4>
      <table class="references" data-testid="holders">
        <tbody>
          {shown.held_by.map((line) => (
            <tr key={line.node}>
              <td class="mono faint">@{line.node}</td>
              <td class="reference"><Line line={line} /></td>
              <td class="number">{bytes(line.retained)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 && <p class="faint">{count(left)} more.</p>}
    </>
  );
}
