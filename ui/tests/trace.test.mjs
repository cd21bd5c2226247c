/** The trace view in a real browser: every part, filters against the command line, keys, the brush, links, export. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { answered, bactrian, newPage, picture, REPORT, REPORTED, result, withPage, SCREENS } from "./page.mjs";

const ONE = ["leaky.ctf"];
const TWO = ["before.ctf", "leaky.ctf"];

/** The command that the page says prints what is shown under this title. */
async function commandOf(page, title) {
  const menu = page.getByTestId("export");
  await menu.locator("summary").click();
  const command = await menu.locator("section", { hasText: title }).first().getByTestId("command").textContent();
  await menu.locator("summary").click();
  return command;
}

/** Waits until nothing is on its way. */
async function settled(page) {
  await page.waitForFunction(() => !document.querySelector(".stale, .loading"));
}

/** What the status line says of the selected frame. */
const frame = (page) => page.getByTestId("frame").textContent();

const rowsOf = (page) => page.locator(".part tbody tr");

test("the first picture: size over time with its peak, and the flame graph", async () => {
  await withPage(ONE, "#/trace/0", async (page) => {
    await page.getByTestId("flame").waitFor();
    await page.getByTestId("timeline").locator("canvas").waitFor();
    const { peak } = bactrian("timeline", "leaky.ctf", "--json").result.all;
    assert.match(await page.getByTestId("peak").textContent(), new RegExp(`${(peak.value / 1e6).toPrecision(3)} MB`));
    const { all } = bactrian("top", "leaky.ctf", "--json").result;
    const total = await page.getByTestId("flame-total").getAttribute("title");
    assert.equal(total, `${Math.round(all.value).toLocaleString("en-GB")} bytes`);
    await picture(page, "trace-flame");
  });
});

test("a filter that is clicked changes the numbers as the command line's filter does", async () => {
  await withPage(ONE, "#/trace/0/functions?raw=&metric=allocated", async (page) => {
    const row = rowsOf(page).filter({ hasText: "List.map" }).first();
    await row.hover();
    await row.getByRole("button", { name: "only" }).click();
    await page.locator('.chip[data-filter="in"]').waitFor();
    await settled(page);
    assert.match(page.url(), /in=List\.map/);
    const command = await commandOf(page, "functions");
    assert.match(command, /--in[= ]'?List\.map'?/);
    const { rows } = result(command);
    const shown = await rowsOf(page).evaluateAll((all) => all.map((row) => row.querySelector(".named .text").textContent));
    assert.deepEqual(shown, rows.map(({ name }) => name));
    const first = await rowsOf(page).first().locator("td.number").first().textContent();
    const expected = rows[0].self.value;
    assert.ok(first.startsWith(`${(expected / 1e6).toPrecision(3)} MB`), `${first} is ${expected}`);
    await picture(page, "trace-functions");
    await page.getByRole("button", { name: "Remove in List.map" }).click();
    await page.locator('.chip[data-filter="in"]').waitFor({ state: "detached" });
  });
});

test("filters are added from a menu, changed in place, and complaints stand at their chip", async () => {
  await withPage(ONE, "#/trace/0/functions", async (page, { wrong }) => {
    await page.getByTestId("timeline").waitFor();
    await page.keyboard.press("+");
    await page.getByRole("menuitem", { name: /^size/ }).click();
    await page.locator(".chip.adding input:focus").waitFor();
    await page.keyboard.type("64..1kB");
    await page.keyboard.press("Enter");
    await page.locator('.chip[data-filter="size"]').waitFor();
    await settled(page);
    const command = await commandOf(page, "functions");
    assert.match(command, /--size/);
    assert.equal(await rowsOf(page).count(), result(command).rows.length);
    // What is no size is refused, and the chip says so.
    await page.getByRole("button", { name: "Change size 64..1kB" }).click();
    await page.locator(".chip input:focus").waitFor();
    await page.keyboard.type("nonsense");
    await page.keyboard.press("Enter");
    await page.locator(".chip.wrong .complaint").waitFor();
    await picture(page, "trace-complaint");
    wrong.splice(0);
    await page.getByRole("button", { name: "clear all" }).click();
    await rowsOf(page).first().waitFor();
    // Names are completed.
    await page.keyboard.press("+");
    await page.getByRole("menuitem", { name: /^hide/ }).click();
    await page.locator(".chip.adding input:focus").waitFor();
    await page.keyboard.type("Leaky");
    await page.waitForFunction(() => [...document.querySelectorAll("datalist option")].some((o) => o.value.startsWith("Leaky_cache.")));
    await picture(page, "trace-adding");
    await page.keyboard.press("Escape");
  });
});

