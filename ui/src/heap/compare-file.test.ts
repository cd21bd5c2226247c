import { expect, test } from "vitest";
import { findByName, frameName, layOut } from "../pictures/flame-layout";
import type { HeapDiffFlame } from "./answers";
import { signed, sizes, swapped, told } from "./compare-file";

/** All roots hold a cache, which has grown and holds more than is shown, and a queue, which is gone. */
const flame: HeapDiffFlame = {
  labels: [{ name: "all roots" }, { name: "cache" }, { name: "string" }, { name: "queue" }],
  parent: [0, 0, 1, 0],
  label: [0, 1, 2, 3],
  id: [0, 1, 2, 7],
  more: [0, 2, 0, 0],
  before: [700, 200, 100, 500],
  total: [1000, 1000, 800, 0],
  own_before: [0, 60, 100, 500],
  own: [0, 90, 800, 0],
  blocks_before: [0, 2, 1, 5],
  blocks: [0, 3, 8, 0],
};

test("a frame says its sizes, its change, and what is left out", () => {
  const layout = layOut(flame);
  expect(sizes(flame, 0)).toBe("700 B before, 1.00 kB after");
  expect([0, 1, 2, 3].map((node) => signed(flame, node))).toEqual(["+300 B (+42.9 %)", "+800 B (+400.0 %)", "+700 B (+700.0 %)", "-500 B (-100.0 %)"]);
  expect(told(flame, layout, 1).lines.at(-1)).toEqual(["left out", "2 small ones of 110 B, before 40 B"]);
  expect(told(flame, layout, 2).lines.map(([name]) => name)).not.toContain("left out");
});

test("swapped twice is as before", () => {
  const other = swapped(flame);
  expect([other.before, other.total, other.own_before]).toEqual([flame.total, flame.before, flame.own]);
  expect(swapped(other)).toEqual(flame);
});

test("a frame is found by its name in the URL, and only there", () => {
  const layout = layOut(flame);
  expect(frameName(layout, 3)).toBe("7 queue");
  expect(findByName(layout, "7 queue")).toBe(3);
  for (const other of ["7 cache", "3 queue", "queue", "", null]) expect(findByName(layout, other)).toBe(-1);
});
