/** Queries in SQL: run by keys and by example, as the command line answers them, drawn, and wrong ones shown where they are wrong. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { answered, BACTRIAN, picture, result, withPage } from "./page.mjs";

const skip = existsSync(join(dirname(BACTRIAN), "bactrian-query")) ? false : "needs the engine: cargo xtask query";

test("without an engine there is no view that asks it", { skip: skip === false }, async () => {
  await withPage(["leaky.1.heap"], "#/overview", async (page) => {
    await page.locator("header.top nav a", { hasText: "Heap" }).waitFor();
    assert.equal(await page.locator("header.top nav a", { hasText: "Query" }).count(), 0);
  });
});

test("a query is answered, drawn, and in the address", { skip }, async () => {
  await withPage(["leaky.ctf", "leaky.1.heap"], "#/overview", async (page, { url }) => {
    await page.locator("body").press("g");
    await page.locator("body").press("q");
    await page.getByLabel(/A query of 2 files/).fill("select class, blocks from classes order by blocks desc, class limit 7");
    await page.getByLabel(/A query of 2 files/).press("Control+Enter");
    await page.locator(".query table tbody tr").nth(6).waitFor();
    assert.match(page.url(), /sql=select/);
    assert.equal(await page.locator(".query .bar").count(), 7);
    await answered(page);
    await picture(page, "query-bars");
    const { result: rows, command } = await (await fetch(`${url}api/query?sql=${encodeURIComponent("select count(*) as n from blocks")}`)).json();
    assert.deepEqual(rows, [{ n: result("bactrian heap summary leaky.1.heap").blocks }]);
    assert.equal(command, "bactrian query leaky.ctf leaky.1.heap 'select count(*) as n from blocks'");
    await page.getByLabel("Examples").selectOption({ label: "Allocations over time" });
    await page.locator("svg.query-line path").waitFor();
    await answered(page);
    await picture(page, "query-line");
  });
});

test("what is wrong is said where it is wrong", { skip }, async () => {
  await withPage(["leaky.1.heap"], `#/query/0?sql=${encodeURIComponent("select tpe from blocks")}`, async (page, { wrong }) => {
    await page.locator(".query .mistake", { hasText: "select tpe from blocks" }).waitFor();
    await picture(page, "query-mistake");
    await page.getByRole("textbox").fill("-- nothing to find\nselect * from blocks where id < 0");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("No rows.").waitFor();
    // The browser complains of the status that says so.
    wrong.splice(0, wrong.length, ...wrong.filter((what) => !what.includes("400")));
  });
});
