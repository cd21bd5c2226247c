import { expect, test } from "vitest";
import type { DominatorRow } from "./answers";
import { colourName, mergedRow, moved, questionOf, rowAt, stepOf, stepsTo, titleOf, treeParams } from "./tree";

function row(what: string, node: number | null, rows: DominatorRow[] = []): DominatorRow {
  return { what, node, objects: 1, shallow: 8, retained: 8, share: 0.1, rows, left_out: { rows: 0, retained: 0 } };
}

const top = row("all roots", 9, [row("module Main", 8, [row("string", null), row("entry", null)]), row("string", null)]);

test("a place is asked for from the last node on, and by name below it", () => {
  expect(questionOf([])).toEqual({});
  expect(questionOf(["@5 globals", "@8 module Main"])).toEqual({ of: "@8" });
  expect(questionOf(["@8 module Main", "entry", "string"])).toEqual({ of: "@8", below: ["entry", "string"] });
  expect(questionOf(["string"])).toEqual({ below: ["string"] });
  expect(treeParams(1, [], false)).toEqual({ file: 1, depth: 9, number: 25, "min-share": 0.1 });
});

test("a step says what it is", () => {
  expect(stepOf(row("module Main", 8))).toBe("@8 module Main");
  expect(titleOf("@8 module Main")).toBe("module Main");
  expect(titleOf("@8")).toBe("@8");
  expect(titleOf("#x of Main")).toBe("#x of Main");
});

test("arrows lead to parents, children and siblings, and no further", () => {
  expect(moved(top, [], "ArrowDown")).toEqual([0]);
  expect(moved(top, [0], "ArrowDown")).toEqual([0, 0]);
  expect(moved(top, [0, 0], "ArrowDown")).toEqual([0, 0]);
  expect(moved(top, [0, 0], "ArrowRight")).toEqual([0, 1]);
  expect(moved(top, [0, 1], "ArrowRight")).toEqual([0, 1]);
  expect(moved(top, [0, 1], "ArrowUp")).toEqual([0]);
  expect(moved(top, [], "ArrowLeft")).toEqual([]);
  expect(rowAt(top, [0, 1])?.what).toBe("entry");
  expect(stepsTo(top, [0, 1])).toEqual(["@8 module Main", "entry"]);
});

test("what belongs together has one colour", () => {
  expect(colourName("module Main")).toBe("Main");
  expect(colourName("field 3 of Main")).toBe("Main");
  expect(colourName("closure Main.load (main.ml:12)")).toBe("Main.load");
});

test("more rows do not close those that were open", () => {
  const merged = mergedRow(top, row("all roots", 9, [row("module Main", 8), row("string", null), row("float", null)]));
  expect(merged.rows.map(({ what }) => what)).toEqual(["module Main", "string", "float"]);
  expect(merged.rows[0]?.rows).toHaveLength(2);
});
