/**
 * GC parameters: the recommendation with its lines, its prediction beside its measurement, time against memory, both by s and o.
 * Every number is that of `bactrian gc FILE --json`. The file is a kept result of a compiler (4.13) that compiles a large module,
 * without samples.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { answered, BACTRIAN, bactrian, newPage, picture, result, withPage } from "./page.mjs";

const COMPILER = new URL("../../crates/advice/tests/fixtures/compiler.gc", import.meta.url).pathname;
const kept = JSON.parse(readFileSync(COMPILER, "utf8"));

const folder = mkdtempSync(join(tmpdir(), "bactrian-gc-"));
after(() => rmSync(folder, { recursive: true }));

/** A file made of the kept result. */
function changed(name, change) {
  const path = join(folder, name);
  const copy = structuredClone(kept);
  change(copy);
  writeFileSync(path, JSON.stringify(copy));
  return path;
}

const HOSTILE = "<img src=x onerror=alert(1)>";
/** Two programs: the second takes half again as long, and its name is an attack. */
const TWO = changed("two.gc", (copy) => {
  const second = structuredClone(copy.subjects[0]);
  second.command[0] = HOSTILE;
  for (const { measured } of second.runs) for (const clock of ["wall", "cpu"]) measured[clock] *= 1.5;
  copy.subjects.push(second);
});

const all = bactrian("gc", COMPILER, "--json").result;
const [answer] = all.answers;
const { recommended, map } = answer;
const words = (s) => (s % 2 ** 20 === 0 ? `${s / 2 ** 20}M` : s % 1024 === 0 ? `${s / 1024}k` : String(s));
const name = ({ s, o }) => `s=${words(s)},o=${o}`;
const cells = map.rows.flat();
const chosen = name(recommended.choice.cell.setting);

const on = (hash, look, options = {}, file = COMPILER) => withPage([file], hash, look, options);
const shownFirst = async (page) => {
  await page.getByTestId("front").waitFor();
  await answered(page);
};

test("the first screen says what to set, and how well it was predicted", async () => {
  await on("", async (page) => {
    await shownFirst(page);
    // With nothing but a result, its view is the first, and views of other files are not there.
    assert.deepEqual(await page.locator("header.top nav a").allTextContents(), ["GC"]);
    assert.equal(await page.getByTestId("sentence").textContent(), answer.sentence);
    assert.match(answer.sentence, new RegExp(`^With ${chosen}, the program takes `));
    const line = await page.getByTestId("line-shell").textContent();
    assert.equal(line, `export OCAMLRUNPARAM='${recommended.ocamlrunparam}'`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy the line for shell" }).click();
    await page.getByText("copied", { exact: true }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), line);
    const run = answer.runs[recommended.verified_by];
    assert.equal(name(run.setting), chosen);
    const verified = page.locator(".gc-verified");
    const [, time] = await verified.locator("tr").all();
    const seconds = (text) => Number.parseFloat(text) * (/ ms/.test(text) ? 1e-3 : 1);
    const [now, predicted, measured] = (await time.locator("td").allTextContents()).map(seconds);
    for (const [shown, expected] of [[now, answer.present.time.value], [predicted, run.predicted.time.value], [measured, run.time]]) {
      assert.ok(Math.abs(shown - expected) <= 0.006 * expected, `${shown}, not ${expected}`);
    }
    assert.equal(/^as predicted$/.test(await page.getByTestId("verdict").textContent()), run.as_predicted);
    for (const sentence of answer.limits) await page.locator(".gc-list li", { hasText: sentence }).waitFor();
    assert.equal(await page.locator(".gc-findings li").count(), answer.findings.length);
    await picture(page, "gc");
  }, { width: 1440, height: 1000 });
});

test("a prediction that was right is said to be", async () => {
  const right = changed("right.gc", (copy) => {
    const { predicted } = copy.subjects[0].runs.find(({ predicted }) => predicted);
    for (const interval of [predicted.time, predicted.rss]) [interval.low, interval.high] = [interval.value * 0.8, interval.value * 1.2];
  });
  await on("#/gc/0", async (page) => {
    await shownFirst(page);
    assert.equal(await page.getByTestId("verdict").textContent(), "as predicted");
  }, {}, right);
});

test("every known setting is a mark, and runs differ from predictions", async () => {
  await on("#/gc/0", async (page) => {
    await shownFirst(page);
    const marks = await page.locator("[data-setting]").evaluateAll((all) => all.map(({ dataset }) => [dataset.setting, dataset.kind]));
    assert.deepEqual(marks.map(([setting]) => setting).sort(), answer.grid.map(({ setting }) => name(setting)).sort());
    const kinds = Object.fromEntries(marks);
    assert.equal(kinds[chosen], "recommended");
    assert.equal(kinds[name(answer.present.setting)], "present");
    for (const { setting, source } of cells.filter(({ source }) => source !== "unknown")) {
      const isRun = ["recommended", "present", "run"].includes(kinds[name(setting)]);
      assert.equal(isRun, source === "run", name(setting));
    }
    // The line of the front goes through each of its settings.
    const line = await page.getByTestId("front-line").getAttribute("d");
    assert.equal(line.split("L").length, answer.front.length);
  });
});