test("a flag, a heap and a lifetime as filters say what the command line says", async () => {
  await withPage(ONE, "#/trace/0/sites?live-at-end=&heap=minor&lifetime=1ms..&metric=objects", async (page) => {
    await rowsOf(page).first().waitFor();
    const command = await commandOf(page, "sites");
    for (const option of ["--live-at-end", "--heap", "--lifetime", "--metric"]) assert.ok(command.includes(option), command);
    const { rows, row_count } = result(command);
    assert.equal(await rowsOf(page).count(), rows.length);
    assert.ok(row_count > 0);
    // Objects are sums of fractions: what is equal but for the last digit may stand in another order.
    const names = await rowsOf(page).locator(".named .text").allTextContents();
    assert.deepEqual(names.sort(), rows.map(({ name }) => name).sort());
  });
});

test("brushing the time line drives every other part; keys move it; clearing clears it", async () => {
  await withPage(ONE, "#/trace/0/functions", async (page) => {
    const over = page.locator(".timeline .u-over");
    await over.waitFor();
    await rowsOf(page).first().waitFor();
    const box = await over.boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.locator('.chip[data-filter="live-in"]').waitFor();
    await settled(page);
    const before = await commandOf(page, "functions");
    assert.match(before, /--live-in/);
    const { rows } = result(before);
    assert.deepEqual(await rowsOf(page).locator(".named .text").allTextContents(), rows.map(({ name }) => name));
    await picture(page, "trace-brush");
    // Keys, after the new answer has been drawn.
    await page.keyboard.press("b");
    const value = () => page.locator('.chip[data-filter="live-in"] .value').textContent();
    const old = await value();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((old) => document.querySelector('.chip[data-filter="live-in"] .value')?.textContent !== old, old);
    await settled(page);
    await page.keyboard.press("Shift+ArrowRight");
    const ends = (text) => text.split("..").map(Number.parseFloat);
    await page.waitForFunction(
      (old) => Number.parseFloat(document.querySelector('.chip[data-filter="live-in"] .value').textContent.split("..")[1]) > old + 0.02,
      ends(old)[1],
    );
    assert.ok(ends(await value())[0] > ends(old)[0]);
    assert.match(await page.getByTestId("selection").innerText(), /^only what was alive between .* and .*$/);
    // Measure is said in one place: of what was allocated, a selection asks what was allocated then.
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await page.locator('.chip[data-filter="live-in"]').waitFor({ state: "detached" });
    await page.getByRole("radiogroup", { name: "Measure" }).getByRole("radio", { name: "Allocated" }).click();
    await page.getByRole("heading", { name: "Allocated over time" }).waitFor();
    assert.match(await page.getByTestId("selection").innerText(), /select what was allocated then/);
    await settled(page);
    await page.keyboard.press("b");
    await page.keyboard.press("ArrowRight");
    await page.locator('.chip[data-filter="allocated"]').waitFor();
    await settled(page);
    await page.keyboard.press("z");
    await page.getByRole("button", { name: "Zoom out" }).waitFor();
    await settled(page);
    assert.match(page.url(), /from=/);
    await page.keyboard.press("z");
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await page.locator('.chip[data-filter="allocated"]').waitFor({ state: "detached" });
  });
});

