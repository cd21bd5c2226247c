import { expect, test } from "vitest";
import { layOut } from "../pictures/flame-layout";
import type { Flame } from "./answers";
import { changeOf, flameCsv } from "../pictures/flame-frames";
import { tellFrame } from "./frames";

const exact = (value: number) => ({ value, low: value, high: value });

const FLAME: Flame = {
  all: exact(200),
  measure: { unit: "bytes", of: "allocated" },
  at: 0,
  path: [{ id: 0, label: "all" }],
  labels: [{ name: "all" }, { name: "=A.f", file: "a.ml", line: 3, columns: [4, 9], module: "A" }],
  parent: [0, 0],
  label: [0, 1],
  total: [100, 1234],
  own: [0, 1000],
  id: [0, 7],
  more: [0, 2],
};

test("changes go from all gone to all new", () => {
  expect(changeOf(10, 0)).toBe(-1);
  expect(changeOf(0, 10)).toBe(1);
  expect(changeOf(10, 5)).toBe(-0.5);
  expect(changeOf(0, 0)).toBe(0);
});

test("a frame tells its numbers in full", () => {
  const { title, lines } = tellFrame(FLAME, layOut(FLAME), 1, 0);
  expect(title).toBe("=A.f");
  expect(Object.fromEntries(lines)).toMatchObject({ where: "a.ml:3:4", total: "1,234 bytes (1.23 kB)", "left out": "2 small callees" });
});

test("frames as a table, where no name is taken for a formula", () => {
  expect(flameCsv(layOut(FLAME), 0)).toBe("stack,name,file,line,total,self\n,all,,,100,0\n'=A.f,'=A.f,a.ml,3,1234,1000\n");
});