test("pointing, arrows and links show a setting everywhere", async () => {
  await on("#/gc/0", async (page) => {
    await shownFirst(page);
    const story = page.getByTestId("story");
    assert.match(await story.textContent(), new RegExp(`^${chosen}, recommended: `));
    const predicted = answer.grid.find(({ measured }) => !measured).setting;
    // The middle of its mark; nothing is kept by pointing.
    const mark = page.locator(`[data-setting="${name(predicted)}"]`);
    await mark.scrollIntoViewIfNeeded();
    const box = await mark.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.waitForFunction((name) => document.querySelector('[data-testid="story"]').textContent.startsWith(`${name}: `), name(predicted));
    assert.match(await story.textContent(), /by the model/);
    assert.doesNotMatch(page.url(), /at=/);
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await page.waitForURL(/at=/);
    assert.equal(new URLSearchParams(page.url().split("?")[1]).get("at"), name(predicted));
    // Both maps outline it.
    await page.mouse.move(1, 1);
    assert.equal(await page.locator(".gc-heat td.shown").count(), 2);
    const byMemory = answer.grid.toSorted((a, b) => a.rss.value - b.rss.value || a.time.value - b.time.value).map(({ setting }) => name(setting));
    await page.getByRole("group", { name: /Time and memory of/ }).focus();
    await page.keyboard.press("End");
    await page.waitForFunction((name) => document.querySelector('[data-testid="story"]').textContent.startsWith(name), byMemory.at(-1));
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction((name) => document.querySelector('[data-testid="story"]').textContent.startsWith(name), byMemory.at(-2));
    await page.reload();
    await shownFirst(page);
    assert.ok((await story.textContent()).startsWith(byMemory.at(-2)));
    // In the maps, arrows go from cell to cell.
    const grid = page.getByTestId("heat-rss");
    await grid.locator('td[tabindex="0"]').focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => document.activeElement.dataset.place?.endsWith(" 1"));
    const [row] = (await page.evaluate(() => document.activeElement.dataset.place)).split(" ").map(Number);
    assert.equal(new URLSearchParams(page.url().split("?")[1]).get("at"), name(map.rows[row][1].setting));
    // A row of the runs selects its setting.
    await page.getByRole("table", { name: "Runs" }).locator("tbody tr").first().click();
    await page.waitForFunction((name) => document.querySelector('[data-testid="story"]').textContent.startsWith(name), name(answer.runs[0].setting));
  });
});

test("maps mark what was run, and say where the model ends", async () => {
  await on("#/gc/0", async (page) => {
    await shownFirst(page);
    for (const [of, unit] of [["time", /s$/], ["rss", /B$/]]) {
      const shown = await page.getByTestId(`heat-${of}`).locator("td").evaluateAll((all) => all.map((cell) => ({ text: cell.textContent.trim(), kind: cell.className.trim().split(" ")[0], says: cell.getAttribute("aria-label"), colour: cell.style.backgroundColor })));
      assert.equal(shown.length, cells.length);
      shown.forEach(({ text, kind, says, colour }, at) => {
        const { setting, source } = cells[at];
        assert.ok(says.startsWith(name(setting)), says);
        assert.equal(/^[★■●] /.test(text), source === "run", text);
        assert.equal(text === "–", source === "unknown", text);
        assert.equal(colour === "", source === "unknown", text);
        if (source === "extrapolated") assert.match(says, /extrapolates beyond o from \d+ to \d+/);
        if (source === "unknown") assert.match(says, /no run had this s/);
        if (source !== "unknown") assert.match(text, unit);
        if (source !== "run") assert.equal(kind, source);
      });
    }
    const note = await page.getByTestId("map-note").textContent();
    assert.match(note, new RegExp(`fitted to o from ${map.fitted[0]} to ${map.fitted[1]}`));
    for (const source of ["run", "model", "extrapolated", "unknown"]) assert.ok(cells.some((cell) => cell.source === source), `no cell is ${source}`);
    await page.getByTestId("heat-time").scrollIntoViewIfNeeded();
    await picture(page, "gc-maps");
  });
});