test("keys walk through the flame graph, zoom, hide, focus and come back", async () => {
  await withPage(ONE, "#/trace/0/flame", async (page) => {
    await page.getByTestId("flame").waitFor();
    for (let step = 0; step < 5; step++) await page.keyboard.press("ArrowDown");
    const name = (await page.locator(".frame-bar .name").textContent()).trim();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("at="));
    await settled(page);
    assert.equal(await page.getByTestId("breadcrumb").locator("b").textContent(), name);
    await answered(page);
    await picture(page, "trace-flame-zoomed");
    await page.keyboard.press("Backspace");
    await page.waitForFunction((name) => document.querySelector(".breadcrumb b")?.textContent !== name, name);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("at="));
    // Callers and callees.
    await page.keyboard.press("f");
    await page.getByTestId("callers").waitFor();
    const focus = await page.getByTestId("focus").textContent();
    assert.equal(focus, await page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("focus")));
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await picture(page, "trace-around");
    await page.keyboard.press("Enter");
    await page.waitForFunction((old) => document.querySelector('[data-testid="focus"]')?.textContent !== old, focus);
    await page.keyboard.press("Escape");
    await page.getByTestId("breadcrumb").waitFor();
    await settled(page);
    for (let step = 0; step < 5; step++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("h");
    await page.locator('.chip[data-filter="hide"]').waitFor();
    await settled(page);
    await page.keyboard.press("w");
    await page.waitForFunction(() => location.hash.includes("way=up"));
    await page.keyboard.press("3");
    await page.locator('[data-part="sites"]').waitFor();
  });
});

test("searching, by word and by expression, says how much was found", async () => {
  await withPage(ONE, "#/trace/0/flame?raw=&metric=allocated", async (page) => {
    await page.getByTestId("flame").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("/^(List|Map)[.]/");
    await page.getByTestId("matched").waitFor();
    const matched = await page.getByTestId("matched").textContent();
    assert.match(matched, /\d+ frames, \d+\.\d %/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("n");
    assert.match(await frame(page), /(List|Map)[.]/);
    await picture(page, "trace-search");
    const search = page.getByRole("searchbox");
    await search.fill("/(/");
    await page.getByTestId("matched").getByText("not a regular expression").waitFor();
  });
});

test("pointing at a frame tells its numbers in full, clicking zooms", async () => {
  await withPage(ONE, "#/trace/0/flame?raw=&metric=allocated", async (page) => {
    const canvas = page.getByTestId("flame");
    await canvas.waitFor();
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + 30, box.y + 90);
    const tip = page.locator(".tip");
    await tip.waitFor();
    assert.match(await tip.textContent(), /\d bytes/);
    const name = await tip.locator("strong").textContent();
    await page.mouse.click(box.x + 30, box.y + 90);
    await page.waitForFunction((name) => document.querySelector(".breadcrumb b")?.textContent === name, name);
    await page.getByTestId("breadcrumb").getByRole("button").first().click();
    await page.waitForFunction(() => !location.hash.includes("at="));
  });
});

test("a link opened elsewhere shows the same", async () => {
  await withPage(ONE, "#/trace/0/flame?metric=live&by=site&way=up&q=List&in=Leaky_cache.serve&live-in=0.1s..", async (page) => {
    await page.getByTestId("flame").waitFor();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("at="));
    await settled(page);
    const told = (page) => page.locator(".flame-head, .chips, .matched").allTextContents();
    const other = await newPage();
    await other.page.goto(page.url());
    await other.page.getByTestId("flame").waitFor();
    await settled(other.page);
    assert.deepEqual(await told(other.page), await told(page));
    assert.equal(await other.page.getByRole("radio", { name: "Live at end" }).getAttribute("aria-checked"), "true");
    await other.close();
  });
});

