import { expect, test } from "vitest";
import { fitting, shortened, wrapped } from "./svg";

test("texts are as long as there is room, or not there", () => {
  expect(fitting("module Main", 1000, 10)).toBe("module Main");
  expect(fitting("module Main", 41, 10)).toBe("module…");
  expect(fitting("module Main", 12, 10)).toBe("");
});

test("what is cut is in the middle", () => {
  expect(shortened("Stdlib__Hashtbl.bucketlist", 12)).toBe("Stdlib_…list");
  expect(shortened("short", 12)).toBe("short");
});

test("names are broken where their parts end, and cut in the middle only if there is no room at all", () => {
  expect(wrapped("short", 10, 3)).toEqual(["short"]);
  expect(wrapped("Why_typing.alpha_renaming_b typing.ml:12", 16, 3)).toEqual(["Why_typing.", "alpha_renaming_b", "typing.ml:12"]);
  const cut = wrapped("a".repeat(60) + "end", 10, 2);
  expect(cut.join("")).toMatch(/^a+…a*end$/);
  expect(cut.every((line) => line.length <= 10)).toBe(true);
  expect(wrapped("", 10, 3)).toEqual([""]);
});
