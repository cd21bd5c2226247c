import { expect, test } from "vitest";
import { icicle, type Sized } from "./icicle";

const leaf = (size: number): Sized => ({ size, children: [], rest: 0 });

test("slices are as wide as their sizes, in order, and the rest comes last", () => {
  const top: Sized = { size: 100, children: [{ size: 50, children: [leaf(20)], rest: 10 }, leaf(25)], rest: 5 };
  expect(icicle(top, 5, 0)).toEqual([
    { path: [], depth: 0, left: 0, width: 1 },
    { path: [0], depth: 1, left: 0, width: 0.5 },
    { path: [0, 0], depth: 2, left: 0, width: 0.2 },
    { path: [0, -1], depth: 2, left: 0.2, width: 0.1 },
    { path: [1], depth: 1, left: 0.5, width: 0.25 },
    { path: [-1], depth: 1, left: 0.75, width: 0.05 },
  ].map((slice) => ({ ...slice, left: expect.closeTo(slice.left) as number, width: expect.closeTo(slice.width) as number })));
});

test("what is too narrow or too deep is not drawn, and keeps its room", () => {
  const top: Sized = { size: 100, children: [leaf(0.5), { size: 99, children: [leaf(99)], rest: 0 }], rest: 0 };
  const slices = icicle(top, 1, 0.01);
  expect(slices.map(({ path }) => path)).toEqual([[], [1]]);
  expect(slices[1]?.left).toBeCloseTo(0.005);
});

test("children that say they are larger than their parent do not leave it", () => {
  const slices = icicle({ size: 10, children: [leaf(15), leaf(5)], rest: 0 }, 3, 0);
  expect(Math.max(...slices.map(({ left, width }) => left + width))).toBeCloseTo(1);
});
