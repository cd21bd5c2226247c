import { expect, test } from "vitest";
import { colourOfChange, coloursOf, palette, type Origin } from "./colours";

const ORIGINS: readonly Origin[] = ["program", "library", "stdlib", "c"];

type Three = readonly [number, number, number];

/** Red, green and blue as linear light. */
function light(colour: string): Three {
  const channel = (at: number) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function luminance(colour: string): number {
  const [red, green, blue] = light(colour);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** CIE L*a*b*, in which distances approximate perceived differences. */
function lab([red, green, blue]: Three): Three {
  const f = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047);
  const y = f(0.2126729 * red + 0.7151522 * green + 0.072175 * blue);
  const z = f((0.0193339 * red + 0.119192 * green + 0.9503041 * blue) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** Linear light as perceived with one kind of cones missing (Machado, Oliveira and Fernandes, 2009). */
const SIGHTS: Record<string, readonly [Three, Three, Three]> = {
  "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

function seen(colour: string, sight: readonly [Three, Three, Three]): Three {
  const of = light(colour);
  const row = (weights: Three) => Math.min(1, Math.max(0, weights[0] * of[0] + weights[1] * of[1] + weights[2] * of[2]));
  return lab([row(sight[0]), row(sight[1]), row(sight[2])]);
}

/** A distance of 2.3 is just noticeable, side by side. */
const LEAST = 8;

test.each([false, true])("all colours differ for everybody (dark: %s)", (isDark) => {
  const all = ORIGINS.flatMap((origin) => palette(isDark, origin));
  expect(new Set(all).size).toBe(24);
  for (const [name, sight] of Object.entries(SIGHTS)) {
    all.forEach((one, at) => {
      for (const other of all.slice(at + 1)) {
        const [a, b] = [seen(one, sight), seen(other, sight)];
        expect(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), `${one} and ${other}, ${name}`).toBeGreaterThan(LEAST);
      }
    });
  }
});

test("dark text can be read on all colours of both themes", () => {
  for (const colour of [true, false].flatMap((isDark) => ORIGINS.flatMap((origin) => palette(isDark, origin)))) {
    expect((luminance(colour) + 0.05) / (luminance("#111111") + 0.05), colour).toBeGreaterThan(4.5);
  }
});

test("no two modules of a picture are alike while colours are left, and the largest has its favourite", () => {
  const modules = Array.from({ length: palette(false, "program").length }, (_, at) => ({ name: `Module_${at}`, origin: "program" as const }));
  const colours = coloursOf(modules, false);
  expect(new Set(colours.values()).size).toBe(modules.length);
  for (const module of modules) {
    expect(coloursOf([module, ...modules], false).get(module.name)).toBe(coloursOf([module], false).get(module.name));
  }
  // With more names than colours, colours repeat.
  expect(palette(false, "program")).toContain(coloursOf([...modules, { name: "Another", origin: "program" }], false).get("Another"));
});

test("whose code it is shows", () => {
  const colours = coloursOf([{ name: "Cache", origin: "program" }, { name: "List", origin: "stdlib" }, { name: "caml_alloc", origin: "c" }, { name: "[unknown]" }], true);
  expect(palette(true, "program")).toContain(colours.get("Cache"));
  expect(palette(true, "stdlib")).toContain(colours.get("List"));
  expect(palette(true, "c")).toContain(colours.get("caml_alloc"));
  expect(colours.get("[unknown]")).toBe("#7d7d7d");
});

test("more is red, less is blue, the same is neither", () => {
  expect(colourOfChange(1, false)).toBe("rgb(201 64 43)");
  expect(colourOfChange(-1, false)).toBe("rgb(43 123 186)");
  expect(colourOfChange(0, false)).toBe("rgb(232 232 228)");
});
