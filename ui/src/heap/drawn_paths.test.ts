import { expect, test } from "vitest";
import type { PathStep, ShapeRow } from "./answers";
import { drawnBlockPaths, drawnClassPaths, nodeOfId } from "./drawn_paths";

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
    step: "field 0", what: "x", node, repeats: false, here: 1, blocks: 1, bytes, rows, left_out: { rows: 0, bytes: 0 },
  });
  const rows = [shape(1, 10), shape(2, 90, [shape(1, 80), shape(4, 5)])];
  const { nodes, links } = drawnClassPaths({ blocks: 3, bytes: 100, unreached: 0, rows, left_out: { rows: 0, bytes: 0 } }, 3);
  expect(nodes.map(({ id }) => id)).toEqual(["@2 1", "@1 1.0", "@1 0"]);
  expect(links).toEqual([{ from: "@2 1", to: "@1 1.0", label: "field 0" }]);
  expect(nodeOfId("@1 1.0")).toBe("@1");
});
