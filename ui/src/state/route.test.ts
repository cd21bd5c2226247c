import { expect, test } from "vitest";
import { changed, parseRoute, writeRoute } from "./route";

test("a route is read as it is written", () => {
  const hash = "#/trace/1/flame?metric=live&in=Main.load&in=%2F%5EStdlib%2F";
  const route = parseRoute(hash);
  expect(route).toMatchObject({ view: "trace", file: 1, part: "flame" });
  expect(route.params.getAll("in")).toEqual(["Main.load", "/^Stdlib/"]);
  expect(writeRoute(route)).toBe(hash);
});

test("nonsense is the overview of the first file", () => {
  for (const hash of ["", "#", "#/", "#/%zz/-1"]) {
    expect(parseRoute(hash).file).toBe(0);
  }
  expect(parseRoute("").view).toBe("overview");
});

test("a change keeps what it does not name", () => {
  const route = parseRoute("#/trace/0/flame?metric=live&in=A");
  expect(writeRoute(changed(route, { params: { in: ["B", "C"] } }))).toBe("#/trace/0/flame?metric=live&in=B&in=C");
  expect(writeRoute(changed(route, { params: { in: null } }))).toBe("#/trace/0/flame?metric=live");
  expect(writeRoute(changed(route, { view: "heap", fresh: true }))).toBe("#/heap/0");
});
