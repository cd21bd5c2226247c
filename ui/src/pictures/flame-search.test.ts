import { expect, test } from "vitest";
import { layOut, type FlameTree } from "./flame-layout";
import { find, nextFound, searchFor, type Search } from "./flame-search";

const TREE: FlameTree = {
  labels: [{ name: "root" }, { name: "List.map", file: "list.ml" }, { name: "Main.load" }, { name: "List.iter", file: "list.ml" }],
  parent: [0, 0, 1, 2, 0],
  label: [0, 1, 2, 1, 3],
  total: [100, 60, 50, 20, 30],
  own: [10, 10, 30, 20, 30],
  id: [0, 1, 2, 3, 4],
  more: [0, 0, 0, 0, 0],
};

function search(text: string): Search {
  const found = searchFor(text);
  if (!found || "error" in found) throw new Error(`nothing to search: ${text}`);
  return found;
}

test("words are found in any letters, expressions as they are written", () => {
  const layout = layOut(TREE);
  expect(find(layout, 0, search("list"))).toMatchObject({ count: 3, matched: 90, first: 1 });
  expect(find(layout, 0, search("/^List\\.m/"))).toMatchObject({ count: 2, matched: 60 });
  expect(find(layout, 0, search("/^list/"))).toMatchObject({ count: 3 });
  expect(find(layout, 0, search("load"))).toMatchObject({ count: 1, matched: 50, first: 2 });
});

test("only what is shown is searched", () => {
  expect(find(layOut(TREE), 2, search("list"))).toMatchObject({ count: 1, matched: 20 });
});

test("nothing and nonsense", () => {
  expect(searchFor("  ")).toBeNull();
  expect(searchFor("/(/")).toHaveProperty("error");
});

test("from one to the next, round and round", () => {
  const found = find(layOut(TREE), 0, search("list"));
  expect(nextFound(found, 1, 1)).toBe(3);
  expect(nextFound(found, 4, 1)).toBe(1);
  expect(nextFound(found, 1, -1)).toBe(4);
});
