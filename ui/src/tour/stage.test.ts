import { expect, test } from "vitest";
import { SearchParams } from "./stage";

test("parameters are read and written as browsers do", () => {
  for (const text of ["", "a=1&b=2&a=3", "in=Main.load&hide=%2F%5E%28Stdlib%29%2F", "q=a+b%20c&blocks=", "é=%C3%A9&x=~!*()'", "broken=%E0%A4%A"]) {
    const [ours, theirs] = [new SearchParams(text), new URLSearchParams(text)];
    if (!text.includes("broken")) expect([...ours]).toEqual([...theirs]);
    if (!text.includes("broken")) expect(ours.toString()).toBe(theirs.toString());
    for (const params of [ours, theirs]) {
      params.set("a", "new");
      params.append("b", "x y");
      params.delete("q");
    }
    if (!text.includes("broken")) expect(ours.toString()).toBe(theirs.toString());
    expect([ours.get("a"), ours.getAll("b"), ours.has("q")]).toEqual([theirs.get("a"), theirs.getAll("b"), theirs.has("q")]);
  }
  expect(new SearchParams([["a", "b"]]).toString()).toBe("a=b");
});
