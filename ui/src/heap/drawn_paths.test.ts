import { expect, test } from "vitest";
import type { PathStep, ShapeRow } from "./answers";
import { drawnBlockPaths, drawnClassPaths, nodeOfId, shapeOf } from "./drawn_paths";

const step = (node: number, step: string, times = 1): PathStep => ({ node, step, what: `block ${node}`, site: null, times });

test("what paths share is drawn once, and the target is marked", () => {
  const drawing = drawnBlockPaths({
    target: { node: 3, what: "block 3", retained: 80 },
    roots: 2,
    more: false,
    rows: [
      { count: 1, length: 2, steps: [step(10, ""), step(2, ""), step(3, ".name")] },
      { count: 5, length: 3, steps: [step(11, ""), step(1, ""), step(2, "field 1", 7), step(3, ".name")] },
    ],
  });
  expect(drawing.nodes.map(({ id }) => id)).toEqual(["@10", "@2", "@3", "@11", "@1"]);
  expect(drawing.links.map(({ from, to, label }) => `${from}${to}${label}`)).toEqual(["@10@2", "@2@3.name", "@11@1", "@1@2field 1"]);
  expect(drawing.nodes[2]).toMatchObject({ isMarked: true, note: "@3  holds 80 B" });
});

test("of a class the largest paths are drawn, each shape as a box of its own", () => {
  const shape = (node: number, bytes: number, rows: ShapeRow[] = []): ShapeRow => ({
    step: "field 0", what: "x", node, nodes: 1, repeats: false, here: 1, blocks: 1, bytes, rows, left_out: { rows: 0, bytes: 0 },
  });
  const rows = [shape(1, 10), shape(2, 90, [shape(1, 80), shape(4, 5)])];
  const { nodes, links } = drawnClassPaths({ blocks: 3, bytes: 100, unreached: 0, rows, left_out: { rows: 0, bytes: 0 }, members: null }, new Map(), 3);
  expect(nodes.map(({ id }) => id)).toEqual(["@2 1", "@1 1.0", "@1 0"]);
  expect(links).toEqual([{ from: "@2 1", to: "@1 1.0", label: "field 0" }]);
  expect(nodeOfId("@1 1.0")).toBe("@1");
});

test("a shape that was taken apart has its blocks beside it", () => {
  const none = { rows: 0, bytes: 0 };
  const leaf: ShapeRow = { step: "an element", what: "entry", node: 7, nodes: 30, repeats: false, here: 30, blocks: 30, bytes: 90, rows: [], left_out: none };
  const root: ShapeRow = { ...leaf, step: "", what: "table", node: 9, nodes: 1, here: 0, rows: [leaf] };
  const paths = { blocks: 30, bytes: 90, unreached: 0, rows: [root], left_out: none, members: null };
  expect([shapeOf(paths, "@9 0"), shapeOf(paths, "@7 0.0"), shapeOf(paths, "@7 of @7 0.0"), shapeOf(paths, "@7 3.0")]).toEqual([null, "@7", null, null]);
  const members = { count: 30, rows: [{ node: 8, what: "entry", retained: 16 }, { node: 7, what: "entry", retained: 8 }] };
  const { nodes, links } = drawnClassPaths(paths, new Map([["@7", members]]));
  expect(nodes.map(({ id, name }) => `${id}: ${name}`)).toEqual(["@9 0: table", "@7 0.0: entry", "@8 of @7 0.0: entry", "@7 of @7 0.0: entry", "@7 0.0 rest: 28 more"]);
  expect(links.map(({ from, to }) => `${from} > ${to}`).slice(1)).toEqual(["@7 0.0 > @8 of @7 0.0", "@7 0.0 > @7 of @7 0.0", "@7 0.0 > @7 0.0 rest"]);
});
