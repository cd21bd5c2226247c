import { expect, test } from "vitest";
import { added, chipsOf, cleared, filterParams, isAbout, moduleFilter, patternOf, replaced } from "./filters";

const URL = new URLSearchParams("metric=live&in=Main.load&in=%2F%5EStdlib%2F&size=64..1kB&live-at-end=&size=1..2");

test("filters in the URL are chips, other parameters are not", () => {
  expect(chipsOf(URL).map(({ option, value, at }) => [option.name, value, at])).toEqual([
    ["in", "Main.load", 0],
    ["in", "/^Stdlib/", 1],
    ["size", "1..2", 0],
    ["live-at-end", "", 0],
  ]);
});

test("and parameters of questions: flags without a value, the last one if only one makes sense", () => {
  expect(filterParams(URL)).toEqual({ in: ["Main.load", "/^Stdlib/"], size: "1..2", "live-at-end": true });
});

test("one more, once only; those that are alone take the place of the old one", () => {
  expect(added(URL, "in", "A.b")).toEqual({ in: ["Main.load", "/^Stdlib/", "A.b"] });
  expect(added(URL, "in", "Main.load")).toEqual({ in: ["Main.load", "/^Stdlib/"] });
  expect(added(URL, "size", "..8")).toEqual({ size: ["..8"] });
});

test("one changed, one less, none", () => {
  const [load, stdlib, size] = chipsOf(URL);
  if (!load || !stdlib || !size) throw new Error("there are three");
  expect(replaced(URL, stdlib, "B.c")).toEqual({ in: ["Main.load", "B.c"] });
  expect(replaced(URL, load, null)).toEqual({ in: ["/^Stdlib/"] });
  expect(replaced(URL, size, null)).toEqual({ size: [] });
  expect(cleared()).toMatchObject({ in: null, hide: null, "live-in": null });
});

test("names are taken as they are", () => {
  expect(patternOf("Main.load")).toBe("Main.load");
  expect(patternOf("/odd.(name)/")).toBe("/^\\/odd\\.\\(name\\)\\/$/");
  expect(moduleFilter("Stdlib__Map")).toBe("/^Stdlib__Map(\\.|$)/");
});

test("a complaint is shown at the chip that it is about", () => {
  const chips = chipsOf(new URLSearchParams("in=%2F(%2F&size=7&domain=0"));
  const about = (error: string) => chips.filter((chip) => isAbout(error, chip)).map((chip) => chip.option.name);
  expect(about("`/(/` is no regular expression")).toEqual(["in"]);
  expect(about("size: `7` is not a range; write A..B")).toEqual(["size"]);
  expect(about("the trace has 7 losses")).toEqual([]);
});
