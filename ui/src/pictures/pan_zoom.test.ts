import { expect, test } from "vitest";
import { fitted, zoomed } from "./pan_zoom";

test("what is under the pointer stays there", () => {
  const view = zoomed({ x: 10, y: 20, zoom: 1 }, 2, { x: 110, y: 70 });
  // The point (100, 50) of the picture was there, and is.
  expect({ x: view.x + 100 * view.zoom, y: view.y + 50 * view.zoom }).toEqual({ x: 110, y: 70 });
  expect(zoomed(view, 1e9, { x: 0, y: 0 }).zoom).toBe(6);
});

test("large pictures are made smaller, small ones are not made larger", () => {
  expect(fitted({ width: 100, height: 50 }, { width: 500, height: 300 })).toEqual({ x: 200, y: 125, zoom: 1 });
  expect(fitted({ width: 2000, height: 50 }, { width: 532, height: 300 }).zoom).toBe(0.25);
  expect(fitted({ width: 2000, height: 50 }, { width: 532, height: 300 }, 0.5)).toMatchObject({ x: 16, zoom: 0.5 });
});
