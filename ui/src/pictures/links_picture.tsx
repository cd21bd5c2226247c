/** Boxes or discs with arrows between them: dragged, zoomed, walked through with arrow keys. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { csvOf, useExport } from "../parts/export";
import { useKeys } from "../state/keys";
import { useTheme, type Colours } from "../state/theme";
import { colourOf } from "./colours";
import { layered, ring, type Box, type Layout } from "./links";
import { fitted, usePanZoom, zoomed } from "./pan_zoom";
import { shortened, svgFile, useRoom, widthOf } from "./svg";

export interface DrawnNode {
  id: string;
  name: string;
  /** Below the name. */
  note: string;
  /** The whole story, when the pointer is on it. */
  title: string;
  /** Decides the colour; empty: it stands for many things. */
  colour: string;
  /** A disc of this radius instead of a box. */
  radius?: number;
  /** Drawn with a thicker rim. */
  isMarked?: boolean;
}

export interface DrawnLink {
  from: string;
  to: string;
  /** On the arrow: a field. */
  label: string;
  /** Nothing points there: something else leads from one to the other. */
  isDashed?: boolean;
  title?: string;
}

interface Props {
  nodes: readonly DrawnNode[];
  links: readonly DrawnLink[];
  as?: "layers" | "ring";
  selected?: string | undefined;
  onSelect: (id: string) => void;
  /** Enter, or a click on what is selected already. */
  onOpen?: ((id: string) => void) | undefined;
  openWhat?: string;
  /** What is in the middle at first, if not all of it fits. */
  focus?: string | undefined;
  /** Pixels of the page; by itself as much as fits. */
  height?: number;
  title: string;
  command?: string | null | undefined;
  keys?: boolean;
}

const LETTERS = 30;

export function LinksPicture(props: Props) {
  const { nodes, links, as = "layers", selected, onSelect, onOpen, title, command, keys = true } = props;
  const around = useRef<HTMLDivElement>(null);
  const picture = useRef<SVGSVGElement>(null);
  const colours = useTheme();
  const { width, scale } = useRoom(around);
  const { view, setView, dragged } = usePanZoom(around);
  const [over, setOver] = useState<string | null>(null);
  const size = 12 * scale;
  const layout = useMemo(() => {
    const boxes = nodes.map((node) => boxOf(node, size));
    if (as === "ring") return ring(boxes, 70 * scale);
    const label = links.reduce((most, link) => Math.max(most, widthOf(shortened(link.label, 18), size * 0.9)), 0);
    return layered(boxes, links, { across: Math.max(46 * scale, label + 34 * scale), between: 12 * scale });
  }, [nodes, links, as, size]);
  const height = props.height ?? Math.round(Math.max(170 * scale, Math.min(layout.height + 40, 640 * scale)));
  const fit = (least?: number) => setView(fitted(layout, { width, height }, least));
  // Letters stay readable at first; what does not fit is dragged to.
  useEffect(() => {
    if (width === 0) return;
    const view = fitted(layout, { width, height }, 0.7);
    const place = props.focus === undefined ? undefined : layout.places.get(props.focus);
    const isWhole = layout.width * view.zoom <= width && layout.height * view.zoom <= height;
    setView(place && !isWhole ? { ...view, x: width / 2 - place.x * view.zoom, y: height / 2 - place.y * view.zoom } : view);
  }, [layout, width, height]);
  const walk = (key: string) => {
    const next = neighbour(layout, links, selected ?? nodes[0]?.id ?? "", key);
    onSelect(next);
    const place = layout.places.get(next);
    if (place) setView((old) => intoView(old, place, width, height));
  };
  const zoom = (by: number) => setView((old) => zoomed(old, by, { x: width / 2, y: height / 2 }));
  useKeys(
    [
      { key: "ArrowRight", what: "walk along arrows", run: () => walk("ArrowRight") },
      ...["ArrowLeft", "ArrowUp", "ArrowDown"].map((key) => ({ key, what: "", run: () => walk(key) })),
      { key: "+", what: "closer", run: () => zoom(1.25) },
      { key: "-", what: "farther", run: () => zoom(0.8) },
      { key: "=", what: "all of the picture", run: () => fit() },
      ...(onOpen ? [{ key: "Enter", what: props.openWhat ?? "open it", run: () => selected && onOpen(selected) }] : []),
    ],
    keys && nodes.length > 0,
  );
  useExport({
    title,
    command,
    svg: () => svgFile(wholePicture(picture.current, layout), colours.ground),
    csv: () => csvOf([["from", "to", "through"], ...links.map((link) => [nameOf(nodes, link.from), nameOf(nodes, link.to), link.label])]),
  });
  const node = nodes.find(({ id }) => id === (over ?? selected));
  const arrow = `arrow-${as}-${colours.isDark ? "dark" : "light"}`;
  return (
    <div class="links-picture">
      <div class="frame" ref={around}>
        {width > 0 && (
          <svg ref={picture} width={width} height={height} viewBox={`0 0 ${width} ${height}`} font-size={size} role="img" aria-label={title} data-testid="links">
            <defs>
              {[[arrow, colours.faint], [`${arrow}-bad`, colours.bad]].map(([id, fill]) => (
                <marker key={id} id={id} viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
                  <path d="M0 1 L10 5 L0 9 Z" fill={fill} />
                </marker>
              ))}
            </defs>
            <g class="world" transform={`translate(${view.x} ${view.y}) scale(${view.zoom})`}>
              {links.map((link, at) => (
                <Arrow
                  key={`${link.from} ${link.to} ${link.label}`}
                  link={link}
                  way={as === "ring" ? ringWay(layout, nodes, link, size) : trimmed(layout.ways[at] ?? [], nodes, link, size)}
                  marker={link.isDashed ? `${arrow}-bad` : arrow}
                  size={size}
                  colours={colours}
                  isStrong={selected !== undefined && (link.from === selected || link.to === selected)}
                />
              ))}
              {nodes.map((node) => (
                <Drawn
                  key={node.id}
                  node={node}
                  place={layout.places.get(node.id) ?? { x: 0, y: 0 }}
                  size={size}
                  colours={colours}
                  isSelected={node.id === selected}
                  onClick={() => {
                    if (dragged()) return;
                    if (node.id === selected) onOpen?.(node.id);
                    else onSelect(node.id);
                  }}
                  onDouble={() => onOpen?.(node.id)}
                  onOver={(is) => setOver(is ? node.id : null)}
                />
              ))}
            </g>
          </svg>
        )}
        <div class="zoom-buttons">
          <button aria-label="Closer" onClick={() => zoom(1.25)}>+</button>
          <button aria-label="Farther" onClick={() => zoom(0.8)}>−</button>
          <button aria-label="All of the picture" onClick={() => fit()}>⤢</button>
        </div>
      </div>
      <p class="story" role="status">{node?.title ?? `${nodes.length} shown. Drag to move, wheel to zoom, arrows to walk.`}</p>
    </div>
  );
}

