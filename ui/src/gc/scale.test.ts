import { expect, test } from "vitest";
import { nearestTo, scaleOf, ticks } from "./scale";

test("ticks are round numbers in the range", () => {
  expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticks(93e6, 412e6, 4)).toEqual([100e6, 200e6, 300e6, 400e6]);
  expect(ticks(1.91, 2.32, 5)).toHaveLength(4);
  // Neither time nor memory is negative.
  expect(ticks(-5, 10, 3)[0]).toBe(0);
  expect(ticks(3, 3, 5)).toEqual([]);
  expect(ticks(0, Infinity, 5)).toEqual([]);
});

test("everything is within the picture, also if all numbers are equal or zero", () => {
  for (const values of [[1, 2, 9], [5, 5], [0], [1e-6, 1e-6], [1e18, 2e18]]) {
    const { at } = scaleOf(values, 40, 300, 5);
    for (const value of values) {
      expect(at(value)).toBeGreaterThan(40);
      expect(at(value)).toBeLessThan(300);
    }
  }
  // Upwards, pixels become fewer.
  const { at } = scaleOf([1, 3], 200, 10, 4);
  expect(at(3)).toBeLessThan(at(1));
});

test("the nearest point within reach is found", () => {
  const points = [{ x: 0, y: 0 }, { x: 10, y: 0 }];
  expect(nearestTo(points, 7, 1, 20)).toBe(1);
  expect(nearestTo(points, 50, 50, 20)).toBe(-1);
  expect(nearestTo([], 0, 0, 20)).toBe(-1);
});
