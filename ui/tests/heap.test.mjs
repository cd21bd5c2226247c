/** The heap view: each tab on a leaky program's last snapshot, compared with what the command line says. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { FIXTURES, bactrian, newPage, picture, REPORT, REPORTED, result, withPage } from "./page.mjs";

/** The last snapshot of the leaky program; how many there are depends on the machine. */
const numbers = readdirSync(FIXTURES).flatMap((name) => /^leaky\.(\d+)\.heap$/.exec(name)?.[1] ?? []);
const LAST = `leaky.${Math.max(...numbers.map(Number))}.heap`;

/** Nothing is loading any more. */
async function settled(page) {
  await page.waitForFunction(() => document.querySelector("main#view") && !document.querySelector(".loading, .stale"));
}

/** What the page asked for last by this name, and what it was told. */
async function asked(page, name, go) {
  const wanted = page.waitForResponse((response) => new URL(response.url()).pathname.endsWith(`/api/${name}`) && response.ok());
  await go();
  const answer = await (await wanted).json();
  await settled(page);
  return answer;
}

/** Goes to a place and gives the answer that it shows; the command line says the same. */
async function told(page, url, name, hash) {
  await page.goto("about:blank");
  const answer = await asked(page, name, () => page.goto(`${url}${hash}`));
  assert.deepEqual(answer.result, result(answer.command), answer.command);
  return answer.result;
}

const texts = (page, selector) => page.locator(selector).allTextContents();

