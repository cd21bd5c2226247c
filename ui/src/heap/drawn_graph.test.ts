import { expect, test } from "vitest";
import type { Around, AroundNode, Reduced } from "./answers";
import { drawnAround, drawnReduced, radiusOf, together } from "./drawn_graph";

const set = (kind: "root" | "large" | "rest", node: number | null, bytes: number): Reduced["sets"][number] => ({
  kind, node, address: null, what: `set ${node}`, entry_blocks: 1, alike: 1, blocks: 1, bytes, share: 0.1, classes: [],
});
const near = (kind: AroundNode["kind"], node: number | null): AroundNode => ({
  kind, node, address: null, what: `block ${node}`, distance: 1, blocks: 1, shallow: 24, retained: 24, share: 0.1,
});

test("areas go with sizes", () => {
  expect(radiusOf(1) ** 2 / radiusOf(0.25) ** 2).toBeCloseTo(4);
  expect(radiusOf(0)).toBe(5);
});

test("a heap and what is around one of its blocks are one picture", () => {
  const reduced: Reduced = {
    total: 100, blocks: 3, all: 3,
    sets: [set("root", 9, 0), set("large", 1, 80), set("rest", null, 20)],
    edges: [{ from: 0, to: 1, pointers: 1, left_out: 0 }, { from: 1, to: 2, pointers: 3, left_out: 0 }],
  };
  const around: Around = {
    steps: 1, near: 3, told: 2,
    nodes: [near("centre", 1), near("block", 2), near("rest", null)],
    edges: [{ from: 0, to: 1, pointers: 1, fields: ["next"] }, { from: 2, to: 0, pointers: 1, fields: [] }],
  };
  const drawing = together([drawnReduced(reduced), drawnAround(around)]);
  expect(drawing.nodes.map(({ id }) => id)).toEqual(["@9", "@1", "@2"]);
  expect(drawing.links.map(({ from, to, label }) => [from, to, label])).toEqual([["@9", "@1", ""], ["@1", "@2", "next"]]);
});
