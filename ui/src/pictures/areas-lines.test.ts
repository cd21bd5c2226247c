import { expect, test } from "vitest";
import type { Look } from "./areas";
import { frameOf, lineShapes, nearest, pieces, timeAt, timeTicks, type LinesInput } from "./areas-lines";

const look: Look = { width: 500, height: 200, size: 12, text: "#000", faint: "#777", line: "#ddd", accent: "#00f", ground: "#fff" };
const input: LinesInput = {
  times: [0, 1, 2, 3, 4],
  lines: [{ label: "heap", colour: "red", values: [1, 2, null, 3, 4], low: [1, 1, null, 3, 3], high: [1, 2, null, 5, 8] }],
  marks: [{ at: 2, label: "here" }],
  pointed: 3.1,
  showValue: String,
  showTime: String,
};

test("gaps stay gaps", () => {
  expect(pieces([1, 2, null, 3, null, null, 4])).toEqual([[0, 1], [3], [6]]);
  const lines = lineShapes(input, look).filter((shape) => shape.kind === "line" && shape.stroke === "red");
  expect(lines).toHaveLength(2);
});

test("the highest is in the picture", () => {
  expect(frameOf(input, look).ticks.at(-1)).toBeGreaterThanOrEqual(8);
});

test("the pointer is at a moment", () => {
  const { left, right } = frameOf(input, look);
  expect(timeAt(input, look, [left, 50])).toBe(0);
  expect(timeAt(input, look, [right, 50])).toBe(4);
  expect(timeAt(input, look, [0, 50])).toBeNull();
  expect(nearest([0, 1, 2, 3, 4], 2.6)).toBe(3);
  expect(nearest([5], 0)).toBe(0);
});

test("moments are named that are round", () => {
  expect(timeTicks(0, 10, 6)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(timeTicks(61, 299, 5)).toEqual([120, 180, 240]);
});

test("nothing at all is drawn as nothing", () => {
  const shapes = lineShapes({ ...input, times: [], lines: [], pointed: null }, look);
  expect(JSON.stringify(shapes)).not.toContain("null");
});
