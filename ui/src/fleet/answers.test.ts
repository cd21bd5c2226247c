import { expect, test } from "vitest";
import { byService, questionOf, shownIn } from "./answers";

const question = (params: string) => questionOf(shownIn(new URLSearchParams(params)));

test("parameters with their defaults are not asked, so that one question is asked once", () => {
  expect(question("")).toEqual({});
  expect(question("by=minute&since=2h")).toEqual({});
  expect(question("by=hour&since=7d")).toEqual({ by: "hour" });
  expect(question("by=hour&since=2h&service=shop")).toEqual({ by: "hour", since: "2h", service: "shop" });
  expect(question("by=century")).toEqual({});
  expect(question("since=90m")).toEqual({ since: "90m" });
});

test("rows are grouped by service in their order", () => {
  const rows = [{ service: "b", time: 1 }, { service: "a", time: 1 }, { service: "b", time: 2 }];
  expect([...byService(rows)]).toEqual([["b", [rows[0], rows[2]]], ["a", [rows[1]]]]);
});