test("sites with their source beside them, hot paths, modules, files, lifetimes", async () => {
  await withPage(ONE, "#/trace/0/sites?raw=&metric=allocated", async (page) => {
    await rowsOf(page).filter({ hasText: "leaky_cache.ml" }).first().click();
    await page.locator(".source tr.here").waitFor();
    const text = readFileSync(`${process.env.BACTRIAN_FIXTURES}/leaky_cache.ml`, "utf8").split("\n");
    const line = Number(/leaky_cache\.ml:(\d+)/.exec(decodeURIComponent(page.url()))[1]);
    assert.equal(await page.locator(".source tr.here code").textContent(), text[line - 1]);
    assert.match(await page.locator(".source tr.here").textContent(), /[kM]?B/);
    await picture(page, "trace-sites-source");
    await page.getByRole("button", { name: "Close the source" }).click();

    await page.keyboard.press("4");
    await rowsOf(page).first().waitFor();
    await settled(page);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator("ol.stack").waitFor();
    await picture(page, "trace-paths");

    await page.keyboard.press("5");
    await page.locator('[data-part="modules"] tbody tr').first().waitFor();
    await settled(page);
    await picture(page, "trace-modules");
    await page.keyboard.press("6");
    await page.locator('[data-part="files"] tbody tr').first().waitFor();
    await settled(page);
    await rowsOf(page).filter({ hasText: "list.ml" }).first().click();
    await page.locator('.chip[data-filter="in-file"]').waitFor();

    await page.keyboard.press("7");
    await page.locator(".heat tbody tr").first().waitFor();
    await settled(page);
    const command = await commandOf(page, "lifetimes");
    const { all } = result(command);
    const told = await page.locator(".heat tbody tr").first().locator("td.number").first().textContent();
    assert.ok(told.startsWith(`${(all.allocated.value / 1e6).toPrecision(3)} MB`), told);
    await picture(page, "trace-lifetimes");
  });
});

test("two traces compared, in red and blue and as a table", async () => {
  await withPage(TWO, "#/trace/0/diff", async (page) => {
    await page.getByTestId("flame").waitFor();
    await rowsOf(page).first().waitFor();
    const command = await commandOf(page, "change by function");
    assert.match(command, /^bactrian diff before\.ctf leaky\.ctf/);
    const { rows, significant } = result(command);
    assert.equal(await rowsOf(page).count(), rows.length);
    assert.match(await page.getByTestId("diff-all").textContent(), new RegExp(`${significant} of`));
    const sure = rows.filter((row) => row.self.significant).length;
    assert.equal(await page.locator(".sure").count(), sure);
    await picture(page, "trace-diff");
    await page.locator(".part tbody tr").first().scrollIntoViewIfNeeded();
    await picture(page, "trace-diff-table");
    // The other way round, what grew has shrunk.
    const grown = await page.getByTestId("diff-all").locator(".changed").textContent();
    await page.keyboard.press("v");
    await page.waitForFunction((old) => document.querySelector('[data-testid="diff-all"] .changed')?.textContent !== old, grown);
    assert.match(await commandOf(page, "change by function"), /^bactrian diff leaky\.ctf before\.ctf/);
  });
});

test("what is shown can be taken away: SVG, PNG, CSV", async () => {
  await withPage(ONE, "#/trace/0/flame", async (page) => {
    await page.getByTestId("flame").waitFor();
    const menu = page.getByTestId("export");
    await menu.locator("summary").click();
    const part = menu.locator("section", { hasText: "flame graph" });
    const saved = async (kind) => {
      const [download] = await Promise.all([page.waitForEvent("download"), part.getByRole("button", { name: kind }).click()]);
      return readFileSync(await download.path());
    };
    const svg = (await saved("SVG")).toString();
    assert.match(svg, /^<svg/);
    assert.match(svg, /Leaky_cache\.serve/);
    assert.equal((await saved("PNG")).subarray(1, 4).toString(), "PNG");
    const csv = (await saved("CSV")).toString().trim().split("\n");
    const { all } = bactrian("top", "leaky.ctf", "--json").result;
    assert.equal(Number(csv[1].split(",")[4]), all.value);
    await picture(page, "trace-export");
  });
});

