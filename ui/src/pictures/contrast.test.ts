import { expect, test } from "vitest";
import { byChange } from "./flame-frames";
import { coloursOf, palette, type Origin } from "./colours";
import { contrast, inkOn, READABLE } from "./contrast";
import { layOut } from "./flame-layout";

test("contrast is that of the W3C", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
  expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
  expect(contrast("rgb(119 119 119)", "#777777")).toBe(1);
});

test("names can be read on every colour that a frame has", () => {
  for (const isDark of [false, true]) {
    const all = (["program", "library", "stdlib", "c"] satisfies Origin[]).flatMap((origin) => palette(isDark, origin));
    for (const ground of [...all, coloursOf([{ name: "[unknown]" }], isDark).get("[unknown]") ?? ""]) {
      expect(contrast(ground, inkOn(ground, "#15171b"))).toBeGreaterThanOrEqual(READABLE);
    }
  }
});

test("names can be read on every change, from all gone to all new", () => {
  const steps = Array.from({ length: 101 }, (_, at) => at);
  const total = steps.map((at) => at);
  const before = steps.map((at) => 100 - at);
  const nothing = steps.map(() => 0);
  const tree = { labels: [{ name: "a" }], parent: nothing, label: nothing, total, own: nothing, id: steps, more: nothing, before };
  for (const isDark of [false, true]) {
    const { fill, ink } = byChange(layOut(tree), isDark, false);
    for (const node of steps) expect(contrast(fill(node), ink(node)), `${fill(node)} ${ink(node)}`).toBeGreaterThanOrEqual(READABLE);
  }
});
