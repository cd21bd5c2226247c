import { expect, test } from "vitest";
import { bytes, count, errorOf, estimate, percent, seconds } from "./format";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.00 kB"],
  [12_345, "12.3 kB"],
  [999_499_999, "999 MB"],
  [999_500_000, "1.00 GB"],
  [-2_500_000, "-2.50 MB"],
])("%d bytes", (value, text) => expect(bytes(value)).toBe(text));

test.each([
  [512, "512"],
  [9_750, "9,750"],
  [12_345, "12.3k"],
  [2_280_000, "2.28M"],
])("a count of %d", (value, text) => expect(count(value)).toBe(text));

test.each([
  [0, "0 s"],
  [0.0000123, "12.3 µs"],
  [0.25, "250 ms"],
  [1.5, "1.50 s"],
  [125, "2 min 5 s"],
  [7260, "2 h 1 min"],
])("%d seconds", (value, text) => expect(seconds(value)).toBe(text));

test("shares and errors", () => {
  expect(percent(0.1234)).toBe("12.3 %");
  expect(percent(0.0001)).toBe("< 0.1 %");
  expect(errorOf({ value: 100, low: 100, high: 100 })).toBe("");
  expect(estimate({ value: 100, low: 90, high: 112 })).toBe("100 B ± 11.0 %");
  expect(errorOf({ value: 100, low: 96, high: 104 })).toBe("± 4.00 %");
  expect(errorOf({ value: 100, low: 30, high: 190 })).toBe("-70/+90 %");
});
