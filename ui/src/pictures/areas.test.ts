import { expect, test } from "vitest";
import { hit, layout, namedPlaces, niceTicks, shapesOf, stacked, type AreasInput, type Look } from "./areas";
import { svgOf } from "./areas-shapes";

const look: Look = { width: 600, height: 300, size: 12, text: "#000", faint: "#777", line: "#ddd", accent: "#00f", ground: "#fff" };
const input: AreasInput = {
  xs: [0, 1, 3],
  names: [["#1", "0 s"], ["#2", "1 s"], ["#3", "3 s"]],
  bands: [
    { id: "a", label: "a", colour: "red", values: [1, 2, 3] },
    { id: "b", label: "<b>", colour: "blue", values: [3, 2, 1] },
  ],
  lines: [{ label: "heap", colour: "green", values: [8, null, 8] }],
  marks: [{ at: 1, label: "1 compaction", colour: "black" }],
  chosen: 1,
  hovered: null,
  show: String,
};

test("ticks are round and reach the top", () => {
  expect(niceTicks(8)).toEqual([0, 2, 4, 6, 8]);
  expect(niceTicks(0.9)).toEqual([0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]);
  expect(niceTicks(1234567).at(-1)).toBeGreaterThanOrEqual(1234567);
  for (const nothing of [0, NaN, -1, Infinity]) expect(niceTicks(nothing)).toEqual([0, 1]);
});

test("bands stand on one another, and nothing is below zero", () => {
  expect(stacked(input.bands, 3)).toEqual([[1, 2, 3], [4, 4, 4]]);
  expect(stacked([{ id: "x", label: "", colour: "", values: [-5] }], 2)).toEqual([[0, 0]]);
});

test("places lie where their times are", () => {
  const { x, left, right } = layout(input, look);
  expect(x[0]).toBe(left);
  expect(x[2]).toBe(right);
  expect(((x[1] ?? 0) - left) / (right - left)).toBeCloseTo(1 / 3);
});

test("what is drawn is what is hit", () => {
  const at = layout(input, look);
  const middle = (value: number, place: number) => [at.x[place] ?? 0, at.y(value)] as const;
  expect(hit(input, look, middle(0.5, 0))).toEqual({ place: 0, band: "a", onAxis: false });
  expect(hit(input, look, middle(2, 0))?.band).toBe("b");
  expect(hit(input, look, middle(7, 0))?.band).toBeNull();
  expect(hit(input, look, [at.x[2] ?? 0, at.bottom + 10])).toEqual({ place: 2, band: null, onAxis: true });
  expect(hit(input, look, [1, 1])).toBeNull();
});

test("names do not stand in one another", () => {
  const x = Array.from({ length: 100 }, (_, n) => n * 5);
  const named = namedPlaces(x, 60);
  expect(named[0]).toBe(0);
  expect(named.at(-1)).toBe(99);
  named.slice(1).forEach((place, n) => expect((x[place] ?? 0) - (x[named[n] ?? 0] ?? 0)).toBeGreaterThanOrEqual(60));
});

test("an SVG has all of it, escaped", () => {
  const svg = svgOf(shapesOf(input, look), 600, 300, "#fff");
  expect(svg.match(/<polygon/g)).toHaveLength(2);
  expect(svg).toContain("<title>&lt;b&gt;</title>");
  expect(svg).toContain("1 compaction");
  expect(svg).not.toContain("NaN");
});
