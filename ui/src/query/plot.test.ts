import { describe, expect, it } from "vitest";
import { lineThrough, plotOf, shown } from "./plot";

describe("the picture of an answer", () => {
  it("has bars for names", () => {
    const plot = plotOf([{ type: "a", n: 3 }, { type: null, n: 2 }, { type: "c", n: null }]);
    expect(plot).toEqual({ kind: "bars", name: "type", value: "n", bars: [{ label: "a", value: 3 }, { label: "", value: 2 }], left: 0 });
  });
  it("has a line for numbers, from left to right", () => {
    expect(plotOf([{ t: 2, n: 5 }, { t: 1, n: 4 }])).toEqual({ kind: "line", name: "t", value: "n", points: [[1, 4], [2, 5]] });
  });
  it("is not drawn of anything else", () => {
    expect(plotOf([])).toBeNull();
    expect(plotOf([{ a: 1, b: 2, c: 3 }, { a: 1, b: 2, c: 3 }])).toBeNull();
    expect(plotOf([{ a: "x", b: "y" }, { a: "x", b: "y" }])).toBeNull();
    expect(plotOf([{ a: "x", b: -1 }, { a: "y", b: 2 }])).toBeNull();
  });
  it("says how many bars are left out", () => {
    const plot = plotOf(Array.from({ length: 50 }, (_, at) => ({ a: `x${at}`, b: at })));
    expect(plot).toMatchObject({ left: 10 });
  });
});

it("a line fits its picture", () => {
  expect(lineThrough([[0, 0], [10, 4]], 100, 50)).toEqual({ path: "M0.0,50.0 L100.0,0.0", x: [0, 10], y: [0, 4] });
  expect(lineThrough([[1, 3], [1, 3]], 100, 50).path).not.toContain("NaN");
});

it("values are shown as text", () => {
  expect([shown(null), shown(1.23456789), shown(12345678), shown(true), shown("x")]).toEqual(["", "1.23457", "12345678", "true", "x"]);
});
