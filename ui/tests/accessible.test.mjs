/**
 * Everyone can use the page: axe finds nothing serious in any view, light or dark, wide or on a phone, where nothing is wider
 * than the screen; keys reach what the mouse reaches; fingers do what the pointer does.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { answered, FIXTURES, newPage, picture, serve } from "./page.mjs";

const numbers = readdirSync(FIXTURES).flatMap((name) => /^leaky\.(\d+)\.heap$/.exec(name)?.[1] ?? []).map(Number).sort((a, b) => a - b);
const HEAPS = [numbers[0], numbers[Math.floor(numbers.length / 2)], numbers.at(-1)].map((number) => `leaky.${number}.heap`);
const FILES = ["before.ctf", "leaky.ctf", ...HEAPS, "observed.live"];
const [TRACE, HEAP, LIVE] = [1, 4, 5];

const ENTRY = "Leaky_cache.Cache.entry";
/** Every view and tab, with what can be opened in them. */
const PLACES = [
  "overview/0",
  ...["flame", "flame?way=up&in=Leaky_cache.serve&live-in=0.1s..0.3s", "flame?focus=Leaky_cache.serve", "functions", "sites?source=leaky_cache.ml:20",
    "paths?path=0", "modules", "files", "lifetimes", "diff"].map((part) => `trace/${TRACE}/${part}`),
  ...["findings", "blocks", "blocks?type=string", "compare", "roots", "roots?node=Leaky_cache", "dominators", "dominators?as=icicle", "dominators?as=treemap", `types?q=Leaky&fields=${ENTRY}&cut=${ENTRY}`, "modules",
    "functions", "sites", "tags", "paths", `paths?what=${ENTRY}`, "graph", "collections", "duplicates", "finalisers"].map((part) => `heap/${HEAP}/${part}`),
  "evolution/2?stayed=1&lines=live,heap",
  ...["", "/observers?observer=level", "/sites", "/log"].map((part) => `live/${LIVE}${part}`),
];

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds that is serious, in words. Rows are alike: the first ones of each table tell of all. */
function complaints(page) {
  return page.evaluate(async () => {
    const few = { include: [["html"]], exclude: [["tr:nth-child(n + 4)"], [".legend li:nth-child(n + 4)"], [".suggestions li:nth-child(n + 4)"]] };
    const { violations } = await globalThis.axe.run(few, { resultTypes: ["violations"], preload: false, iframes: false });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.slice(0, 4).map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary.split("\n").slice(1).join(" ")}`));
  });
}

let url;
let server;
before(async () => ({ url, server } = await serve(...FILES)));
after(() => server.kill("SIGINT"));

/** A page on a place; whatever it complains about makes the test fail. */
async function on(place, options, test) {
  const { page, close } = await newPage(options);
  try {
    await page.goto(`${url}#/${place}`);
    await page.locator("main#view").waitFor();
    await answered(page);
    await test(page);
  } finally {
    await close();
  }
}

const PHONE = { width: 390, height: 844, touch: true };
const DESK = { width: 1280, height: 800 };
const WHOLE = process.env.BACTRIAN_TEST === "all";
/** As in page.mjs: what is wrong depends on the width or on the scheme, not on both together, so all four are for releases. */
const SCREENS = [DESK, { ...PHONE, dark: true }, ...(WHOLE ? [{ ...DESK, dark: true }, PHONE] : [])];

