import { expect, test } from "vitest";
import { fitted, pinched, zoomed } from "./pan_zoom";

test("what is under the pointer stays there", () => {
  const view = zoomed({ x: 10, y: 20, zoom: 1 }, 2, { x: 110, y: 70 });
  // The point (100, 50) of the picture was there, and still is.
  expect({ x: view.x + 100 * view.zoom, y: view.y + 50 * view.zoom }).toEqual({ x: 110, y: 70 });
  expect(zoomed(view, 1e9, { x: 0, y: 0 }).zoom).toBe(6);
});

test("large pictures are made smaller, small ones are not made larger", () => {
  expect(fitted({ width: 100, height: 50 }, { width: 500, height: 300 })).toEqual({ x: 200, y: 125, zoom: 1 });
  expect(fitted({ width: 2000, height: 50 }, { width: 532, height: 300 }).zoom).toBe(0.25);
  expect(fitted({ width: 2000, height: 50 }, { width: 532, height: 300 }, 0.5)).toMatchObject({ x: 16, zoom: 0.5 });
});

test("fingers hold what is under them", () => {
  const before = [{ x: 100, y: 100 }, { x: 200, y: 100 }] as const;
  const view = pinched({ x: 0, y: 0, zoom: 1 }, before, [{ x: 50, y: 120 }, { x: 250, y: 120 }]);
  expect(view.zoom).toBe(2);
  // The points (100, 100) and (200, 100) of the picture are under the fingers.
  expect({ x: view.x + 100 * view.zoom, y: view.y + 100 * view.zoom }).toEqual({ x: 50, y: 120 });
  expect({ x: view.x + 200 * view.zoom, y: view.y + 100 * view.zoom }).toEqual({ x: 250, y: 120 });
});

test("fingers that stay as far apart only move the picture", () => {
  const view = pinched({ x: 5, y: 5, zoom: 3 }, [{ x: 0, y: 0 }, { x: 30, y: 40 }], [{ x: 10, y: -7 }, { x: 40, y: 33 }]);
  expect(view).toEqual({ x: 15, y: -2, zoom: 3 });
});
