import { expect, test } from "vitest";
import { amount, byKind, clock, stepOf, stepped, treeLines, valueText, watchFrom, type Observer } from "./live";

const observer = (kind: string, value: unknown, more: Partial<Observer> = {}): Observer => ({
  name: "o", title: "o", kind, labels: {}, unit: null, period_ms: 100, changes: 1, state: "observed", value, ...more,
});

test("numbers have their units", () => {
  expect(amount(17320, "bytes")).toBe("17.3 kB");
  expect(amount(2.5e8, "bytes", true)).toBe("250 MB/s");
  expect(amount(2.5e8, "nanoseconds", true)).toBe("25.0 %");
  expect(amount(1234567, "nanoseconds")).toBe("1.23 ms");
  expect(amount(0.12345, null)).toBe("0.123");
  expect(amount(12, null, true)).toBe("12/s");
});

test("clocks show hours only if there are any", () => {
  expect(clock(0)).toBe("00:00.0");
  expect(clock(61.25)).toBe("01:01.2");
  expect(clock(3723)).toBe("1:02:03.0");
});

test("every kind is read in one line", () => {
  expect(valueText(observer("point", 123))).toBe("123");
  expect(valueText(observer("time", { seconds: 1.5, runs: 3, running: true }))).toBe("1.50 s in 3, running");
  expect(valueText(observer("tag", { count: 3, bytes: 2000 }))).toBe("3 alive, 2.00 kB");
  expect(valueText(observer("table", { buckets: 16, bindings: 4, empty: 12, fill: 0.25, longest: 1 }))).toBe("4 in 16 buckets, 25.0 % filled, longest 1");
  expect(valueText(observer("float", null))).toBe("not a number");
  expect(valueText(observer("text", "why", { state: "failed" }))).toBe("failed: why");
  expect(valueText(observer("text", null, { state: "killed" }))).toBe("killed");
  const durations = { count: 2, sum: 3, min: 1, max: 2e6, p50: 1e6, p90: 2e6, p99: 2e6, p999: 2e6 };
  expect(valueText(observer("span", { open: 1, durations }))).toBe("1 open; 2: median 1.00 ms, 99 % 2.00 ms, max 2.00 ms");
});

test("observers stand with their kind, those of the runtime elsewhere", () => {
  const groups = byKind([observer("int", 1), observer("float", 1), observer("tag", {}), observer("gauge", 1, { name: "runtime.heap" })]);
  expect(groups.map((group) => [group.title, group.observers.length])).toEqual([["Numbers", 2], ["Tags", 1]]);
});

test("trees with cycles end", () => {
  const tree = { nodes: [{ label: "a", children: [1, 2] }, { label: "b", children: [0] }, { label: "c", children: [9] }] };
  expect(treeLines(tree)).toEqual([
    { label: "a", depth: 0, again: false },
    { label: "b", depth: 1, again: false },
    { label: "a", depth: 2, again: true },
    { label: "c", depth: 1, again: false },
  ]);
  expect(treeLines({ nodes: [] })).toEqual([]);
});

test("time goes back and on within what is known", () => {
  expect(stepped(null, -2, 0, 10)).toBe(8);
  expect(stepped(8, 5, 0, 10)).toBeNull();
  expect(stepped(1, -5, 0.5, 10)).toBe(0.5);
  expect(stepOf(0, 0, 120)).toBe(2);
  expect(stepOf(30, 0, 1000)).toBe(0.5);
  expect(watchFrom(new URLSearchParams("at=3.5&span=30"))).toEqual({ at: 3.5, span: 30 });
  expect(watchFrom(new URLSearchParams("at=x&span=-1"))).toEqual({ at: null, span: 0 });
});