for (const [at, screen] of SCREENS.entries()) {
  // Tabs of a view share their frame and their tables, so otherwise the one screen has every other place.
  const places = PLACES.filter((_, place) => WHOLE || place % 2 === at);
  test(`every view can be read and used by everyone at ${screen.width}, ${screen.dark ? "dark" : "light"}`, async () => {
    await on(PLACES[0], screen, async (page) => {
      // Not as a script of the page, which its policy forbids.
      await page.evaluate(AXE);
      const wrong = [];
      const look = async (what) => {
        const found = await complaints(page);
        const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
        if (wide > screen.width) found.push(`it is ${wide} wide`);
        wrong.push(...found.map((one) => `${what}: ${one}`));
      };
      const go = async (place) => {
        await page.evaluate((place) => (location.hash = `#/${place}`), place);
        await answered(page);
      };
      for (const place of places) {
        await go(place);
        await look(place);
      }
      // What opens above the views.
      await go(`trace/${TRACE}/flame`);
      await page.getByTestId("export").locator("summary").click();
      await look("the export menu");
      await page.keyboard.press("Escape");
      await page.keyboard.press("+");
      await page.getByRole("menu").waitFor();
      await look("the menu of filters");
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await page.locator("dialog.help").waitFor();
      await look("the help");
      assert.deepEqual(wrong, []);
    });
  });
}

test("nothing is wider than a tablet", async () => {
  await on(PLACES[0], { width: 820, height: 1180, touch: true }, async (page) => {
    for (const place of ["overview/0", ...["flame", "sites?source=leaky_cache.ml:20", "diff"].map((part) => `trace/${TRACE}/${part}`), `heap/${HEAP}/types?node=Leaky_cache`, "evolution/2", `live/${LIVE}`]) {
      await page.evaluate((place) => (location.hash = `#/${place}`), place);
      await answered(page);
      assert.equal(await page.evaluate(() => document.scrollingElement.scrollWidth), 820, place);
    }
  });
});

test("Tab reaches everything, and one sees where one is", async () => {
  await on(`trace/${TRACE}/functions`, {}, async (page) => {
    const seen = new Set();
    for (let step = 0; step < 40; step++) {
      await page.keyboard.press("Tab");
      const { what, outline } = await page.evaluate(() => {
        const element = document.activeElement;
        const { outlineStyle, outlineWidth } = getComputedStyle(element);
        return { what: element.dataset.testid ?? element.className ?? element.tagName, outline: `${outlineStyle} ${outlineWidth}` };
      });
      assert.equal(outline, "solid 2px", what);
      seen.add(what.split(" ")[0]);
    }
    for (const what of ["skip", "brush", "opens"]) assert.ok(seen.has(what), `${what} is not among ${[...seen]}`);
  });
});

test("what has the focus gets Enter, Space and arrows, whatever keys the view has", async () => {
  await on(`heap/${HEAP}/types`, {}, async (page) => {
    await page.locator(".tabs a", { hasText: "Dominators" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/dominators/);
    await answered(page);
    // Choices are one stop, and arrows choose.
    await page.getByRole("radio", { name: "Table" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.getByTestId("icicle").waitFor();
    assert.ok(await page.getByRole("radio", { name: "Icicle" }).evaluate((radio) => radio === document.activeElement));
    await page.keyboard.press("ArrowLeft");
    await page.locator(".table tbody tr").first().waitFor();
    // Keys of the table put the focus on its rows.
    await page.keyboard.press("j");
    await page.locator(".table tbody tr:focus").waitFor();
  });
  // A table beside something that has the keys: they are the table's while one is in it.
  await on(`trace/${TRACE}/diff`, {}, async (page) => {
    const rows = page.locator(".part tbody tr");
    assert.equal(await rows.first().getAttribute("tabindex"), "0");
    await rows.first().focus();
    await page.keyboard.press("ArrowDown");
    await page.locator(".part tbody tr:nth-child(2):focus").waitFor();
    const name = await rows.nth(1).locator(".named .text").textContent();
    await page.keyboard.press("Enter");
    await page.waitForURL(/focus=/);
    assert.equal(await page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("focus")), name);
  });
});

test("nothing moves if reduced motion is preferred", async () => {
  await on(`trace/${TRACE}/flame`, {}, async (page) => {
    const moves = () =>
      page.evaluate(() => {
        document.querySelector(".flame").classList.add("stale");
        return getComputedStyle(document.querySelector(".flame")).transitionDuration;
      });
    assert.equal(await moves(), "0.2s");
    await page.emulateMedia({ reducedMotion: "reduce" });
    assert.equal(await moves(), "0s");
    await page.emulateMedia({ reducedMotion: null });
  });
});

test("tables are cards on a phone: cells have their names, and the head sorts", async () => {
  await on(`trace/${TRACE}/functions`, PHONE, async (page) => {
    const first = page.locator(".part tbody tr").first();
    const labels = await first.locator("td").evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell, "::before").content));
    assert.deepEqual(labels, ["none", '"self"', '"self %"', '"total"', '"total %"']);
    const [card, name] = [await first.boundingBox(), await first.locator("td.heading").boundingBox()];
    assert.ok(name.width > card.width * 0.9, "the name is the heading");
    assert.equal(await first.getAttribute("role"), "row");
    await page.locator(".part th button", { hasText: /^function/ }).tap();
    await page.waitForURL(/sort=name/);
    await answered(page);
    const names = await page.locator(".part tbody .named .text").allTextContents();
    assert.ok(names.length > 3 && names[0] <= names[1], names.join());
    await picture(page, "phone-functions");
  });
});