test("names from hostile files are only text, in every part, beside the pointer and in pictures", async () => {
  await withPage(["hostile.ctf"], "#/trace/0/flame", async (page) => {
    const canvas = page.getByTestId("flame");
    await canvas.waitFor();
    const elements = () => page.locator("main script, main img, main iframe, main svg, main [onerror], main [onload]").count();
    const box = await canvas.boundingBox();
    for (let level = 0; level < 5; level++) await page.mouse.move(box.x + 20, box.y + 10 + level * 20);
    for (let step = 0; step < 4; step++) await page.keyboard.press("ArrowDown");
    assert.equal(await elements(), 0);
    await page.keyboard.press("i");
    await page.locator('.chip[data-filter="in"]').waitFor();
    await settled(page);
    await picture(page, "trace-hostile");
    const menu = page.getByTestId("export");
    await menu.locator("summary").click();
    const part = menu.locator("section", { hasText: "flame graph" });
    const [download] = await Promise.all([page.waitForEvent("download"), part.getByRole("button", { name: "SVG" }).click()]);
    // But for our own script, which is the same in all of them.
    const [before, script, after] = readFileSync(await download.path(), "utf8").split(/(<script><!\[CDATA\[[\s\S]*)(?=\]\]><\/script>\n<\/svg>\n$)/);
    assert.doesNotMatch(before + after, /<(script|img|iframe|foreignObject)|\son\w+="/i);
    assert.equal(script.replace("<script><![CDATA[\n", ""), readFileSync(new URL("../src/pictures/flame-file.script.js", import.meta.url), "utf8"));
    await menu.locator("summary").click();
    await page.getByRole("button", { name: "clear all" }).click();
    for (const [key, part] of [["2", "functions"], ["3", "sites"], ["4", "paths"], ["5", "modules"], ["6", "files"], ["7", "lifetimes"]]) {
      await page.keyboard.press(key);
      await page.locator(`[data-part="${part}"] tbody tr`).first().waitFor();
      await settled(page);
      assert.equal(await elements(), 0, part);
    }
  });
});

test("a report shows every part that it has, and says where it has none", async () => {
  const { page, close } = await newPage();
  await page.goto(`${REPORT}#/trace/${REPORTED.traces[0]}/flame`);
  await page.getByTestId("flame").waitFor();
  await page.getByTestId("timeline").locator("canvas").waitFor();
  assert.ok(await page.getByRole("button", { name: "+ Filter" }).isDisabled());
  for (let step = 0; step < 5; step++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByTestId("breadcrumb").getByRole("button").first().waitFor();
  await picture(page, "trace-report");
  for (const [key, part] of [["2", "functions"], ["3", "sites"], ["4", "paths"], ["5", "modules"], ["6", "files"], ["7", "lifetimes"], ["8", "diff"]]) {
    await page.keyboard.press(key);
    await page.locator(`[data-part="${part}"] tbody tr`).first().waitFor();
    await settled(page);
    assert.equal(await page.locator(".part [role=alert]").count(), 0, part);
  }
  await page.goto(`${REPORT}#/trace/${REPORTED.traces[0]}/functions?in=Leaky_cache.serve`);
  await page.locator(".part [role=alert]").getByText("This is not in the report").waitFor();
  await close();
});

for (const { width, height, dark } of SCREENS) {
  test(`it is readable at ${width}, ${dark ? "dark" : "light"}`, async () => {
    await withPage(TWO, "#/trace/0/flame?in=Leaky_cache.serve&live-in=0.2s..0.4s", async (page) => {
      const name = (part) => `trace-${part}-${width}-${dark ? "dark" : "light"}`;
      await page.getByTestId("flame").waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await settled(page);
      // Nothing sticks out at the side.
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await picture(page, name("flame"));
      await page.keyboard.press("3");
      await rowsOf(page).first().waitFor();
      await settled(page);
      await picture(page, name("sites"));
      await page.keyboard.press("8");
      await page.getByTestId("flame").waitFor();
      await settled(page);
      await picture(page, name("diff"));
    }, { width, height, dark });
  });
}
