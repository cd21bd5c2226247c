import { expect, test } from "vitest";
import { csvOf, escaped } from "./export";

test("no cell breaks a line, a column or a spreadsheet", () => {
  expect(csvOf([["a,b", 'say "x"', "=cmd|' /C calc'", -3, "-x", "two\nlines"]])).toBe(
    `"a,b","say ""x""",'=cmd|' /C calc',-3,'-x,"two\nlines"\n`,
  );
});

test("no name ends a tag", () => {
  expect(escaped('<script>alert("x")&\u0001')).toBe("&lt;script&gt;alert(&quot;x&quot;)&amp;\ufffd");
});