test("another goal is answered from the same runs, as by the command", async () => {
  await on("#/gc/0", async (page, { url, wrong }) => {
    await shownFirst(page);
    await page.getByLabel("Goal").selectOption("10%");
    await page.waitForURL(/slower=10/);
    await answered(page);
    const told = await (await fetch(`${url}api/gc?file=0&slower=10%25`)).json();
    assert.deepEqual(told.result, result(told.command));
    assert.equal(await page.getByTestId("sentence").textContent(), told.result.answers[0].sentence);
    await page.getByLabel("Goal").selectOption("memory");
    const limit = page.getByRole("textbox", { name: "Limit" });
    await limit.fill("1kB");
    await limit.press("Enter");
    await page.waitForURL(/memory=1kB/);
    await page.getByText("no setting that was run attains the goal").waitFor();
    await limit.fill("much");
    await limit.press("Enter");
    assert.match(await page.getByRole("alert").textContent(), /memory: `much` is not a size/);
    // The browser complains of the status that says so.
    wrong.splice(0, wrong.length, ...wrong.filter((what) => !what.includes("400")));
    await page.getByLabel("Goal").selectOption("");
    await page.waitForFunction((expected) => document.querySelector('[data-testid="sentence"]')?.textContent === expected, answer.sentence);
  });
});

test("two programs are compared at equal memory and equal time", async () => {
  await on("#/gc/0", async (page) => {
    await shownFirst(page);
    const tabs = page.locator(".gc .tabs a");
    assert.deepEqual(await tabs.allTextContents(), [kept.subjects[0].command[0], HOSTILE, "Comparison"]);
    await tabs.nth(1).click();
    await page.locator(".gc-recommendation code", { hasText: HOSTILE }).first().waitFor();
    await tabs.nth(2).click();
    const { comparison } = bactrian("gc", TWO, "--json").result;
    const rows = await page.getByRole("table", { name: "Time in the same memory" }).locator("tbody tr").allTextContents();
    assert.equal(rows.length, comparison.at_same_memory.length);
    assert.match(rows[0], /\+50\.0 %/);
    await picture(page, "gc-comparison");
  }, {}, TWO);
});

test("a report has all of it, and needs neither a network nor bactrian", async () => {
  const path = join(folder, "report.html");
  execFileSync(BACTRIAN, ["report", COMPILER, "-o", path], { stdio: "ignore" });
  const { page, close } = await newPage();
  await page.context().setOffline(true);
  await page.goto(pathToFileURL(path).href);
  await shownFirst(page);
  assert.equal(await page.getByTestId("sentence").textContent(), answer.sentence);
  await page.getByLabel("Goal").selectOption("5%");
  await page.waitForFunction(() => /at most 5/.test(document.querySelector(".gc-recommendation").textContent));
  await close();
});

test("a file that is no sound result is refused with the reason", () => {
  const impossible = changed("impossible.gc", (copy) => (copy.subjects[0].runs[1].measured.wall = -1));
  const later = changed("later.gc", (copy) => (copy.version = 9));
  const cut = join(folder, "cut.gc");
  writeFileSync(cut, readFileSync(COMPILER).subarray(0, 300));
  for (const [path, why] of [[impossible, /run 2: a time of -1 s/], [later, /version 9/], [cut, /not a result of `bactrian gc`/]]) {
    for (const args of [["view", path], ["report", path, "-o", join(folder, "none.html")]]) {
      const { status, stderr } = spawnSync(BACTRIAN, args, { encoding: "utf8" });
      assert.equal(status, 3, `${args[0]} ${path}: ${stderr}`);
      assert.match(stderr, why);
    }
  }
});

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** As in page.mjs: all four before a release. */
const SCREENS = [
  { width: 390, height: 844, touch: true, dark: true },
  { width: 1440, height: 900, dark: false },
  ...(process.env.BACTRIAN_TEST === "all" ? [{ width: 390, height: 844, touch: true, dark: false }, { width: 1440, height: 900, dark: true }] : []),
];

for (const screen of SCREENS) {
  test(`everyone can read and use it at ${screen.width}, ${screen.dark ? "dark" : "light"}`, async () => {
    await on("#/gc/0", async (page) => {
      await shownFirst(page);
      await page.evaluate(AXE);
      for (const place of ["#/gc/0", "#/gc/0/comparison"]) {
        await page.evaluate((place) => (location.hash = place), place);
        await answered(page);
        for (const details of await page.locator(".gc details").all()) await details.evaluate((element) => (element.open = true));
        const found = await page.evaluate(async () => {
          const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], preload: false, iframes: false });
          return violations.filter(({ impact }) => impact === "serious" || impact === "critical").flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ target, failureSummary }) => `${id}: ${target}: ${failureSummary}`));
        });
        assert.deepEqual(found, [], place);
        const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
        assert.ok(wide <= screen.width, `${place} is ${wide} wide`);
      }
      if (!screen.touch) return;
      await page.evaluate(() => (location.hash = "#/gc/0"));
      await shownFirst(page);
      // A tap near a mark shows its setting.
      const mark = page.locator('[data-kind="present"]');
      await mark.scrollIntoViewIfNeeded();
      const box = await mark.boundingBox();
      await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
      await page.waitForFunction((name) => document.querySelector('[data-testid="story"]').textContent.startsWith(name), name(answer.present.setting));
      await picture(page, "gc-phone");
    }, screen, TWO);
  });
}
