/**
 * Combines the reduced graph and the neighbourhoods of blocks into one picture: each node once, with disc areas proportional to
 * retained sizes.
 */
import { bytes, count, percent } from "../format";
import type { DrawnLink, DrawnNode } from "../pictures/links-drawing";
import type { Around, Reduced, ReducedSet } from "./answers";
import type { Drawing } from "./drawn_paths";
import { colourName, counted } from "./tree";

const LEAST = 5;
const MOST = 46;

/** The radius of a disc whose area is this fraction of the largest one. */
export function radiusOf(share: number): number {
  return Math.max(LEAST, MOST * Math.sqrt(Math.max(0, Math.min(1, share))));
}

/** The size of the largest disc. */
export function largestOf(graph: Reduced | Around): number {
  const sizes = "sets" in graph ? graph.sets.map((set) => (set.kind === "root" ? 0 : set.bytes)) : graph.nodes.map((node) => node.retained ?? 0);
  return sizes.reduce((most, size) => Math.max(most, size), 1);
}

/** The reduced heap. */
export function drawnReduced(reduced: Reduced): Drawing {
  const largest = largestOf(reduced);
  const id = (set: ReducedSet | undefined) => (set?.node === null || set === undefined ? "rest" : `@${set.node}`);
  // Nearly everything points to the rest, which is not informative.
  const nodes = reduced.sets.filter((set) => set.kind !== "rest").map((set): DrawnNode => {
    const classes = set.classes.map(({ name, blocks }) => `${count(blocks)} ${name}`).join(", ");
    const together = set.entry_blocks > 1 ? `, entered through a cycle of ${count(set.entry_blocks)} blocks` : "";
    return {
      id: id(set),
      name: set.what,
      note: set.bytes > 0 ? `${bytes(set.bytes)}  ${counted(set.blocks, "block")}` : "",
      title: `${set.node === null ? "" : `@${set.node} `}${set.what}: ${bytes(set.bytes)} (${percent(set.share)}) in ${counted(set.blocks, "block")}${together}${classes ? `; most are ${classes}` : ""}`,
      colour: set.kind === "root" ? "" : colourName(set.what),
      radius: radiusOf(set.bytes / largest),
      isMarked: set.kind === "root" || set.kind === "holder",
    };
  });
  const edges = reduced.edges.filter(({ from, to }) => id(reduced.sets[from]) !== "rest" && id(reduced.sets[to]) !== "rest");
  const links = edges.map(({ from, to, pointers, left_out }): DrawnLink => ({
    from: id(reduced.sets[from]),
    to: id(reduced.sets[to]),
    isDashed: pointers === 0,
    label: pointers > 1 ? `${count(pointers)}×` : "",
    title: `${counted(pointers, "pointer")}${left_out > 0 ? `, ${count(left_out)} sets between them are left out` : ""}`,
  }));
  return { nodes, links };
}

/** The neighbourhood of a block; areas are relative to `largest`. The node that stands for everything else is not drawn. */
export function drawnAround(around: Around, largest = largestOf(around)): Drawing {
  const id = (at: number) => {
    const node = around.nodes[at]?.node;
    return node === null || node === undefined ? null : `@${node}`;
  };
  const nodes = around.nodes.flatMap((node): DrawnNode[] => {
    if (node.node === null) return [];
    return [
      {
        id: `@${node.node}`,
        name: node.what,
        note: `@${node.node}  ${bytes(node.retained ?? node.shallow)}`,
        title: `@${node.node} ${node.what}: retains ${bytes(node.retained ?? 0)} (${percent(node.share)}), ${bytes(node.shallow)} itself${node.address ? `, at ${node.address}` : ""}`,
        colour: colourName(node.what),
        radius: radiusOf((node.retained ?? 0) / largest),
        isMarked: node.kind === "centre" || node.kind === "holder",
      },
    ];
  });
  const links = around.edges.flatMap(({ from, to, pointers, fields }): DrawnLink[] => {
    const [a, b] = [id(from), id(to)];
    if (a === null || b === null) return [];
    const label = fields.length > 2 ? `${fields[0]}, … (${count(pointers)})` : fields.join(", ");
    return [{ from: a, to: b, label, title: fields.length > 0 ? `through ${fields.join(", ")}` : `${counted(pointers, "pointer")}` }];
  });
  return { nodes, links };
}

/** Combines several pictures; earlier nodes stay as they are. */
export function together(drawings: readonly Drawing[]): Drawing {
  const nodes = new Map<string, DrawnNode>();
  const links = new Map<string, DrawnLink>();
  for (const drawing of drawings) {
    for (const node of drawing.nodes) if (!nodes.has(node.id)) nodes.set(node.id, node);
    for (const link of drawing.links) {
      const key = `${link.from} ${link.to}`;
      // A field name is more informative than a count.
      const known = links.get(key);
      if (!known || (link.label && !/^[A-Za-z.]/.test(known.label))) links.set(key, link);
    }
  }
  return { nodes: [...nodes.values()], links: [...links.values()] };
}
