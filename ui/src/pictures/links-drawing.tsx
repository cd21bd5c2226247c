/** Boxes or discs with arrows between them, laid out and drawn, on the page and in files. */
import type { Colours } from "../state/theme";
import { coloursOf } from "./colours";
import { layered, ring, type Box, type Layout } from "./links";
import { shortened, widthOf, wrapped } from "./svg";

export interface DrawnNode {
  id: string;
  name: string;
  /** Below the name. */
  note: string;
  /** The tooltip with all details. */
  title: string;
  /** Determines the colour; empty for something that stands for many things. */
  colour: string;
  /** A disc with this radius instead of a box. */
  radius?: number;
  /** Drawn with a thicker border. */
  isMarked?: boolean;
}

export interface DrawnLink {
  from: string;
  to: string;
  /** On the arrow: a field. */
  label: string;
  /** Not a pointer: something else leads from one to the other. */
  isDashed?: boolean;
  title?: string;
}

export type Arrangement = "layers" | "ring";

/** What is drawn, with its layout. */
export interface LaidOut {
  nodes: readonly DrawnNode[];
  links: readonly DrawnLink[];
  as: Arrangement;
  layout: Layout;
  /** The font size, in pixels. */
  size: number;
}

/** The letters per line of a name, and its most lines. */
const LETTERS = 28;
const LINES = 3;
/** The font size, in pixels, and the relative size of notes, which are still 12 pixels. */
const SIZE = 14;
const NOTE = 0.857;
/** The line height, relative to the font size. */
const STEP = 1.2;

/** `scale` is the relative font size: 1 on ordinary screens and in files. */
export function laidOut(nodes: readonly DrawnNode[], links: readonly DrawnLink[], as: Arrangement, scale: number): LaidOut {
  const size = SIZE * scale;
  const boxes = nodes.map((node) => boxOf(node, size));
  if (as === "ring") return { nodes, links, as, layout: ring(boxes, 70 * scale), size };
  const label = links.reduce((most, link) => Math.max(most, widthOf(shortened(link.label, 18), size * 0.9)), 0);
  const layout = layered(boxes, links, { across: Math.max(46 * scale, label + 34 * scale), between: 12 * scale });
  return { nodes, links, as, layout, size };
}

/** Callbacks for the pointer. */
export interface Pointer {
  onClick: (id: string) => void;
  onOver: (id: string | null) => void;
}

/** The whole drawing, as contents of an `svg` element. */
export function LinksDrawing({ drawn, colours, selected, pointer }: { drawn: LaidOut; colours: Colours; selected?: string | undefined; pointer?: Pointer }) {
  const { nodes, links, as, layout, size } = drawn;
  const fills = coloursOf(nodes.flatMap(({ colour }) => (colour ? [{ name: colour }] : [])), colours.isDark);
  const arrow = `arrow-${as}-${colours.isDark ? "dark" : "light"}`;
  return (
    <>
      <defs>
        {[[arrow, colours.faint], [`${arrow}-bad`, colours.bad]].map(([id, fill]) => (
          <marker key={id} id={id} viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
            <path d="M0 1 L10 5 L0 9 Z" fill={fill} />
          </marker>
        ))}
      </defs>
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
          fill={(node.colour && fills.get(node.colour)) || (colours.isDark ? "#3a3f47" : "#e6e3da")}
          isSelected={node.id === selected}
          pointer={pointer}
        />
      ))}
    </>
  );
}

/** The texts in or beside a node, line by line. */
function textOf(node: DrawnNode): { names: string[]; notes: string[] } {
  return { names: wrapped(node.name, LETTERS, LINES), notes: node.note ? wrapped(node.note, LETTERS + 4, 2) : [] };
}

/** The size of a node. */
function boxOf(node: DrawnNode, size: number): Box {
  const { names, notes } = textOf(node);
  const widest = (lines: readonly string[], of: number) => Math.max(0, ...lines.map((line) => widthOf(line, of)));
  const letters = Math.max(widest(names, size), widest(notes, size * NOTE));
  const height = size * (names.length + notes.length * NOTE) * STEP;
  if (node.radius !== undefined) {
    const radius = node.radius * (size / SIZE);
    return { id: node.id, width: 2 * radius + size * 0.5 + letters, height: Math.max(2 * radius, height) };
  }
  // Names in boxes are bold.
  return { id: node.id, width: letters * 1.06 + size * 1.6, height: height + size * 0.7 };
}

/** How far a node extends horizontally and vertically from its centre. */
function extent(node: DrawnNode | undefined, size: number): { x: number; y: number } {
  if (!node) return { x: 0, y: 0 };
  const box = boxOf(node, size);
  return { x: box.width / 2, y: box.height / 2 };
}

/** Shortens a path so that it goes from edge to edge instead of from centre to centre. */
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

/** A straight line from edge to edge. */
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

/** A smooth line through points in ascending or descending x order. */
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
  fill: string;
  isSelected: boolean;
  pointer: Pointer | undefined;
}

function Drawn({ node, place, size, colours, fill, isSelected, pointer }: DrawnProps) {
  const box = boxOf(node, size);
  const ink = node.colour ? "#111111" : colours.text;
  const rim = isSelected ? colours.accent : node.isMarked ? colours.text : colours.line;
  const thick = isSelected ? 3 : node.isMarked ? 2 : 1;
  const radius = node.radius === undefined ? null : node.radius * (size / SIZE);
  const middle = radius === null;
  const x = middle ? 0 : 2 * radius + size * 0.5 - box.width / 2;
  const inkOfName = middle ? ink : isSelected ? colours.accent : colours.text;
  const { names, notes } = textOf(node);
  // The first baseline, such that all lines together are vertically centred.
  const top = (-(names.length + notes.length * NOTE) * STEP * size) / 2 + size * 0.92;
  const text = (
    <>
      {names.map((line, at) => (
        <text key={at} x={x} y={top + at * STEP * size} text-anchor={middle ? "middle" : "start"} fill={inkOfName} font-weight={middle || isSelected ? "600" : "400"}>{line}</text>
      ))}
      {notes.map((line, at) => (
        <text key={`note ${at}`} x={x} y={top + (names.length + at * NOTE) * STEP * size - size * 0.1} text-anchor={middle ? "middle" : "start"} fill={middle ? ink : colours.faint} font-size={size * NOTE}>{line}</text>
      ))}
    </>
  );
  return (
    <g
      class={`drawn ${isSelected ? "selected" : ""}`}
      data-id={node.id}
      transform={`translate(${place.x} ${place.y})`}
      onClick={pointer && (() => pointer.onClick(node.id))}
      onMouseEnter={pointer && (() => pointer.onOver(node.id))}
      onMouseLeave={pointer && (() => pointer.onOver(null))}
    >
      <title>{node.title}</title>
      {radius === null ? (
        <>
          <rect x={-box.width / 2} y={-box.height / 2} width={box.width} height={box.height} rx={6} fill={fill} stroke={rim} stroke-width={thick} />
          {text}
        </>
      ) : (
        <>
          <rect x={-box.width / 2} y={-box.height / 2} width={box.width} height={box.height} fill={colours.ground} fill-opacity={0.75} />
          <circle cx={radius - box.width / 2} r={radius} fill={fill} stroke={rim} stroke-width={thick} />
          {text}
        </>
      )}
    </g>
  );
}
