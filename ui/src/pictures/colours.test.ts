import { expect, test } from "vitest";
import { colourOf, colourOfChange, palette } from "./colours";

function luminance(colour: string): number {
  const channel = (at: number) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

test("dark text can be read on all colours of both themes", () => {
  for (const colour of [...palette(false), ...palette(true)]) {
    expect((luminance(colour) + 0.05) / (luminance("#111111") + 0.05), colour).toBeGreaterThan(4.5);
  }
});

test("a module has one colour", () => {
  expect(colourOf("Main.load", false)).toBe(colourOf("Main.store", false));
  expect(colourOf("[unknown]", false)).toBe("#cfcfcf");
});

test("more is red, less is blue, the same is neither", () => {
  expect(colourOfChange(1, false)).toBe("rgb(201 64 43)");
  expect(colourOfChange(-1, false)).toBe("rgb(43 123 186)");
  expect(colourOfChange(0, false)).toBe("rgb(232 232 228)");
});
