/** The evolution over snapshots: numbers as the command line has them, the way down by clicks, keys, the slider, both axes. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { FIXTURES, newPage, picture, REPORT, REPORTED, result, withPage, SCREENS } from "./page.mjs";

// How many there are depends on how busy the machine was; their order is that of their numbers.
const HEAPS = readdirSync(FIXTURES)
  .filter((name) => /^leaky\.\d+\.heap$/.test(name))
  .sort((a, b) => Number(a.split(".")[1]) - Number(b.split(".")[1]));

const legend = (page) => page.locator(".legend li .name").allTextContents();
const ready = (page) => page.locator(".evolution .legend li").first().waitFor();
const settled = (page) => page.locator('.evolution [aria-busy="false"]').first().waitFor();

/** The command that the page says prints the same. */
async function command(page) {
  await page.locator('[data-testid="export"] summary').click();
  const text = await page.locator('[data-testid="command"]').first().textContent();
  await page.locator('[data-testid="export"] summary').click();
  return text;
}

test("areas are those of the command line, by type and by module", async () => {
  await withPage(HEAPS, "#/evolution/0", async (page) => {
    await ready(page);
    for (const by of ["Type", "Module"]) {
      await page.getByRole("radio", { name: by, exact: true }).click();
      await page.locator(".legend", { hasText: `by ${by.toLowerCase()}` }).waitFor();
      await settled(page);
      const told = result(await command(page));
      assert.equal(told.snapshots.length, HEAPS.length);
      const expected = told.rows.map((row) => row.title);
      assert.deepEqual((await legend(page)).slice(0, expected.length), expected);
      // What makes the heap grow is pointed out.
      const growing = told.rows.filter((row) => row.growth >= 0.1 * told.all.growth).length;
      assert.ok(growing > 0);
      assert.equal(await page.locator(".legend .grows").count(), growing);
      await picture(page, `evolution-${by.toLowerCase()}`);
    }
  });
});

test("clicks lead from modules to functions, places and types, and back", async () => {
  await withPage(HEAPS, "#/evolution/0?by=module", async (page) => {
    await ready(page);
    await page.locator(".legend li .name", { hasText: /^Leaky_cache$/ }).click();
    await page.locator(".breadcrumb strong", { hasText: "Leaky_cache" }).waitFor();
    await page.locator(".legend", { hasText: "by function" }).waitFor();
    await settled(page);
    assert.match(page.url(), /by=function/);
    const functions = result(await command(page));
    assert.ok(functions.rows.length > 0);
    // A click into the picture: the largest area lies at the bottom.
    const canvas = page.locator(".evolution canvas");
    const box = await canvas.boundingBox();
    const at = { x: box.width * 0.97, y: box.height * 0.86 };
    await canvas.hover({ position: at });
    await page.locator(".evolution .tip", { hasText: functions.rows[0].title }).waitFor();
    await picture(page, "evolution-hover");
    await canvas.click({ position: at });
    await page.locator(".legend", { hasText: "by site" }).waitFor();
    await settled(page);
    assert.equal(new URL(page.url()).hash.includes("by=site"), true);
    const sites = result(await command(page));
    assert.ok(sites.rows.every((row) => row.title.startsWith(functions.rows[0].title)));
    await page.locator(".numbers tbody tr").first().click();
    await page.locator(".legend", { hasText: "by type" }).waitFor();
    await settled(page);
    assert.equal((await page.locator(".breadcrumb").textContent()).split("›").length, 4);
    await picture(page, "evolution-drilled");
    await page.locator("body").press("Backspace");
    await page.locator(".legend", { hasText: "by site" }).waitFor();
    await page.locator(".breadcrumb button", { hasText: "All blocks" }).click();
    await page.locator(".legend", { hasText: "by module" }).waitFor();
  });
});

