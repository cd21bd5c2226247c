/** Boxes or discs with arrows between them, with dragging, zoom and navigation by arrow keys. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ByPointer } from "../parts/controls";
import { csvOf, useExport } from "../parts/export";
import { useKeys } from "../state/keys";
import { useTheme } from "../state/theme";
import type { Layout } from "./links";
import { laidOut, LinksDrawing, type Arrangement, type DrawnLink, type DrawnNode } from "./links-drawing";
import { linksSvg } from "./links-svg";
import { fitted, usePanZoom, zoomed } from "./pan_zoom";
import { useRoom } from "./svg";

interface Props {
  nodes: readonly DrawnNode[];
  links: readonly DrawnLink[];
  as?: Arrangement;
  selected?: string | undefined;
  onSelect: (id: string) => void;
  /** Called on Enter, or on a click on what is selected already. */
  onOpen?: ((id: string) => void) | undefined;
  openWhat?: string;
  /** What is visible at first, if not everything fits. */
  focus?: string | undefined;
  /** The height in pixels; by default as much as fits. */
  height?: number;
  title: string;
  command?: string | null | undefined;
  keys?: boolean;
}

/** Two clicks within this time are one double click. */
const DOUBLE_MILLISECONDS = 400;

export function LinksPicture(props: Props) {
  const { nodes, links, as = "layers", selected, onSelect, onOpen, title, command, keys = true } = props;
  const around = useRef<HTMLDivElement>(null);
  const colours = useTheme();
  const { width, scale } = useRoom(around);
  const { view, setView, dragged } = usePanZoom(around);
  const [over, setOver] = useState<string | null>(null);
  const opened = useRef({ id: "", at: 0 });
  const drawn = useMemo(() => laidOut(nodes, links, as, scale), [nodes, links, as, scale]);
  const { layout, size } = drawn;
  const height = props.height ?? Math.round(Math.max(170 * scale, Math.min(layout.height + 40, 640 * scale)));
  const fit = (least?: number) => setView(fitted(layout, { width, height }, least));
  // Initially the text is never too small to read; if not everything fits, the focus is visible.
  useEffect(() => {
    if (width === 0) return;
    const view = fitted(layout, { width, height }, 1);
    const place = props.focus === undefined ? undefined : layout.places.get(props.focus);
    setView(place ? intoView(view, place, width, height) : view);
  }, [layout, width, height]);
  const walk = (key: string) => {
    const next = neighbour(layout, links, selected ?? nodes[0]?.id ?? "", key);
    onSelect(next);
    const place = layout.places.get(next);
    if (place) setView((old) => intoView(old, place, width, height));
    // Keyboard navigation takes the focus, so that Enter opens the box, whatever was pressed before.
    around.current?.focus({ preventScroll: true });
  };
  const zoom = (by: number) => setView((old) => zoomed(old, by, { x: width / 2, y: height / 2 }));
  useKeys(
    [
      { key: "ArrowRight", what: "move along the arrows", run: () => walk("ArrowRight") },
      ...["ArrowLeft", "ArrowUp", "ArrowDown"].map((key) => ({ key, what: "", run: () => walk(key) })),
      { key: "+", what: "closer", run: () => zoom(1.25) },
      { key: "-", what: "farther", run: () => zoom(0.8) },
      { key: "=", what: "the whole picture", run: () => fit() },
      ...(onOpen ? [{ key: "Enter", what: props.openWhat ?? "open it", run: () => selected && onOpen(selected) }] : []),
    ],
    keys && nodes.length > 0,
  );
  useExport({
    title,
    command,
    svg: () => linksSvg(title, [], nodes, links, as),
    csv: () => csvOf([["from", "to", "through"], ...links.map((link) => [nameOf(nodes, link.from), nameOf(nodes, link.to), link.label])]),
  });
  const node = nodes.find(({ id }) => id === (over ?? selected));
  return (
    <div class="links-picture">
      <div class="frame" ref={around} tabIndex={0} role="group" aria-label={`${title}: arrows walk through it`}>
        {width > 0 && (
          <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} font-size={size} role="img" aria-label={title} data-testid="links">
            <g class="world" transform={`translate(${view.x} ${view.y}) scale(${view.zoom})`}>
              <LinksDrawing
                drawn={drawn}
                colours={colours}
                selected={selected}
                pointer={{
                  onClick: (id) => {
                    if (dragged()) return;
                    if (id !== selected) return onSelect(id);
                    // A click toggles, so a double click must not do so twice.
                    const { id: last, at } = opened.current;
                    if (id !== last || performance.now() - at > DOUBLE_MILLISECONDS) onOpen?.(id);
                    opened.current = { id, at: performance.now() };
                  },
                  onOver: setOver,
                }}
              />
            </g>
          </svg>
        )}
        <div class="zoom-buttons">
          <button aria-label="Closer" onClick={() => zoom(1.25)}>+</button>
          <button aria-label="Farther" onClick={() => zoom(0.8)}>−</button>
          <button aria-label="The whole picture" onClick={() => fit()}>⤢</button>
        </div>
      </div>
      <p class="story" role="status">
        {node?.title ?? (
          <>
            {nodes.length} shown.{" "}
            <ByPointer
              mouse="Drag to move, wheel to zoom, arrows to walk."
              touch="Tap to select. Drag sideways or with two fingers to move, pinch to zoom."
            />
          </>
        )}
      </p>
    </div>
  );
}

function nameOf(nodes: readonly DrawnNode[], id: string): string {
  return nodes.find((node) => node.id === id)?.name ?? id;
}

/** Where an arrow key leads: along links, or up and down within a layer. */
export function neighbour(layout: Layout, links: readonly { from: string; to: string }[], from: string, key: string): string {
  const here = layout.places.get(from);
  if (!here) return layout.places.keys().next().value ?? from;
  const isAlong = key === "ArrowLeft" || key === "ArrowRight";
  const ids = isAlong
    ? links.flatMap((link) => (key === "ArrowRight" ? (link.from === from ? [link.to] : []) : link.to === from ? [link.from] : []))
    : [...layout.places].filter(([, place]) => place.layer === here.layer && (key === "ArrowDown" ? place.y > here.y : place.y < here.y)).map(([id]) => id);
  let best = from;
  let least = Infinity;
  for (const id of ids) {
    const place = layout.places.get(id);
    const far = place && id !== from ? Math.abs(place.y - here.y) : Infinity;
    if (far < least) [best, least] = [id, far];
  }
  return best;
}

/** Moves the view so that a place is visible. */
function intoView<V extends { x: number; y: number; zoom: number }>(view: V, place: { x: number; y: number }, width: number, height: number): V {
  const into = (offset: number, at: number, room: number) => {
    const shown = offset + at * view.zoom;
    const margin = Math.min(120, room / 4);
    return shown < margin ? offset + margin - shown : shown > room - margin ? offset - (shown - room + margin) : offset;
  };
  return { ...view, x: into(view.x, place.x, width), y: into(view.y, place.y, height) };
}
