import { expect, test } from "vitest";
import { shortLabel } from "./flame-draw";

test("a label keeps the function and the line longest", () => {
  const label = { name: "Why_typing.Rename.alpha_renaming_b", file: "src/why_typing.ml", line: 412 };
  expect(shortLabel(label, 40)).toBe("Why_typing.Rename.alpha_renaming_b:412");
  expect(shortLabel(label, 30)).toBe("Rename.alpha_renaming_b:412");
  expect(shortLabel(label, 20)).toBe("alpha_renaming_b:412");
  expect(shortLabel(label, 14)).toBe("alpha_…g_b:412");
  expect(shortLabel(label, 8)).toBe("alpha…_b");
  expect(shortLabel(label, 2)).toBe("");
});

test("four lines of a function stay four labels", () => {
  const labels = [101, 102, 103, 104].map((line) => shortLabel({ name: "Why_typing.alpha_renaming", file: "why_typing.ml", line }, 12));
  expect(new Set(labels).size).toBe(4);
});