test("keys, slider, search, order, axis and lines, all in the URL", async () => {
  await withPage(HEAPS, "#/evolution/0?n=3", async (page) => {
    await ready(page);
    await settled(page);
    assert.equal((await legend(page)).length, 4);
    const first = await legend(page);
    await page.locator("body").press("+");
    await page.locator(".legend", { hasText: "4 of" }).waitFor();
    await page.getByRole("slider", { name: "Areas" }).fill("2");
    await page.locator(".legend", { hasText: "2 of" }).waitFor();
    assert.match(page.url(), /n=2/);
    // What is not shown is found by a part of its name.
    const others = result(await command(page).then((text) => text.replace("--number 2", "--number 9")));
    const wanted = others.rows[5].title;
    await page.locator("body").press("/");
    await page.keyboard.type(wanted);
    await page.locator(`datalist option[value="${wanted}"]`).waitFor({ state: "attached" });
    await page.keyboard.press("Enter");
    await page.locator(".legend li .name", { hasText: wanted }).waitFor();
    assert.ok(page.url().includes("also="));
    assert.notDeepEqual(await legend(page), first);
    await page.keyboard.press("Escape");
    // The chosen snapshot is what it can be sorted by.
    await page.locator("body").press("ArrowRight");
    await page.locator("body").press("s");
    await page.locator("body").press("s");
    await page.waitForURL(/sort=1/);
    await settled(page);
    const sorted = result(await command(page));
    const sizes = sorted.rows.slice(0, 2).map((row) => row.bytes[0].value);
    assert.ok(sizes[0] >= sizes[1]);
    for (const key of ["x", "u", "c", "h", "v"]) await page.locator("body").press(key);
    await page.waitForURL(/lines=compactions%2Cheap%2Clive/);
    assert.match(page.url(), /x=collection/);
    assert.match(page.url(), /unit=words/);
    await settled(page);
    assert.match(await command(page), /--unit words --sort 1 .*--number 2$/);
    await picture(page, "evolution-lines");
    // A switch of the legend leaves an area out.
    await page.locator(".legend .swatch").first().click();
    await page.locator(".legend li.off").waitFor();
    assert.match(page.url(), /off=/);
  });
});

test("the picture, the numbers and the command can be taken along", async () => {
  await withPage(HEAPS, "#/evolution/0?by=function", async (page) => {
    await ready(page);
    await settled(page);
    await page.locator('[data-testid="export"] summary').click();
    const section = page.locator('[data-testid="export"] section', { hasText: "evolution by function" });
    for (const [kind, check] of [["SVG", /^<svg[\s\S]*<polygon/], ["CSV", /^function,#1/], ["PNG", /PNG/]]) {
      const coming = page.waitForEvent("download");
      await section.getByRole("button", { name: kind, exact: true }).click();
      const chunks = [];
      for await (const chunk of await (await coming).createReadStream()) chunks.push(chunk);
      assert.match(Buffer.concat(chunks).toString("latin1"), check);
    }
  });
});

test("what stayed is that of the command line", async () => {
  await withPage(HEAPS, "#/evolution/0", async (page) => {
    await ready(page);
    await page.getByLabel("What stayed").check();
    const rows = page.locator('[data-testid="stayed"] tbody tr');
    await rows.first().waitFor();
    await page.locator('[data-testid="export"] summary').click();
    const section = page.locator('[data-testid="export"] section', { hasText: "What stayed" });
    const told = result(await section.locator('[data-testid="command"]').textContent());
    await page.locator('[data-testid="export"] summary').click();
    assert.deepEqual(told.compared, [HEAPS[0], HEAPS[Math.floor(HEAPS.length / 2)], HEAPS.at(-1)]);
    const first = await rows.first().textContent();
    assert.ok(first.startsWith(told.rows[0].class), `${first}: ${told.rows[0].class}`);
    assert.ok(first.includes(told.rows[0].holder ?? "several roots"), first);
    await picture(page, "evolution-stayed");
  });
});

test("a report has the first pictures and the way down, and says in place what it has not", async () => {
  const evolution = `${REPORT}#/evolution/${REPORTED.heaps[0]}`;
  const { page, close } = await newPage();
  try {
    await page.goto(`${evolution}?by=module`);
    await ready(page);
    await page.locator(".legend li .name", { hasText: /^Leaky_cache$/ }).click();
    await page.locator(".legend", { hasText: "by function" }).waitFor();
    // What it has not cannot be reached by keys.
    await page.locator("body").press("+");
    assert.doesNotMatch(page.url(), /n=21/);
    await page.goto(`${evolution}?n=7`);
    await page.locator(".evolution .error", { hasText: "This is not in the report" }).waitFor();
    await page.getByRole("radio", { name: "Type", exact: true }).waitFor();
  } finally {
    await close();
  }
});

for (const { width, height, dark } of SCREENS) {
  test(`it is readable at ${width} wide, ${dark ? "dark" : "light"}`, async () => {
    await withPage(HEAPS, "#/evolution/0?lines=live,heap,compactions", async (page) => {
      await ready(page);
      await settled(page);
      await picture(page, `evolution-${width}-${dark ? "dark" : "light"}`);
    }, { width, height, dark });
  });
}
