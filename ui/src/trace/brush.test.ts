import { expect, test } from "vitest";
import { dragged, gripAt, moved, parseSpan, parseTime, resized, writeSpan } from "./brush";

const WHOLE = { from: 0, to: 10 };

test("times and spans are read as the command line reads them", () => {
  expect(parseTime("1.5s")).toBe(1.5);
  expect(parseTime("200ms")).toBeCloseTo(0.2);
  expect(parseTime("2min")).toBe(120);
  expect(parseTime("3")).toBe(3);
  expect(parseTime("x")).toBeNaN();
  expect(parseSpan("1s..2500ms", WHOLE)).toEqual({ from: 1, to: 2.5 });
  expect(parseSpan("..2s", WHOLE)).toEqual({ from: 0, to: 2 });
  expect(parseSpan("2s..", WHOLE)).toEqual({ from: 2, to: 10 });
  for (const nonsense of [null, "", "2s", "3s..2s", "a..b", "1s..2s..3s"]) expect(parseSpan(nonsense, WHOLE)).toBeNull();
});

test("they are written with no more digits than can be seen", () => {
  expect(writeSpan({ from: 0.123456, to: 2 }, 0.01)).toBe("0.12s..2s");
  expect(writeSpan({ from: 0.123456, to: 0.2 }, 0.0005)).toBe("0.1235s..0.2s");
  expect(writeSpan({ from: 1234.5, to: 5678 }, 10)).toBe("1235s..5678s");
});

test("ends can be held, what is between can be moved, elsewhere a new one begins", () => {
  const span = { from: 2, to: 6 };
  expect(gripAt(2.1, span, 0.2)).toBe("from");
  expect(gripAt(5.9, span, 0.2)).toBe("to");
  expect(gripAt(4, span, 0.2)).toBe("move");
  expect(gripAt(8, span, 0.2)).toBe("new");
  expect(gripAt(4, null, 0.2)).toBe("new");
});

test("dragging stays within the trace and turns round", () => {
  const span = { from: 2, to: 6 };
  expect(dragged("new", null, 5, 3, WHOLE)).toEqual({ from: 3, to: 5 });
  expect(dragged("new", span, 8, 12, WHOLE)).toEqual({ from: 8, to: 10 });
  expect(dragged("move", span, 4, 5, WHOLE)).toEqual({ from: 3, to: 7 });
  expect(dragged("move", span, 4, -4, WHOLE)).toEqual({ from: 0, to: 4 });
  expect(dragged("from", span, 2, 7, WHOLE)).toEqual({ from: 6, to: 7 });
  expect(dragged("to", span, 6, 9, WHOLE)).toEqual({ from: 2, to: 9 });
});

test("keys move and resize", () => {
  expect(moved({ from: 8, to: 9 }, 5, WHOLE)).toEqual({ from: 9, to: 10 });
  expect(resized({ from: 2, to: 3 }, 1, WHOLE, 0.1)).toEqual({ from: 2, to: 4 });
  expect(resized({ from: 2, to: 3 }, -5, WHOLE, 0.1)).toEqual({ from: 2, to: 2.1 });
});
