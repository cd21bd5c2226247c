import { expect, test } from "vitest";
import type { Answer, GcMap, MapCell } from "../api/generated";
import { cellNamed, knownCells, nameOf, words } from "./setting";

test("words are written as the runtime reads them", () => {
  expect([262_144, 1 << 22, 1000, 0].map(words)).toEqual(["256k", "4M", "1000", "0"]);
  expect(nameOf({ s: 1 << 20, o: 200 })).toBe("s=1M,o=200");
});

test("settings are found by name, and those that are known are in the order of their memory", () => {
  const at = (value: number) => ({ value, low: value, high: value });
  const cell = (s: number, rss: number | null): MapCell => ({
    setting: { s, o: 80 },
    source: rss === null ? "unknown" : "model",
    time: rss === null ? null : at(1),
    rss: rss === null ? null : at(rss),
    time_factor: null,
    rss_factor: null,
  });
  const map: GcMap = { sizes: [1024, 2048, 4096], overheads: [80], fitted: null, rows: [[cell(1024, 9), cell(2048, 3), cell(4096, null)]], left_out: 0 };
  const grid = [1024, 2048].map((s) => ({ setting: { s, o: 80 } })) as Answer["grid"];
  expect(knownCells({ grid, map }).map(({ setting }) => setting.s)).toEqual([2048, 1024]);
  expect(cellNamed(map, "s=4k,o=80")?.source).toBe("unknown");
  expect(cellNamed(map, "s=9k,o=80")).toBeNull();
  expect(cellNamed(map, null)).toBeNull();
});
