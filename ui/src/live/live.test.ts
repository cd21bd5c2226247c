import { expect, test } from "vitest";
import { amount, byKind, clock, drawnTree, graphsOf, sizesOf, stepOf, stepped, treeLines, watchFrom } from "./live";
import type { Observer } from "../api/generated";

const observer = (kind: string, value: Observer["value"], more: Partial<Observer> = {}): Observer => ({
  name: "o", title: "o", kind, labels: {}, unit: null, period_ms: 100, changes: 1, state: "observed", value, text: "", ...more,
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

test("observers stand with their kind, those of the runtime elsewhere", () => {
  const groups = byKind([observer("int", 1), observer("float", 1), observer("tag", { count: 1, bytes: null }), observer("gauge", 1, { name: "runtime.heap" })]);
  expect(groups.map((group) => [group.title, group.observers.length])).toEqual([["Numbers", 2], ["Tags", 1]]);
});

test("a program that has ended is not without memory", () => {
  const observers = [observer("gauge", 0, { name: "process.rss" }), observer("gauge", 800, { name: "runtime.heap" }), observer("gauge", "why not", { name: "runtime.live" })];
  expect(sizesOf(observers, true)).toEqual([{ title: "heap", bytes: 800 }]);
  expect(sizesOf(observers, false)).toEqual([{ title: "heap", bytes: 800 }, { title: "memory of the process", bytes: 0 }]);
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

test("what occurs twice in a tree is one box with two arrows", () => {
  const { nodes, links } = drawnTree([{ label: "a", children: [1, 2] }, { label: "b", children: [2] }, { label: "", children: [] }]);
  expect(nodes.map(({ id, name }) => [id, name])).toEqual([["0", "a"], ["1", "b"], ["2", "(no name)"]]);
  expect(links.map(({ from, to }) => from + to)).toEqual(["01", "02", "12"]);
});

test("each that is chosen has a graph, or all of a unit one together", () => {
  const chosen = [
    observer("gauge", 1, { title: "a", unit: "bytes" }),
    observer("gauge", 1, { title: "b", unit: "bytes" }),
    observer("time", null, { title: "t", unit: "nanoseconds" }),
    observer("table", null, { title: "h" }),
    observer("text", "x", { title: "x" }),
  ];
  const names = (isTogether: boolean) => graphsOf(chosen, isTogether).map(({ title, unit }) => [title, unit]);
  expect(names(false)).toEqual([["a", undefined], ["b", undefined], ["t", undefined], ["h", null], ["h filled", "percent"]]);
  expect(names(true)).toEqual([["a, b", undefined], ["t", undefined], ["h", null], ["h filled", "percent"]]);
  expect(graphsOf(chosen, true)[0]?.names).toEqual(["a", "b"]);
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
