/** Paths from roots as boxes and arrows: common parts of paths are drawn once. */
import { bytes, count } from "../format";
import type { DrawnLink, DrawnNode } from "../pictures/links-drawing";
import type { BlockPaths, ClassPaths, PathStep, ShapeMembers, ShapeRow } from "./answers";
import { colourName, counted } from "./tree";

export interface Drawing {
  nodes: DrawnNode[];
  links: DrawnLink[];
}

/** The texts of a box: the name, and below it the allocation site and the number of repetitions. */
export function stepNode({ node, what, site, times }: PathStep): DrawnNode {
  const repeats = times > 1 ? `× ${count(times)}` : "";
  return {
    id: `@${node}`,
    name: what,
    note: [`@${node}`, repeats].filter(Boolean).join("  "),
    title: `@${node} ${what}${times > 1 ? `, ${count(times)} of them in a row` : ""}${site ? `, allocated in ${site}` : ""}`,
    colour: colourName(what),
  };
}

/** Paths to one block. */
export function drawnBlockPaths(paths: BlockPaths): Drawing {
  const nodes = new Map<string, DrawnNode>();
  const links = new Map<string, DrawnLink>();
  for (const row of paths.rows) {
    let before: string | null = null;
    for (const step of row.steps) {
      const node = stepNode(step);
      if (!nodes.has(node.id)) nodes.set(node.id, node);
      if (before !== null && before !== node.id) {
        const link = { from: before, to: node.id, label: step.step };
        const alike = row.count > 1 ? `${count(row.count)} paths look like this one` : "";
        links.set(`${before} ${node.id} ${step.step}`, { ...link, title: [step.step, alike].filter(Boolean).join("; ") });
      }
      before = node.id;
    }
  }
  const target = `@${paths.target.node}`;
  const marked = nodes.get(target);
  if (marked) nodes.set(target, { ...marked, isMarked: true, note: `${marked.note}  holds ${bytes(paths.target.retained)}` });
  return { nodes: [...nodes.values()], links: [...links.values()] };
}

/**
 * Paths to all blocks of a class: a tree of shapes. Ids are `@NODE` of an example block, and the position in the tree. Expanded
 * shapes, keyed by `@NODE`, have some of their blocks beside them.
 */
export function drawnClassPaths(paths: ClassPaths, apart: ReadonlyMap<string, ShapeMembers> = new Map(), most = 60): Drawing {
  const nodes: DrawnNode[] = [];
  const links: DrawnLink[] = [];
  // The largest first, so that only small ones are omitted.
  const waiting = paths.rows.map((row, at) => ({ row, id: `@${row.node} ${at}`, above: null as string | null }));
  while (waiting.length > 0 && nodes.length < most) {
    waiting.sort((a, b) => b.row.bytes - a.row.bytes);
    const next = waiting.shift();
    if (!next) break;
    const { row, id, above } = next;
    nodes.push(shapeNode(row, id));
    if (above !== null) links.push({ from: above, to: id, label: row.step });
    row.rows.forEach((below, at) => waiting.push({ row: below, id: `@${below.node} ${id.slice(id.indexOf(" ") + 1)}.${at}`, above: id }));
  }
  for (const { id } of [...nodes]) {
    const members = apart.get(nodeOfId(id));
    for (const node of members ? memberNodes(members, id) : []) {
      nodes.push(node);
      links.push({ from: id, to: node.id, label: "", title: "one of them" });
    }
  }
  return { nodes, links };
}

/** Some of the blocks of a shape, and the number of the others. */
function memberNodes({ count: all, rows }: ShapeMembers, shape: string): DrawnNode[] {
  const nodes = rows.map(({ node, what, retained }): DrawnNode => ({
    id: `@${node} of ${shape}`,
    name: what,
    note: `@${node}  holds ${bytes(retained)}`,
    title: `@${node} ${what}: holds ${bytes(retained)}`,
    colour: colourName(what),
  }));
  const more = all - rows.length;
  if (more === 0) return nodes;
  const rest = { id: `${shape} rest`, name: `${count(more)} more`, note: "", title: `${count(more)} more, each of which holds less`, colour: "" };
  return [...nodes, rest];
}

/** The example block of a shape's box; null for a box of a single block, and for expanded shapes. */
export function shapeOf(paths: ClassPaths, id: string): string | null {
  const [, node, place] = /^@(\d+) ([\d.]+)$/.exec(id) ?? [];
  let rows = paths.rows;
  let row: ShapeRow | undefined;
  for (const at of place?.split(".") ?? []) [row, rows] = [rows[Number(at)], rows[Number(at)]?.rows ?? []];
  return row && row.nodes > 1 ? `@${node}` : null;
}

function shapeNode(row: ShapeRow, id: string): DrawnNode {
  const here = row.here > 0 ? `${count(row.here)} of them` : "";
  const many = row.nodes > 1 && row.nodes !== row.here ? `× ${count(row.nodes)}` : "";
  return {
    id,
    name: row.what,
    note: [many, bytes(row.bytes), here, row.repeats ? "and so on" : ""].filter(Boolean).join("  "),
    title: `${row.what}${row.nodes > 1 ? `, ${count(row.nodes)} of them` : ""}: leads to ${counted(row.blocks, "block")} of ${bytes(row.bytes)}${here ? `, ${here} here` : ""}${row.repeats ? "; some of these blocks hold others" : ""}`,
    colour: colourName(row.what),
    isMarked: row.here > 0,
  };
}

/** The node of an id. */
export function nodeOfId(id: string): string {
  return /^@\d+/.exec(id)?.[0] ?? id;
}
