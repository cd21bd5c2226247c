import { expect, test } from "vitest";
import { findById, frameAt, isCut, layOut, leftOutWidth, levelsBelow, pathTo, walk, type FlameTree } from "./flame-layout";

/** root 100: a 60 (c 40 (d 40), e 10), b 30 */
const TREE: FlameTree = {
  labels: ["root", "A.a", "A.c", "B.d", "B.e", "A.b"].map((name) => ({ name })),
  parent: [0, 0, 1, 2, 1, 0],
  label: [0, 1, 2, 3, 4, 5],
  total: [100, 60, 40, 40, 10, 30],
  own: [10, 10, 0, 40, 10, 30],
  id: [0, 11, 12, 13, 14, 15],
  more: [0, 0, 0, 0, 2, 0],
};

test("children stand beside one another from the left of their caller", () => {
  const layout = layOut(TREE);
  expect([...layout.start]).toEqual([0, 0, 0, 0, 40, 60]);
  expect([...layout.depth]).toEqual([0, 1, 2, 3, 2, 1]);
  expect([...layout.end]).toEqual([6, 5, 4, 4, 5, 6]);
  expect(layout.levels).toBe(4);
});

test("pointing finds the frame, or none where a frame has no callee", () => {
  const layout = layOut(TREE);
  expect(frameAt(layout, 0, 45, 0)).toBe(0);
  expect(frameAt(layout, 0, 45, 1)).toBe(1);
  expect(frameAt(layout, 0, 45, 2)).toBe(4);
  expect(frameAt(layout, 0, 45, 3)).toBe(-1);
  expect(frameAt(layout, 0, 65, 1)).toBe(5);
  expect(frameAt(layout, 0, 95, 1)).toBe(-1);
  expect(frameAt(layout, 1, 10, 2)).toBe(3);
  expect(frameAt(layout, 1, 65, 0)).toBe(-1);
});

test("keys walk out, in, and to the neighbours of the same level, never out of what is shown", () => {
  const layout = layOut(TREE);
  expect(walk(layout, 0, 0, "in")).toBe(1);
  expect(walk(layout, 0, 1, "right")).toBe(5);
  expect(walk(layout, 0, 5, "left")).toBe(1);
  expect(walk(layout, 0, 5, "right")).toBe(5);
  expect(walk(layout, 0, 5, "in")).toBe(5);
  expect(walk(layout, 0, 4, "out")).toBe(1);
  expect(walk(layout, 1, 1, "out")).toBe(1);
  expect(walk(layout, 1, 4, "right")).toBe(4);
  expect(walk(layout, 1, 5, "out")).toBe(1);
});

test("paths, names, levels and what was left out", () => {
  const layout = layOut(TREE);
  expect(pathTo(layout, 3)).toEqual([0, 1, 2, 3]);
  expect(pathTo(layout, 0)).toEqual([0]);
  expect(findById(layout, "14")).toBe(4);
  expect(findById(layout, "nonsense")).toBe(-1);
  expect(levelsBelow(layout, 0)).toBe(4);
  expect(levelsBelow(layout, 4)).toBe(1);
  expect(isCut(layout, 0)).toBe(true);
  expect(isCut(layout, 2)).toBe(false);
});

test("what is neither a frame's own nor its callees' was left out", () => {
  const layout = layOut({ ...TREE, own: [0, 4, 0, 40, 10, 30], more: [0, 3, 0, 0, 0, 0] });
  expect(leftOutWidth(layout, 1)).toBe(6);
  expect(leftOutWidth(layout, 0)).toBe(0);
});

test("the time to lay out frames is proportional to their number", () => {
  const tree = (length: number): FlameTree => ({
    labels: [{ name: "f" }],
    parent: Array.from({ length }, (_, node) => Math.max(0, node - 1 - (node % 7))),
    label: new Array<number>(length).fill(0),
    total: Array.from({ length }, (_, node) => length - node),
    own: new Array<number>(length).fill(1),
    id: Array.from({ length }, (_, node) => node),
    more: new Array<number>(length).fill(0),
  });
  const took = (length: number): number => {
    const times = Array.from({ length: 3 }, () => {
      const began = performance.now();
      const layout = layOut(tree(length));
      for (let level = 0; level < 100; level++) frameAt(layout, 0, 5, level);
      return performance.now() - began;
    });
    return Math.min(...times);
  };
  // Twenty times as many frames take twenty times as long; four hundred times, if the time were quadratic.
  expect(took(20_000)).toBeLessThan(150 * took(1_000));
});
