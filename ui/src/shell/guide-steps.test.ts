import { expect, test } from "vitest";
import type { FileKind, ShownFile } from "../api/files";
import { stepsFor } from "./guide-steps";

const files = (...kinds: FileKind[]): ShownFile[] =>
  kinds.map((kind) => ({ path: kind, name: kind, kind, state: "open", done: 1, takes_snapshots: false }));
const views = (...kinds: FileKind[]) => stepsFor(files(...kinds)).map((step) => step.view);

test("the guide goes where there is something to see, in a minute", () => {
  expect(views("trace", "snapshot", "snapshot", "live")).toEqual(["overview", "trace", "trace", "heap", "evolution", "live", null]);
  expect(views("trace")).toEqual(["overview", "trace", "trace", null]);
  expect(views("snapshot")).toEqual(["overview", "heap", null]);
  expect(views("live")).toEqual(["overview", "live", null]);
  expect(views("fleet")).toEqual(["fleet", null]);
  expect(views("gc")).toEqual(["gc", null]);
  const words = stepsFor(files("trace", "snapshot", "snapshot", "live")).flatMap((step) => `${step.title} ${step.text}`.split(" "));
  // People read four words per second.
  expect(words.length / 4).toBeLessThan(60);
});
