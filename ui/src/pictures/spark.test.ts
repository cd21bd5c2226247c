import { expect, test } from "vitest";
import { outline } from "./spark";

test("an outline begins and ends on the ground and reaches the top", () => {
  expect(outline([0, 5, 10], 100, 50)).toBe("M0,50 L0.0,50.0 L50.0,25.0 L100.0,0.0 L100,50 Z");
  expect(outline([], 100, 50)).toBe("");
  expect(outline([0, 0], 100, 50)).toBe("M0,50 L0.0,50.0 L100.0,50.0 L100,50 Z");
});