/** Fingers on the screen, as the browser has them from it: each step has the places of all. */
async function fingers(page, ...steps) {
  const session = await page.context().newCDPSession(page);
  const points = (step) => step.map(([x, y], id) => ({ x, y, id }));
  await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: points(steps[0]) });
  for (const step of steps.slice(1)) await session.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: points(step) });
  await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await session.detach();
}

/** Waits until the page has come to rest, and says how far it is scrolled. */
const rest = (page) =>
  page.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (let [last, still] = [-1, 0]; still < 5; still = scrollY === last ? still + 1 : 0) {
      last = scrollY;
      await frame();
    }
    return scrollY;
  });

/** Places on a straight way. */
const way = ([x, y], [toX, toY], steps = 8) => Array.from({ length: steps + 1 }, (_, at) => [x + ((toX - x) * at) / steps, y + ((toY - y) * at) / steps]);

test("a tap on the flame graph selects and tells, a second one zooms", async () => {
  await on(`trace/${TRACE}/flame`, PHONE, async (page) => {
    const canvas = page.getByTestId("flame");
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    const [x, y] = [box.x + 40, box.y + 50];
    await page.touchscreen.tap(x, y);
    const name = page.getByTestId("frame").locator(".name");
    await name.waitFor();
    const tip = page.locator(".flame .tip");
    assert.ok(await tip.isVisible());
    assert.equal(await tip.locator("strong").textContent(), await name.textContent());
    assert.doesNotMatch(page.url(), /at=/);
    assert.deepEqual(await canvas.boundingBox(), box, "nothing moved under the finger");
    await picture(page, "phone-flame");
    const selected = await name.textContent();
    await page.touchscreen.tap(x, y);
    await page.waitForURL(/at=/);
    await answered(page);
    assert.equal(await page.getByTestId("breadcrumb").locator("b").textContent(), selected);
    // Fingers that are drawn together zoom out, and apart in again.
    await canvas.scrollIntoViewIfNeeded();
    const at = (await canvas.boundingBox()).y + 30;
    await fingers(page, ...way([90, 0], [20, 0]).map(([half]) => [[195 - half, at], [195 + half, at]]));
    await page.waitForFunction((old) => document.querySelector(".breadcrumb b")?.textContent !== old, selected);
    await answered(page);
    await canvas.scrollIntoViewIfNeeded();
    const outer = page.url();
    const below = (await canvas.boundingBox()).y + 30;
    await fingers(page, ...way([20, 0], [90, 0]).map(([half]) => [[100 - half, below], [100 + half, below]]));
    await page.waitForFunction((old) => location.href !== old, outer);
  });
});