function nameOf(nodes: readonly DrawnNode[], id: string): string {
  return nodes.find((node) => node.id === id)?.name ?? id;
}

/** How much room a node takes. */
function boxOf(node: DrawnNode, size: number): Box {
  const letters = Math.max(widthOf(shortened(node.name, LETTERS), size), widthOf(shortened(node.note, LETTERS + 6), size * 0.85));
  if (node.radius !== undefined) {
    const radius = node.radius * (size / 12);
    return { id: node.id, width: 2 * radius + size * 0.5 + letters, height: Math.max(2 * radius, size * (node.note ? 2.4 : 1.4)) };
  }
  // Names in boxes are bold.
  return { id: node.id, width: letters * 1.06 + size * 1.6, height: size * (node.note ? 3.3 : 2.1) };
}

/** How far a node reaches to both sides, and up and down. */
function extent(node: DrawnNode | undefined, size: number): { x: number; y: number } {
  if (!node) return { x: 0, y: 0 };
  const box = boxOf(node, size);
  return { x: box.width / 2, y: box.height / 2 };
}

/** From side to side instead of from middle to middle. */
function trimmed(way: readonly [number, number][], nodes: readonly DrawnNode[], link: DrawnLink, size: number): [number, number][] {
  if (way.length < 2) return [];
  const ends = [link.from, link.to].map((id) => extent(nodes.find((node) => node.id === id), size));
  const points = way.map(([x, y]): [number, number] => [x, y]);
  const [first, last] = [points[0], points.at(-1)];
  const [from, to] = ends;
  if (!first || !last || !from || !to) return [];
  const right = last[0] >= first[0] ? 1 : -1;
  first[0] += right * (from.x + 3);
  last[0] -= right * (to.x + 3);
  return points;
}

/** From rim to rim, straight. */
function ringWay(layout: Layout, nodes: readonly DrawnNode[], link: DrawnLink, size: number): [number, number][] {
  const [from, to] = [layout.places.get(link.from), layout.places.get(link.to)];
  if (!from || !to) return [];
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const cut = (id: string) => {
    const { x, y } = extent(nodes.find((node) => node.id === id), size);
    return Math.min(x / Math.max(1e-6, Math.abs(dx)), y / Math.max(1e-6, Math.abs(dy)));
  };
  const [a, b] = [cut(link.from) + 0.01, 1 - cut(link.to) - 0.02];
  return [
    [from.x + dx * a, from.y + dy * a],
    [from.x + dx * b, from.y + dy * b],
  ];
}

/** A smooth line through points that lie beside each other. */
function smooth(points: readonly [number, number][]): string {
  const [first, ...others] = points;
  if (!first) return "";
  let [x, y] = first;
  let path = `M${x.toFixed(1)} ${y.toFixed(1)}`;
  for (const [nextX, nextY] of others) {
    const bend = (nextX - x) * 0.45;
    path += `C${(x + bend).toFixed(1)} ${y.toFixed(1)} ${(nextX - bend).toFixed(1)} ${nextY.toFixed(1)} ${nextX.toFixed(1)} ${nextY.toFixed(1)}`;
    [x, y] = [nextX, nextY];
  }
  return path;
}

interface ArrowProps {
  link: DrawnLink;
  way: readonly [number, number][];
  marker: string;
  size: number;
  colours: Colours;
  isStrong: boolean;
}

