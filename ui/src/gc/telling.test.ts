import { expect, test } from "vitest";
import type { Answer, MapCell } from "../api/generated";
import { change, told } from "./telling";

const at = (value: number) => ({ value, low: value * 0.98, high: value * 1.02 });
const present: MapCell = { setting: { s: 262_144, o: 120 }, source: "run", time: at(2), rss: at(100e6), time_factor: 1, rss_factor: 1 };
const far: MapCell = { setting: { s: 262_144, o: 400 }, source: "extrapolated", time: at(1.5), rss: at(200e6), time_factor: 0.75, rss_factor: 2 };
const unknown: MapCell = { setting: { s: 1 << 20, o: 120 }, source: "unknown", time: null, rss: null, time_factor: null, rss_factor: null };
const answer = {
  present: { setting: present.setting },
  recommended: null,
  map: { sizes: [262_144, 1 << 20], overheads: [120, 400], fitted: [40, 120], rows: [[present, unknown], [far, unknown]], left_out: 0 },
} as unknown as Answer;

test("changes have a sign", () => {
  expect([0.75, 1, 2].map(change)).toEqual(["−25.0 %", "±0.0 %", "+100.0 %"]);
});

test("a setting is told with its numbers and what they come from", () => {
  expect(told(answer, present)).toBe("s=256k,o=120, now: 2.00 s ± 2.00 %, 100 MB ± 2.00 %; measured.");
  expect(told(answer, far)).toBe(
    "s=256k,o=400: 1.50 s ± 2.00 %, 200 MB ± 2.00 %; −25.0 % time and +100.0 % memory; by the model, which extrapolates beyond o from 40 to 120.",
  );
  expect(told(answer, unknown)).toBe("s=1M,o=120: unknown: no run had this s.");
});