test("a finger selects time sideways, and scrolls the page up and down", async () => {
  await on(`trace/${TRACE}/functions`, PHONE, async (page) => {
    const box = await page.locator(".timeline .u-over").boundingBox();
    const [y, left, right] = [box.y + box.height / 2, box.x + box.width * 0.2, box.x + box.width * 0.7];
    await fingers(page, ...way([left, y], [left + 5, y - 120]).map((point) => [point]));
    await page.waitForFunction(() => scrollY > 50);
    assert.equal(await page.locator(".chip").count(), 0, "scrolling selects nothing");
    await rest(page);
    await page.evaluate(() => scrollTo(0, 0));
    await fingers(page, ...way([left, y], [right, y + 3]).map((point) => [point]));
    await page.locator('.chip[data-filter="live-in"]').waitFor();
    assert.equal(await page.evaluate(() => scrollY), 0);
  });
});

test("two fingers zoom and move a graph, one scrolls the page, taps select and open", async () => {
  await on(`heap/${HEAP}/graph`, PHONE, async (page) => {
    const frame = page.locator(".links-picture .frame");
    await frame.evaluate((element) => element.scrollIntoView({ block: "center" }));
    const box = await frame.boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const world = async () => /translate\((\S+) (\S+)\) scale\((\S+)\)/.exec(await page.locator(".world").getAttribute("transform")).slice(1).map(Number);
    const [, , zoom] = await world();
    const scrolled = await page.evaluate(() => scrollY);
    const apart = (from, to) => way([from, 0], [to, 0]).map(([half]) => [[x - half, y - half], [x + half, y + half]]);
    await fingers(page, ...apart(30, 90));
    await page.waitForFunction((old) => Number(/scale\((\S+)\)/.exec(document.querySelector(".world").getAttribute("transform"))[1]) > 2 * old, zoom);
    await fingers(page, ...apart(90, 45));
    await page.waitForFunction((old) => Number(/scale\((\S+)\)/.exec(document.querySelector(".world").getAttribute("transform"))[1]) < 2 * old, zoom);
    assert.equal(await page.evaluate(() => scrollY), scrolled, "the page stays where it is");
    // One finger: sideways for the picture, up and down for the page.
    const before = await world();
    await fingers(page, ...way([x, y], [x + 80, y + 20]).map((point) => [point]));
    const moved = await world();
    assert.ok(moved[0] > before[0] + 40, `${moved} from ${before}`);
    await fingers(page, ...way([x, y], [x, y + 150]).map((point) => [point]));
    await page.waitForFunction((old) => scrollY < old - 50, scrolled);
    assert.deepEqual(await world(), moved);
    await rest(page);
    await page.evaluate((to) => scrollTo(0, to), scrolled);
    await page.getByRole("button", { name: "The whole picture" }).tap();
    const disc = page.locator(".drawn").nth(1);
    await disc.tap();
    await page.locator(".drawn.selected").waitFor();
    await picture(page, "phone-graph");
  });
});

test("the first tap on a treemap and on an area tells, the second goes down", async () => {
  await on(`heap/${HEAP}/dominators?as=treemap`, PHONE, async (page) => {
    const piece = page.locator('.piece[data-name="module Leaky_cache"]');
    const tap = () => piece.tap({ position: { x: 20, y: 8 } });
    await tap();
    await page.locator(".story", { hasText: "module Leaky_cache" }).waitFor();
    assert.doesNotMatch(page.url(), /at=/);
    await picture(page, "phone-treemap");
    await tap();
    await page.waitForURL(/at=/);
  });
  await on("evolution/2?by=module", PHONE, async (page) => {
    const canvas = page.locator(".evolution canvas");
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    const position = { x: box.width * 0.9, y: box.height * 0.86 };
    await canvas.tap({ position });
    await page.locator(".evolution .tip").waitFor();
    assert.doesNotMatch(page.url(), /by=function/);
    await picture(page, "phone-evolution");
    await canvas.tap({ position });
    await page.waitForURL(/by=function/);
  });
});
