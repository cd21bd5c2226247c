import { expect, test } from "vitest";
import script from "./flame-file.script.js?raw";
import style from "./flame-file.style.css?raw";
import { layOut, type FlameTree } from "./flame-layout";
import { flameSvg, type FlameFile } from "./flame-svg";

const tree = (names: string[], parent: number[], total: number[]): FlameTree => ({
  labels: ["all", ...names].map((name) => ({ name })),
  parent: [0, ...parent],
  label: [0, ...names.map((_, at) => at + 1)],
  total,
  own: total,
  id: total.map((_, at) => at),
  more: total.map(() => 0),
});

const drawn = (of: FlameTree, more: Partial<FlameFile> = {}) =>
  flameSvg(layOut(of), 0, { title: "t", lines: [], warnings: [], up: false, width: 1224, fill: () => "#fff", figures: () => [], ...more });

test("names in pictures are text, whatever is in them", () => {
  const hostile = `</title><script>alert("x")</script>&]]>\u0001\u202e\n`;
  const svg = drawn(tree([hostile], [0], [10, 9]), { title: hostile, lines: [hostile], warnings: [hostile], figures: () => [hostile] });
  expect(svg.match(/<script/g)).toHaveLength(1);
  expect(svg).toContain("&lt;script&gt;");
  expect(svg).not.toMatch(/[\u0001\u202e]/);
  expect(svg.match(/<g data-depth/g)).toHaveLength(2);
});

test("frames are as wide as their share, and what is too small is counted", () => {
  const svg = drawn(tree(["A.f", "A.g", "B.h"], [0, 1, 0], [1000, 600, 300, 0.1]));
  expect([...svg.matchAll(/<rect[^>]* x="([\d.]+)" y="\d+" width="([\d.]+)"/g)].map(([, x, width]) => [x, width])).toEqual([
    ["12", "1200"],
    ["12", "720"],
    ["12", "360"],
  ]);
  expect(svg).toContain("Frames drawn: 3. Too small to draw: 1;");
});

test("flames grow either way", () => {
  const places = (up: boolean) => [...drawn(tree(["A.f", "A.g"], [0, 1], [3, 2, 1]), { up }).matchAll(/y="(\d+)" width="[\d.]+" height="16"/g)].map(([, y]) => y);
  expect(places(true).reverse()).toEqual(places(false));
});

test("what is too deep is said", () => {
  const names = Array.from({ length: 450 }, (_, at) => `A.f${at}`);
  const svg = drawn(tree(names, names.map((_, at) => at), [10, ...names.map(() => 10)]));
  expect(svg).toContain("Cut: 50 frames deeper than 400 levels are not drawn");
  expect(svg.match(/<g data-depth/g)).toHaveLength(401);
});

test("names are cut to their frames", () => {
  const text = (name: string, share: number) => /<text x="[\d.]+" y="\d+">([^<]*)<\/text><\/g>\n<\/g>/.exec(drawn(tree([name], [0], [1200, share])))?.[1];
  expect(text("List.map", 8 * 6.7 + 6.1)).toBe("List.map");
  expect(text("List.map", 7 * 6.7 + 6.1)).toBe("map");
  expect(text("Hashtbl.replace_bucket", 9 * 6.7 + 6.1)).toBe("replace_…");
  expect(text("run", 2 * 6.7 + 6.1)).toBeUndefined();
});

test("nothing measured is a picture, too", () => {
  expect(drawn(tree([], [], [0]))).toContain("Frames drawn: 1.");
});

test("script and style do not end their section", () => {
  expect(script).not.toContain("]]>");
  expect(style).not.toContain("]]>");
});
