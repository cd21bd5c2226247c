import { expect, test } from "vitest";
import { apart, crossings, layered, ring, type Box, type Link } from "./links";

const gaps = { across: 50, between: 10 };
const boxes = (...ids: string[]): Box[] => ids.map((id) => ({ id, width: 100, height: 20 }));
const links = (...pairs: string[]): Link[] => pairs.map((pair) => ({ from: pair[0] ?? "", to: pair[1] ?? "" }));

function overlaps(all: readonly Box[], places: ReturnType<typeof layered>["places"]): boolean {
  return all.some((a, at) =>
    all.slice(at + 1).some((b) => {
      const [p, q] = [places.get(a.id), places.get(b.id)];
      if (!p || !q) return true;
      return Math.abs(p.x - q.x) < (a.width + b.width) / 2 - 1e-6 && Math.abs(p.y - q.y) < (a.height + b.height) / 2 - 1e-6;
    }),
  );
}

test("arrows go to the right, long ones through places of their own", () => {
  const all = boxes("a", "b", "c", "d");
  const { places, ways, width, height } = layered(all, links("ab", "bc", "ac", "cd"), gaps);
  expect(["a", "b", "c", "d"].map((id) => places.get(id)?.layer)).toEqual([0, 1, 2, 3]);
  expect(ways.map((way) => way.length)).toEqual([2, 2, 4, 2]);
  expect(width).toBe(4 * 100 + 3 * 50);
  expect(height).toBeGreaterThan(20);
  expect(overlaps(all, places)).toBe(false);
});

test("cycles, boxes that point to themselves and links to nowhere are no trouble", () => {
  const all = boxes("a", "b", "c");
  const { places, ways } = layered(all, links("ab", "bc", "ca", "aa", "ax"), gaps);
  expect(["a", "b", "c"].map((id) => places.get(id)?.layer)).toEqual([0, 1, 2]);
  // From c back to a.
  expect((ways[2]?.[0]?.[0] ?? 0) > (ways[2]?.at(-1)?.[0] ?? 0)).toBe(true);
  expect(ways[3]).toEqual([]);
  expect(ways[4]).toEqual([]);
  expect(layered([], [], gaps)).toMatchObject({ width: 0, height: 0 });
});

test("who holds something stands beside it, however deep that is", () => {
  const { places } = layered(boxes("a", "b", "c", "h"), links("ab", "bc", "hc"), gaps);
  expect(places.get("h")?.layer).toBe(1);
});

test("boxes do not overlap, and few arrows cross", () => {
  const all = boxes(..."abcdefghijklmnopqrstuvwxyz");
  const pairs = all.slice(1).map(({ id }, at) => `${all[Math.floor((at * 7) % Math.max(1, at))]?.id ?? "a"}${id}`);
  const { places } = layered(all, links(...pairs, "az", "by", "cx"), gaps);
  expect(overlaps(all, places)).toBe(false);
  const crossed = layered(boxes("a", "b", "c", "d"), links("ad", "bc"), gaps).places;
  const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => crossed.get(id)?.y ?? 0);
  expect((a ?? 0) < (b ?? 0)).toBe((d ?? 0) < (c ?? 0));
});

test("crossings are counted", () => {
  expect(crossings([[0, 1], [2, 3]], [{ after: [3] }, { after: [2] }, { after: [] }, { after: [] }])).toBe(1);
});

test("positions are kept apart, near to where they should be", () => {
  expect(apart([0, 0, 0], [10, 10])).toEqual([-10, 0, 10]);
  expect(apart([0, 100], [10])).toEqual([0, 100]);
});

test("a ring leads round to where it began", () => {
  const all = boxes("f", "g", "v");
  const { places, ways, width, height } = ring(all, 40);
  expect(overlaps(all, places)).toBe(false);
  expect(ways[2]?.[1]).toEqual(ways[0]?.[0]);
  for (const { x, y } of places.values()) {
    expect(x >= 0 && x <= width && y >= 0 && y <= height).toBe(true);
  }
});
