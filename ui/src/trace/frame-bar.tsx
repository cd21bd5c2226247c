/** The selected frame, its numbers, and actions on it. It always takes the same space, so that nothing jumps. */
import { isReport } from "../api/ask";
import { ByPointer } from "../parts/controls";
import { labelOf, type Layout } from "../pictures/flame-layout";
import type { Flame } from "./answers";
import type { FrameActions } from "./flame-part";
import type { TraceShown } from "./questions";
import { SourceButton } from "./source";
import { inFull, ofAll, placeOf, shortOf } from "./telling";

interface Props {
  trace: TraceShown;
  flame: Flame;
  layout: Layout;
  /** -1 for none. */
  node: number;
  actions: FrameActions;
  swatch: string;
}

export function FrameBar({ trace, flame, layout, node, actions, swatch }: Props) {
  if (node < 0) {
    return (
      <div class="frame-bar faint" data-testid="frame">
        <ByPointer
          mouse={<>Click a frame to zoom, right-click to select it. Arrows move, Enter zooms, Backspace goes back, <kbd>?</kbd> lists all keys.</>}
          touch="Tap a frame to see its numbers, and again to zoom. The names above the picture lead back."
        />
      </div>
    );
  }
  const label = labelOf(layout, node);
  const short = shortOf(flame.measure);
  const total = layout.tree.total[node] ?? 0;
  const own = layout.tree.own[node] ?? 0;
  const isFunction = node > 0 || label.module;
  return (
    <div class="frame-bar" data-testid="frame" aria-live="polite">
      <i class="swatch" style={{ background: swatch }} />
      <b class="name">{label.name}</b>
      <span class="faint">{placeOf(label)}</span>
      <span title={inFull(total, flame.measure)}>
        {short(total)} <span class="faint">total, {ofAll(total, flame.all.value)}</span>
      </span>
      <span title={inFull(own, flame.measure)}>
        {short(own)} <span class="faint">self</span>
      </span>
      <span class="grow" />
      {isFunction && (
        <span class="row">
          <button onClick={() => actions.focus(label)} disabled={isReport} title="Callers and callees of the function (f)">Focus</button>
          <button onClick={() => actions.only(label)} disabled={isReport} title="Only with this function in the stack (i)">Only</button>
          <button onClick={() => actions.without(label)} disabled={isReport} title="Only without this function in the stack (x)">Without</button>
          <button onClick={() => actions.hide(label)} disabled={isReport} title="Remove the function from stacks (h)">Hide</button>
          <SourceButton trace={trace} label={label} />
        </span>
      )}
    </div>
  );
}
