import { expect, test } from "vitest";
import type { Sized } from "./icicle";
import { squarify, treemap } from "./treemap";

const room = { x: 0, y: 0, width: 6, height: 4 };

test("the example of the paper: all areas are right, and none is thin", () => {
  const sizes = [6, 6, 4, 3, 2, 2, 1];
  const placed = squarify(sizes, room);
  placed.forEach(({ width, height }, at) => {
    expect(width * height).toBeCloseTo(sizes[at] ?? 0);
    expect(Math.max(width / height, height / width)).toBeLessThan(2.8);
  });
  expect(placed[0]).toMatchObject({ x: 0, y: 0, width: 3, height: 2 });
});

test("rectangles stay in their room and do not overlap", () => {
  const sizes = Array.from({ length: 200 }, (_, at) => 1000 / (at + 1));
  const placed = squarify(sizes, { x: 10, y: 20, width: 300, height: 200 });
  const area = placed.reduce((sum, { width, height }) => sum + width * height, 0);
  expect(area).toBeCloseTo(300 * 200, 3);
  for (const { x, y, width, height } of placed) {
    expect(x).toBeGreaterThanOrEqual(10 - 1e-6);
    expect(y).toBeGreaterThanOrEqual(20 - 1e-6);
    expect(x + width).toBeLessThanOrEqual(310 + 1e-6);
    expect(y + height).toBeLessThanOrEqual(220 + 1e-6);
  }
});

test("nothing is divided by nothing", () => {
  expect(squarify([], room)).toEqual([]);
  expect(squarify([0, 0], room)).toHaveLength(2);
  expect(squarify([1], { ...room, width: 0 })).toEqual([{ x: 0, y: 0, width: 0, height: 0 }]);
});

test("parents come before what is in them, which is inside", () => {
  const leaf = (size: number): Sized => ({ size, children: [], rest: 0 });
  const top: Sized = { size: 100, children: [{ size: 60, children: [leaf(40)], rest: 10 }, leaf(30)], rest: 0 };
  const cells = treemap(top, { x: 0, y: 0, width: 400, height: 300 }, { depth: 3, header: 16, padding: 2, least: 2 });
  expect(cells.map(({ path }) => path)).toEqual([[], [0], [0, 0], [0, -1], [1]]);
  const [outer, inner] = [cells[1], cells[2]];
  expect(inner?.y).toBeGreaterThanOrEqual((outer?.y ?? 0) + 16);
});