function Arrow({ link, way, marker, size, colours, isStrong }: ArrowProps) {
  if (way.length < 2) return null;
  const [a, b] = [way[0], way[1]];
  const label = shortened(link.label, 18);
  const small = size * 0.9;
  const [x, y] = a && b ? [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2] : [0, 0];
  const room = widthOf(label, small) + 6;
  const stroke = link.isDashed ? colours.bad : isStrong ? colours.accent : colours.faint;
  const straight = way.length === 2 && Math.abs((a?.[0] ?? 0) - (b?.[0] ?? 0)) < size;
  return (
    <g class="arrow">
      <path
        d={straight || link.isDashed ? `M${way.map((point) => point.map((n) => n.toFixed(1)).join(" ")).join("L")}` : smooth(way)}
        fill="none"
        stroke={stroke}
        stroke-width={isStrong || link.isDashed ? 2 : 1.1}
        stroke-opacity={isStrong || link.isDashed ? 1 : 0.65}
        stroke-dasharray={link.isDashed ? "6 4" : undefined}
        marker-end={`url(#${marker})`}
      />
      {label && (
        <>
          <rect x={x - room / 2} y={y - small * 0.75} width={room} height={small * 1.4} rx={3} fill={colours.raised} fill-opacity={0.92} />
          <text x={x} y={y + small * 0.33} font-size={small} text-anchor="middle" fill={link.isDashed ? colours.bad : colours.text}>{label}</text>
        </>
      )}
      <title>{link.title ?? link.label}</title>
    </g>
  );
}

interface DrawnProps {
  node: DrawnNode;
  place: { x: number; y: number };
  size: number;
  colours: Colours;
  isSelected: boolean;
  onClick: () => void;
  onDouble: () => void;
  onOver: (is: boolean) => void;
}

function Drawn({ node, place, size, colours, isSelected, onClick, onDouble, onOver }: DrawnProps) {
  const box = boxOf(node, size);
  const fill = node.colour ? colourOf(node.colour, colours.isDark) : colours.isDark ? "#3a3f47" : "#e6e3da";
  const ink = node.colour ? "#111111" : colours.text;
  const rim = isSelected ? colours.accent : node.isMarked ? colours.text : colours.line;
  const thick = isSelected ? 3 : node.isMarked ? 2 : 1;
  const name = shortened(node.name, LETTERS);
  const note = shortened(node.note, LETTERS + 6);
  const radius = node.radius === undefined ? null : node.radius * (size / 12);
  return (
    <g
      class={`drawn ${isSelected ? "selected" : ""}`}
      data-id={node.id}
      transform={`translate(${place.x} ${place.y})`}
      onClick={onClick}
      onDblClick={onDouble}
      onMouseEnter={() => onOver(true)}
      onMouseLeave={() => onOver(false)}
    >
      <title>{node.title}</title>
      {radius === null ? (
        <>
          <rect x={-box.width / 2} y={-box.height / 2} width={box.width} height={box.height} rx={6} fill={fill} stroke={rim} stroke-width={thick} />
          <text text-anchor="middle" y={note ? -size * 0.25 : size * 0.35} fill={ink} font-weight="600">{name}</text>
          {note && <text text-anchor="middle" y={size * 1.05} fill={ink} font-size={size * 0.85} opacity={0.8}>{note}</text>}
        </>
      ) : (
        <>
          <rect x={-box.width / 2} y={-box.height / 2} width={box.width} height={box.height} fill={colours.ground} fill-opacity={0.75} />
          <circle cx={radius - box.width / 2} r={radius} fill={fill} stroke={rim} stroke-width={thick} />
          <text x={2 * radius + size * 0.5 - box.width / 2} y={note ? -size * 0.15 : size * 0.35} fill={isSelected ? colours.accent : colours.text} font-weight={isSelected ? "600" : "400"}>{name}</text>
          <text x={2 * radius + size * 0.5 - box.width / 2} y={size * 0.95} fill={colours.faint} font-size={size * 0.85}>{note}</text>
        </>
      )}
    </g>
  );
}

/** Where an arrow key leads: along links, or up and down in a layer. */
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

/** Moves the view so that a place is in the frame. */
function intoView<V extends { x: number; y: number; zoom: number }>(view: V, place: { x: number; y: number }, width: number, height: number): V {
  const into = (offset: number, at: number, room: number) => {
    const shown = offset + at * view.zoom;
    const margin = Math.min(90, room / 4);
    return shown < margin ? offset + margin - shown : shown > room - margin ? offset - (shown - room + margin) : offset;
  };
  return { ...view, x: into(view.x, place.x, width), y: into(view.y, place.y, height) };
}

/** All of the picture, however much of it is in the frame. */
function wholePicture(picture: SVGSVGElement | null, layout: Layout): SVGSVGElement | null {
  if (!picture) return null;
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const [width, height] = [Math.ceil(layout.width + 40), Math.ceil(layout.height + 40)];
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("viewBox", `-20 -20 ${width} ${height}`);
  copy.querySelector(".world")?.removeAttribute("transform");
  return copy;
}
