import { expect, test } from "vitest";
import { key } from "../api/ask";
import { changed, parseRoute, writeRoute } from "../state/route";
import { below, breadcrumb, compactionsOf, estimatesOf, questionOf, shownFrom, timesOf, toggled, type SeriesPoint, type SeriesRow } from "./series";

const shown = (query: string) => shownFrom(new URLSearchParams(query));
const row = (title: string) => ({ title, name: title });
const point = (sequence: number, taken: number, compactions: number | null, since: number | null = null): SeriesPoint => ({
  taken, since_start: since, sequence, reason: "major", name: null, pid: 1, blocks: 1, bytes: 8, live: 8, heap: null, compactions,
});

test("what is as usual is not asked for", () => {
  expect(key("series", questionOf(shown("")))).toBe("series?");
  expect(key("series", questionOf(shown("by=module&n=5&sort=3&also=A&also=B&x=time&off=C")))).toBe("series?also=A&also=B&by=module&number=5&sort=3");
  expect(shown("n=0&sort=nonsense&by=x&unit=y")).toMatchObject({ number: 20, sort: "average", by: "type", unit: "bytes" });
});

test("clicks lead from modules to functions, places and types, and back", () => {
  let route = parseRoute("#/evolution/0?by=module");
  const click = (title: string) => {
    const change = below(shownFrom(route.params), row(title));
    if (change) route = changed(route, change);
    return change !== null;
  };
  expect(click("Why_typing")).toBe(true);
  expect(click("Why_typing.alpha_renaming_b")).toBe(true);
  expect(click("Why_typing.alpha_renaming_b  why_typing.ml:868:4-20")).toBe(true);
  expect(shownFrom(route.params)).toMatchObject({ by: "type", filters: { module: "Why_typing", function: "Why_typing.alpha_renaming_b" } });
  expect(click("pp_desc")).toBe(false);
  const steps = breadcrumb(shownFrom(route.params));
  expect(steps.map((step) => step.text)).toEqual(["All blocks", "Why_typing", "Why_typing.alpha_renaming_b", "Why_typing.alpha_renaming_b  why_typing.ml:868:4-20"]);
  expect(writeRoute(changed(route, steps[1]?.back ?? {}))).toBe("#/evolution/0?module=Why_typing&by=function");
  expect(writeRoute(changed(route, steps[0]?.back ?? {}))).toBe("#/evolution/0?by=module");
});

test("from a type one comes to who allocates it", () => {
  const route = changed(parseRoute("#/evolution/0"), below(shown(""), row("string")) ?? {});
  expect(shownFrom(route.params)).toMatchObject({ by: "module", filters: { type: "string" } });
  expect(below(shown("by=site&type=string"), row("f"))).toBeNull();
  expect(below(shown("by=module"), row("[not sampled]"))).toBeNull();
});

test("compactions are where their number rises", () => {
  expect(compactionsOf([point(1, 0, 0), point(2, 1, 2), point(3, 2, 2), point(4, 3, 3)])).toEqual([{ at: 1, count: 2 }, { at: 3, count: 1 }]);
  expect(compactionsOf([point(1, 0, null), point(2, 1, 2)])).toEqual([]);
});

test("times are since the start where that is known", () => {
  expect(timesOf([point(1, 10, 0), point(2, 12.5, 0)])).toEqual([0, 2.5]);
  expect(timesOf([point(1, 10, 0, 1), point(2, 12, 0, 3)])).toEqual([1, 3]);
});

test("words are bytes by eight, with their error", () => {
  const of = { bytes: [{ value: 80, low: 40, high: 120 }], blocks: [] } as unknown as SeriesRow;
  expect(estimatesOf(of, "words", 8)).toEqual([{ value: 10, low: 5, high: 15 }]);
  expect(toggled(["a"], "a")).toEqual([]);
  expect(toggled(["a"], "b")).toEqual(["a", "b"]);
});
