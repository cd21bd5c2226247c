import { expect, test } from "vitest";
import { fitting, shortened } from "./svg";

test("texts are as long as there is room, or not there", () => {
  expect(fitting("module Main", 1000, 10)).toBe("module Main");
  expect(fitting("module Main", 41, 10)).toBe("module…");
  expect(fitting("module Main", 12, 10)).toBe("");
});

test("what is cut is in the middle", () => {
  expect(shortened("Stdlib__Hashtbl.bucketlist", 12)).toBe("Stdlib_…list");
  expect(shortened("short", 12)).toBe("short");
});
