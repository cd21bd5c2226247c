/** Finalisers, and those that can never run because their functions hold their own values, drawn as cycles. */
import { useMemo, useState } from "preact/hooks";
import { useAnswer } from "../api/use";
import { bytes, count } from "../format";
import { Answered, Panel } from "../parts/controls";
import type { DrawnLink } from "../pictures/links-drawing";
import { LinksPicture } from "../pictures/links_picture";
import { useRoute } from "../state/route";
import type { FinaliserGroup, Finalisers } from "./answers";
import { nodeOfId, stepNode } from "./drawn_paths";
import { Block } from "./parts";

export function FinalisersTab({ file }: { file: number }) {
  const asked = useAnswer<Finalisers>("heap/finalisers", { file });
  return (
    <Panel title="Finalisers">
      <Answered asked={asked}>
        {(answer) => (
          <>
            <p>
              {count(answer.first)} of Gc.finalise, {count(answer.last)} of Gc.finalise_last, {count(answer.pending)} about to be called.{" "}
              {answer.leaking === 0 ? (
                <>No finaliser's function holds its own value.</>
              ) : (
                <strong class="bad">
                  {count(answer.leaking)} can never run: their functions hold their own values. {bytes(answer.bytes)} are held by nothing else.
                </strong>
              )}
            </p>
            {answer.groups.slice(0, 10).map((group, at) => (
              <Cycle key={at} group={group} isFirst={at === 0} command={asked.answer?.command} />
            ))}
            {answer.groups.length > 10 && <p class="faint">{answer.groups.length - 10} more ways.</p>}
          </>
        )}
      </Answered>
    </Panel>
  );
}

function Cycle({ group, isFirst, command }: { group: FinaliserGroup; isFirst: boolean; command: string | null | undefined }) {
  const route = useRoute();
  const [selected, setSelected] = useState<string>();
  const { nodes, links } = useMemo(() => {
    const nodes = group.cycle.map(stepNode);
    const [first, last] = [nodes[0], nodes.at(-1)];
    const links = group.cycle.slice(1).map((step, at): DrawnLink => ({ from: nodes[at]?.id ?? "", to: nodes[at + 1]?.id ?? "", label: step.step }));
    if (first && last && first !== last) {
      first.note = `function  ${first.note}`;
      last.note = `value  ${last.note}`;
      first.isMarked = last.isMarked = true;
      const label = "is called when it dies";
      const title = "the finaliser is called when nothing holds the value, which never happens";
      links.push({ from: last.id, to: first.id, label, isDashed: true, title });
    }
    return { nodes, links };
  }, [group]);
  const inspect = (id: string) => route.go({ params: { node: nodeOfId(id) } });
  return (
    <section class="cycle">
      <h4>
        {count(group.count)} {group.count === 1 ? "finaliser" : "finalisers"} of {count(group.of)} with this function; {bytes(group.bytes)} held by nothing
        else; {count(group.in_use)} of the values still in use
      </h4>
      <p class="faint">
        <span class="what">{group.function}</span> holds <span class="what">{group.value}</span>. Values:{" "}
        {group.values.map((value) => (
          <span key={value.node}> <Block node={value.node}>@{value.node}</Block></span>
        ))}
      </p>
      {nodes.length === 0 ? (
        <p class="faint">Paths were not searched: there are too many finalisers.</p>
      ) : (
        <LinksPicture
          title={`Finaliser ${group.function}`}
          command={command}
          as={nodes.length > 2 ? "ring" : "layers"}
          nodes={nodes}
          links={links}
          selected={selected}
          onSelect={setSelected}
          onOpen={inspect}
          openWhat="show the block"
          keys={isFirst}
        />
      )}
    </section>
  );
}
