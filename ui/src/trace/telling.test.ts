import { expect, test } from "vitest";
import { inFull, ofAll, placeOf, rounded } from "./telling";

test("ticks have no digits that say nothing", () => {
  expect(["1.00 s", "10.0 MB", "500 ms", "1.50 s", "100 kB", "0 B"].map(rounded)).toEqual(["1 s", "10 MB", "500 ms", "1.5 s", "100 kB", "0 B"]);
});

test("numbers in full, shares, places", () => {
  expect(inFull(1234567.4, { unit: "bytes", of: "allocated" })).toBe("1,234,567 bytes");
  expect(inFull(3, { unit: "objects", of: "allocated" })).toBe("3 blocks");
  expect(ofAll(1, 0)).toBe("–");
  expect(placeOf({ name: "f", file: "a.ml", line: 3, columns: [4, 9] })).toBe("a.ml:3:4");
  expect(placeOf({ name: "f", file: "<C>" })).toBe("<C>");
  expect(placeOf({ name: "f" })).toBe("");
});
