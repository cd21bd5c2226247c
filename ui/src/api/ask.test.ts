import { expect, test } from "vitest";
import { key, pairs } from "./ask";

test("a question is written in one way", () => {
  expect(key("trace/top", { metric: "live", in: "é &", file: 0 })).toBe(
    "trace/top?file=0&in=%C3%A9%20%26&metric=live",
  );
});

test("flags have no value, lists are repeated, what is not wanted is left out", () => {
  expect(pairs({ recursion: true, hide: ["a", "b"], in: undefined, json: false })).toEqual([
    ["recursion", ""],
    ["hide", "a"],
    ["hide", "b"],
  ]);
});