test("roots with three sizes, as the command line has them", async () => {
  await withPage([LAST], "#/heap/0", async (page, { url }) => {
    const roots = await told(page, url, "heap/roots", "#/heap/0/roots");
    assert.deepEqual(roots, bactrian("heap", "roots", LAST, "--json").result);
    const names = await texts(page, ".table tbody .what");
    assert.ok(names.includes("Leaky_cache") && names[0] === "all roots", names.join());
    await picture(page, "heap-roots");
    // Keys: down to the kind of roots, close it, open the inspector on it.
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("ArrowLeft");
    await page.locator(".table .what", { hasText: /^Leaky_cache$/ }).waitFor({ state: "detached" });
    await page.keyboard.press("ArrowRight");
    await page.locator(".table .what", { hasText: /^Leaky_cache$/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByTestId("inspector").waitFor();
    assert.match(page.url(), /node=%40\d+/);
    await settled(page);
    await picture(page, "heap-inspector-root");
    await page.keyboard.press("Escape");
    await page.getByTestId("inspector").waitFor({ state: "detached" });
    await page.getByRole("radio", { name: "Fields, frames" }).click();
    await page.locator(".table .what", { hasText: "entries" }).waitFor();
  });
});

test("dominators open row by row, and descend as icicle and treemap", async () => {
  await withPage([LAST], "#/heap/0", async (page, { url }) => {
    const tree = await told(page, url, "heap/dominators", "#/heap/0/dominators");
    assert.equal(tree.total, bactrian("heap", "roots", LAST, "--json").result.all.retained);
    await picture(page, "heap-dominators-table");
    // What the first answer left out is asked for.
    const before = await page.locator(".table tbody tr").count();
    const more = await asked(page, "heap/dominators", () => page.locator(".table tbody tr", { hasText: "more" }).last().click());
    assert.deepEqual(more.result, result(more.command));
    await page.waitForFunction((before) => document.querySelectorAll(".table tbody tr").length > before, before);

    await page.getByRole("radio", { name: "Icicle" }).click();
    await page.getByTestId("icicle").waitFor();
    await picture(page, "heap-dominators-icicle");
    const below = await asked(page, "heap/dominators", () => page.locator('.piece[data-name="module Leaky_cache"]').click());
    assert.equal(below.result.rows[0].what, "module Leaky_cache");
    assert.deepEqual(below.result, result(below.command));
    assert.match(await page.locator(".crumbs").innerText(), /all roots.*module Leaky_cache/s);
    // With keys: to the first child, down to it, which has no number of its own, and up again.
    await page.keyboard.press("ArrowDown");
    const child = await asked(page, "heap/dominators", () => page.keyboard.press("Enter"));
    assert.deepEqual(child.result, result(child.command));
    assert.match(child.command, /--below/);
    await page.keyboard.press("Backspace");
    await page.waitForFunction(() => /Leaky_cache$/.test(document.querySelector(".crumbs")?.textContent ?? ""));

    await page.goto(`${url}#/heap/0/dominators?as=treemap`);
    await page.getByTestId("treemap").waitFor();
    await settled(page);
    await picture(page, "heap-dominators-treemap");
    await page.goBack();
    await page.goto(`${url}#/heap/0/dominators?blocks=&at=${encodeURIComponent("@" + tree.rows[0].rows[0].node)}`);
    await settled(page);
    await picture(page, "heap-dominators-blocks");
  });
});

test("from modules to functions, sites and types, as far as samples tell", async () => {
  await withPage([LAST], "#/heap/0", async (page, { url }) => {
    const modules = await told(page, url, "heap/classes", "#/heap/0/modules");
    await picture(page, "heap-modules");
    assert.ok(modules.rows.length > 0, "the fixture is sampled");
    let answer = { result: modules };
    for (const next of ["functions", "sites", "types"]) {
      const first = answer.result.rows[0].name;
      answer = await asked(page, "heap/classes", () => page.locator(".table tbody tr .what", { hasText: first }).first().click());
      assert.deepEqual(answer.result, result(answer.command), answer.command);
      assert.ok(answer.result.rows.length > 0, answer.command);
    }
    assert.equal(await page.locator(".chip").count(), 3);
    await picture(page, "heap-drilled");
    await page.goto(`${url}#/heap/0/functions`);
    await settled(page);
    await picture(page, "heap-functions");
    await page.goto(`${url}#/heap/0/sites`);
    await settled(page);
    await picture(page, "heap-sites");
  });
});

test("types, their fields, and the paths to them", async () => {
  await withPage([LAST], "#/heap/0", async (page, { url }) => {
    const types = await told(page, url, "heap/classes", "#/heap/0/types");
    assert.ok(types.coverage.typed > 0.5, "the fixture has types");
    await picture(page, "heap-types");
    await told(page, url, "heap/classes", "#/heap/0/tags");
    const entry = "Leaky_cache.Cache.entry";
    const fields = await told(page, url, "heap/fields", `#/heap/0/types?fields=${entry}`);
    assert.ok(fields.fields.rows.some((row) => row.field === "answer"), JSON.stringify(fields));
    await picture(page, "heap-fields");
    const [field] = fields.fields.rows;
    const answer = await asked(page, "heap/what-if", () => page.getByRole("link", { name: "what if" }).first().click());
    assert.deepEqual(answer.result, result(answer.command), answer.command);
    assert.ok(answer.result.freed.bytes >= field.retained, `${answer.result.freed.bytes} of ${field.retained}`);
    assert.match(await page.getByTestId("what-if").innerText(), /would be free/);
    await picture(page, "heap-what-if");
    await page.getByRole("button", { name: "Close what if" }).click();
    await page.getByTestId("what-if").waitFor({ state: "detached" });
    const paths = await told(page, url, "heap/paths", `#/heap/0/paths?what=${entry}`);
    assert.equal(paths.class.unreached, 0);
    const boxes = await texts(page, ".drawn text");
    assert.ok(boxes.some((text) => text.includes("entries of Leaky_cache")), boxes.join());
    assert.ok((await texts(page, ".arrow text")).some((text) => text.includes("data")), "fields stand on arrows");
    await picture(page, "heap-paths-type");
    // A box that stands for many is taken apart, stays so in the address, and is put together again.
    const target = await page.locator(".drawn").last().getAttribute("data-id");
    const many = page.locator(`.drawn[data-id="${target}"]`);
    await many.click();
    const apart = await asked(page, "heap/paths", () => many.click());
    const { members } = apart.result.class;
    assert.ok(members.count > members.rows.length && members.rows.length === 8, JSON.stringify(members));
    const blocks = page.locator('.drawn[data-id*=" of @"]');
    await blocks.nth(7).waitFor();
    assert.equal(await blocks.count(), 8);
    assert.ok((await texts(page, ".drawn text")).some((text) => text.endsWith(" more")), "how many there are besides");
    assert.match(page.url(), /members=/);
    await picture(page, "heap-paths-members");
    await blocks.nth(2).click();
    await blocks.nth(2).click();
    assert.match(await page.getByTestId("inspector").innerText(), new RegExp(`@${members.rows[2].node}`), "one of them is looked at");
    await page.goBack();
    await page.goBack();
    await blocks.first().waitFor({ state: "detached" });
    // To one block, and from box to box with keys.
    const node = paths.class.rows[0].node;
    const show = bactrian("heap", "types", LAST, "--json").result;
    assert.ok(show.rows.length > 0 && node > 0);
    const largest = bactrian("heap", "collections", LAST, "--json").result.rows[0].largest_node;
    const block = await told(page, url, "heap/paths", `#/heap/0/paths?what=${encodeURIComponent(`@${largest}`)}`);
    assert.equal(block.block.target.node, largest);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByTestId("inspector").waitFor();
    await settled(page);
    await picture(page, "heap-paths-block");
  });
});

test("a block is looked at, and references are followed", async () => {
  await withPage([LAST], "#/heap/0", async (page, { url }) => {
    const shown = await told(page, url, "heap/show", "#/heap/0/types?node=Leaky_cache");
    assert.equal(shown.this.what, "module Leaky_cache");
    const inspector = page.getByTestId("inspector");
    const next = await asked(page, "heap/show", () => inspector.getByTestId("fields").getByText("field entries of").click());
    assert.deepEqual(next.result, result(next.command));
    const table = await asked(page, "heap/show", () => inspector.getByTestId("fields").locator("a").first().click());
    assert.ok(table.result.address?.startsWith("0x"), JSON.stringify(table.result.this));
    await picture(page, "heap-inspector");
    const holder = await asked(page, "heap/show", () => inspector.getByTestId("holders").locator("a").first().click());
    assert.deepEqual(holder.result, result(holder.command));
    await page.goBack();
    await page.waitForFunction((number) => location.hash.includes(encodeURIComponent(number)), `@${table.result.this.node}`);
    // Typed: an address leads to the same block, nonsense is said to be none.
    await page.keyboard.press("/");
    await page.keyboard.type(table.result.address);
    await page.keyboard.press("Enter");
    await page.waitForFunction((number) => location.hash.includes(encodeURIComponent(number)), `@${table.result.this.node}`);
  });
});

test("the reduced graph is dragged and zoomed, and a node opens what is around it", async () => {
  await withPage([LAST], "#/heap/0", async (page, { url }) => {
    const graph = await told(page, url, "heap/graph", "#/heap/0/graph");
    const drawn = page.locator(".drawn");
    assert.equal(await drawn.count(), graph.sets.filter((set) => set.kind !== "rest").length);
    await picture(page, "heap-graph");
    const world = () => page.locator(".world").getAttribute("transform");
    const at = await world();
    await page.getByRole("button", { name: "Closer" }).click();
    const closer = await world();
    assert.notEqual(closer, at);
    const frame = await page.locator(".links-picture .frame").boundingBox();
    await page.mouse.move(frame.x + 30, frame.y + 30);
    await page.mouse.down();
    await page.mouse.move(frame.x + 130, frame.y + 60, { steps: 4 });
    await page.mouse.up();
    assert.notEqual(await world(), closer);
    await page.getByRole("button", { name: "The whole picture" }).click();
    // Keys move along the arrows; Enter opens.
    const before = await drawn.count();
    for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowRight");
    const around = await asked(page, "heap/graph", () => page.keyboard.press("Enter"));
    assert.deepEqual(around.result, result(around.command));
    await page.waitForFunction((before) => document.querySelectorAll(".drawn").length > before, before);
    await settled(page);
    await picture(page, "heap-graph-opened");
    await told(page, url, "heap/graph", "#/heap/0/graph?around=Leaky_cache&steps=3");
    await picture(page, "heap-graph-around");
  });
});

test("findings, and blocks one by one or by a field", async () => {
  await withPage([LAST], "#/heap/0", async (page, { url }) => {
    const { suspects } = await told(page, url, "heap/suspects", "#/heap/0/findings");
    assert.equal(await page.locator(".finding").count(), suspects.length);
    await picture(page, "heap-findings");
    const blocks = await told(page, url, "heap/blocks", "#/heap/0/blocks?type=string");
    assert.equal(await page.locator(".table tbody tr").count(), blocks.rows.length);
    await picture(page, "heap-blocks");
    await page.getByRole("button", { name: "Size" }).click();
    await page.waitForURL(/sort=size/);
    await page.locator(".table tbody tr").first().click();
    await page.getByTestId("inspector").waitFor();
  });
});

test("two snapshots compared, and swapped", async () => {
  await withPage(["leaky.1.heap", LAST], "#/heap/1", async (page, { url }) => {
    const { diff } = await told(page, url, "heap/diff", "#/heap/1/compare");
    assert.ok(diff.all.change > 0);
    const change = page.locator(".panel > div > p .changed").first();
    assert.match(await change.textContent(), /^\+/);
    await picture(page, "heap-compare");
    await page.getByRole("button", { name: "Swap" }).click();
    await page.waitForFunction(() => /^[-−]/.test(document.querySelector(".changed")?.textContent ?? ""));
    assert.match(page.url(), /swapped=/);
  });
});

test("the flame graph of two heaps tells who holds more", async () => {
  await withPage(["leaky.1.heap", LAST], "#/heap/1", async (page, { url }) => {
    const { result: flame, command } = await asked(page, "heap/diff-flame", () => page.goto(`${url}#/heap/1/compare`));
    assert.match(command, /^bactrian heap diff --flame flame.svg leaky.1.heap /);
    assert.ok(flame.total[0] > flame.before[0]);
    const canvas = page.getByTestId("flame");
    await canvas.waitFor();
    assert.match(await page.getByTestId("flame-total").textContent(), /before, .* after/);
    // The widest frame of the second row is the first.
    const { width } = await canvas.boundingBox();
    await canvas.hover({ position: { x: width / 20, y: 28 } });
    const tip = page.getByRole("tooltip");
    await tip.waitFor();
    assert.match(await tip.textContent(), new RegExp(`^${flame.labels[flame.label[1]].name.replace(/[^\\w ]/g, ".")}before.*after.*change`));
    // A search marks frames, and `n` walks through them; both are in the URL.
    const wanted = flame.labels[flame.label.at(-1)].name;
    await page.getByLabel("Search, or /expression/").fill(wanted);
    await page.getByTestId("matched").getByText(/^\d+ frames?, /).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("n");
    await page.getByTestId("frame").getByText(wanted, { exact: true }).waitFor();
    const shown = page.url();
    assert.ok(new URLSearchParams(shown.split("?")[1]).get("frame").endsWith(` ${wanted}`));
    // `v` swaps before and after; the frame stays.
    const [before, after] = (await page.getByTestId("flame-total").textContent()).match(/[\d.]+ \w+(?= before| after)/g);
    await page.keyboard.press("v");
    await page.waitForURL(/swapped=/);
    await page.getByTestId("flame-total").getByText(`${after} before, ${before} after`).waitFor();
    await page.getByTestId("frame").getByText(wanted, { exact: true }).waitFor();
    await page.keyboard.press("v");
    await page.waitForURL(shown);
    await canvas.click({ position: { x: width / 20, y: 28 } });
    await page.waitForURL(new RegExp(`at=${flame.id[1]}`));
    await picture(page, "heap-compare-flame");
    // Down to the largest block that it holds, and from there to the rows of the tree.
    await page.keyboard.press("ArrowDown");
    await page.getByTestId("frame").getByRole("link").click();
    await page.waitForURL(/dominators\?at=/);
    await page.getByRole("navigation", { name: "Way down" }).getByText(flame.labels[flame.label[1]].name, { exact: true }).waitFor();
  });
});

test("duplicates and collections", async () => {
  await withPage([LAST], "#/heap/0", async (page, { url }) => {
    const duplicates = await told(page, url, "heap/duplicates", "#/heap/0/duplicates");
    assert.ok(duplicates.saved > 0);
    await picture(page, "heap-duplicates");
    const collections = await told(page, url, "heap/collections", "#/heap/0/collections");
    assert.ok(collections.rows.some((row) => row.name.includes("Hashtbl")));
    await picture(page, "heap-collections");
    await page.locator(".table tbody tr").first().click();
    await page.getByTestId("inspector").waitFor();
  });
});

test("a finaliser that can never run is drawn as the cycle it is", async () => {
  await withPage(["finalisers.heap"], "#/heap/0", async (page, { url }) => {
    const found = await told(page, url, "heap/finalisers", "#/heap/0/finalisers");
    assert.equal(found.leaking, 43);
    await page.locator(".cycle").first().waitFor();
    assert.equal(await page.locator(".cycle").first().locator(".drawn").count(), found.groups[0].cycle.length);
    await picture(page, "heap-finalisers");
  });
});

test("dark, and on a large screen", async () => {
  const tabs = ["roots", "dominators?as=treemap", "dominators?as=icicle", "types", "graph", "paths?what=Leaky_cache.Cache.entry"];
  for (const [name, options] of [["dark", { dark: true }], ["3840", { width: 3840, height: 2160 }]]) {
    await withPage([LAST], "#/heap/0", async (page, { url }) => {
      for (const tab of tabs) {
        await page.goto(`${url}#/heap/0/${tab}${tab.includes("?") ? "&" : "?"}node=Leaky_cache`);
        await page.getByTestId("inspector").waitFor();
        await settled(page);
        await picture(page, `heap-${tab.replace(/\W+/g, "-")}-${name}`);
      }
    }, options);
  }
});

const EVERY = [
  "roots", "roots?depth=3", "dominators", "dominators?as=icicle", "dominators?as=treemap", "types", "modules", "functions", "sites", "tags",
  "paths", "graph", "collections", "duplicates", "finalisers",
];

test("a report has every tab's first picture, and says what it has not", async () => {
  const heap = `${REPORT}#/heap/${REPORTED.heaps.at(-1)}`;
  const { page, close } = await newPage();
  for (const tab of EVERY) {
    await page.goto(`${heap}/${tab}`);
    await page.reload();
    await page.locator('main[data-view="heap"]').waitFor();
    await settled(page);
    assert.equal(await page.locator("[role=alert]").count(), 0, tab);
  }
  // A click further is there for the largest, and said not to be there for the rest.
  await page.goto(`${heap}/roots?node=%40999999999`);
  await page.getByTestId("inspector").getByRole("alert").waitFor();
  await page.goto(`${heap}/roots`);
  await page.locator(".table .what", { hasText: /^Leaky_cache$/ }).click();
  await page.getByTestId("inspector").getByText("module Leaky_cache").waitFor();
  await picture(page, "heap-report");
  await close();
});

test("names from a hostile file are text in every tab", async () => {
  await withPage(["hostile.heap"], "#/heap/0", async (page, { url }) => {
    // Without types there are no collections, which is an error.
    for (const tab of EVERY.filter((tab) => tab !== "collections")) {
      await page.goto(`${url}#/heap/0/${tab}`);
      await settled(page);
      assert.equal(await page.locator("main img, main script, main iframe").count(), 0, tab);
    }
    await picture(page, "heap-hostile");
  });
});

test("what is shown is exported as a picture, as a table, and as a command", async () => {
  await withPage([LAST], "#/heap/0/dominators?as=treemap", async (page) => {
    await settled(page);
    await page.getByTestId("export").locator("summary").click();
    const saved = async (name) => {
      const download = page.waitForEvent("download");
      await page.getByTestId("export").getByRole("button", { name, exact: true }).first().click();
      return readFileSync(await (await download).path());
    };
    const svg = (await saved("SVG")).toString();
    assert.match(svg, /^<svg [^>]*xmlns=/);
    assert.match(svg, /module Leaky_cache/);
    assert.equal((await saved("PNG")).subarray(1, 4).toString(), "PNG");
    assert.match(await page.getByTestId("command").first().innerText(), /^bactrian heap dominators leaky/);
  });
});
