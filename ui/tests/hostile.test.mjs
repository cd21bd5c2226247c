/** Names, texts and paths that would do harm if they were taken for anything but text. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { answered, BACTRIAN, FIXTURES, newPage, picture, withPage } from "./page.mjs";

/** Every part of every view. Unknown parts show their view's first, which does no harm. */
const PLACES = [
  "#/overview/0",
  ...["", "flame", "functions", "sites", "paths", "lifetimes", "modules", "files"].map((part) => `#/trace/0/${part}`),
  ...["", "roots", "dominators", "types", "sites", "functions", "modules", "paths", "finalisers", "duplicates", "collections", "graph"].map(
    (part) => `#/heap/1/${part}`,
  ),
  "#/heap/1?node=0",
  "#/evolution/0",
  "#/live/3",
  "#/trace/0?in=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&focus=%3C/script%3E%3Cscript%3Ealert(2)%3C/script%3E",
  "#/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E/0/%3Cb%3E?__proto__=1&constructor=2",
];

/** Nothing of a name became an element, a handler or a link. */
async function nothingRan(page, place) {
  const found = await page.evaluate(() => ({
    elements: document.querySelectorAll('img, svg[onload], [onerror], a[href^="javascript:"]').length,
    bold: [...document.querySelectorAll("b")].filter((b) => b.textContent === "bold").length,
    scripts: [...document.querySelectorAll("script")].filter((s) => /alert\(/.test(s.textContent ?? "") && s.type !== "application/json" && s.type !== "module").length,
    polluted: "1" in {} || typeof Object !== "function",
  }));
  assert.deepEqual(found, { elements: 0, bold: 0, scripts: 0, polluted: false }, place);
}

test("no name of a file, function, module or observer is more than text", async () => {
  // The file's own name is somebody else's text as well.
  const folder = mkdtempSync(join(tmpdir(), "bactrian-hostile-"));
  const trace = join(folder, "<img src=x onerror=alert(6)>.ctf");
  copyFileSync(join(FIXTURES, "hostile.ctf"), trace);
  const files = [trace, "hostile.heap", "leaky.1.heap", "hostile.live"];
  await withPage(files, "", async (page, { url, wrong }) => {
    for (const place of PLACES) {
      await page.goto(url + place);
      await page.locator("main#view").waitFor();
      await answered(page);
      await nothingRan(page, place);
    }
    await page.goto(`${url}#/trace/0/functions`);
    await page.getByText("<img src=x onerror=alert(1)>", { exact: false }).first().waitFor();
    await picture(page, "hostile");
    // Some of these places ask for what is not there, and are told so.
    wrong.splice(0, wrong.length, ...wrong.filter((complaint) => !complaint.includes("400 (Bad Request)")));
  });
});

// Only in the whole table: a report is drawn by the code that the tests above look at, and making it takes a minute.
const WHOLE = { skip: process.env.BACTRIAN_TEST !== "all" };

test("nor is it in a report", WHOLE, async () => {
  const path = join(mkdtempSync(join(tmpdir(), "bactrian-hostile-")), "out.html");
  execFileSync(BACTRIAN, ["report", "hostile.ctf", "hostile.heap", "leaky.1.heap", "hostile.live", "-o", path], { cwd: FIXTURES, stdio: "ignore" });
  const { page, close } = await newPage();
  for (const place of PLACES) {
    await page.goto(pathToFileURL(path) + place);
    await page.locator("main#view").waitFor();
    await answered(page);
    await nothingRan(page, place);
  }
  await close();
});
