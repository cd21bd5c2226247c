/** The page as one file, opened from disk with no network. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { answered, BACTRIAN, bactrian, FIXTURES, newPage, picture, REPORT } from "./page.mjs";

/** Opens it without a network, and fails if it asks for anything. */
async function offline(url, look) {
  const { page, close } = await newPage();
  await page.context().setOffline(true);
  const asked = [];
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) asked.push(request.url());
  });
  await page.goto(url);
  await page.locator("main#view").waitFor();
  await look(page);
  await close();
  assert.deepEqual(asked, []);
}

test("a report has every view, and the numbers of the command line", async () => {
  const { size } = statSync(fileURLToPath(REPORT));
  assert.ok(size <= 10_000_000, `${size} bytes`);
  const { contents } = bactrian("info", "--full", "before.ctf", "--json").result;
  await offline(REPORT, async (page) => {
    const peak = page.locator(".files tr", { hasText: "at the peak" }).first();
    await peak.waitFor();
    // Three digits of it, as the page rounds.
    const shown = Number.parseFloat((await peak.locator(".number").innerText()).replace(/ .*/s, ""));
    assert.ok(Math.abs(shown - contents.peak.value / 1e6) < 0.01 || Math.abs(shown - contents.peak.value / 1e3) < 1, `${shown} of ${contents.peak.value}`);
    assert.match(await page.getByTestId("report-note").innerText(), /A report/);
    await picture(page, "report");
    for (const view of ["trace", "heap", "evolution", "live"]) {
      await page.locator("header.top nav a", { hasText: new RegExp(`^${view}$`, "i") }).click();
      await page.locator(`main[data-view="${view}"]`).waitFor();
      await answered(page);
      await picture(page, `report-${view}`);
    }
  });
});

// Only in the whole table: making one more report takes half a minute.
const WHOLE = { skip: process.env.BACTRIAN_TEST !== "all" };

test("a report is no larger than it may be, and says what it has not", WHOLE, async () => {
  const path = join(mkdtempSync(join(tmpdir(), "bactrian-report-")), "out.html");
  execFileSync(BACTRIAN, ["report", "before.1.heap", "-o", path, "--max-size", "500kB"], { cwd: FIXTURES, stdio: "ignore" });
  assert.ok(statSync(path).size <= 500_000, `${statSync(path).size} bytes`);
  await offline(pathToFileURL(path).href, async (page) => {
    await page.getByTestId("report-note").locator("summary").click();
    assert.match(await page.getByTestId("report-note").innerText(), /no larger than 500 kB[\s\S]*There was no room/);
  });
});
