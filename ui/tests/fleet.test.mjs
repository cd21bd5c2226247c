/**
 * The profiles of a fleet: what stands out comes first, every number is the engine's, and one host can be looked at.
 *
 * The engine takes half an hour to build, so `make test` replays recorded answers about this store (fleet-answers.json), which
 * DuckDB gives in crates/bactrian/tests/fleet.rs. With an engine (`cargo xtask query`), the same tests ask it, and compare its
 * answers with the recorded ones.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { answered, BACTRIAN, picture, result, withPage } from "./page.mjs";

const RECORDED = new URL("fleet-answers.json", import.meta.url);
const hasEngine = existsSync(join(dirname(BACTRIAN), "bactrian-query"));

const folder = mkdtempSync(join(tmpdir(), "bactrian-fleet-"));
const STORE = join(folder, "store");
after(() => rmSync(folder, { recursive: true }));

/** Hosts and minutes of the store. */
const [HOSTS, MINUTES] = [40, 16];
if (hasEngine) {
  const trace = new URL("../../crates/trace/tests/fixtures/leaky_cache_v2.ctf", import.meta.url).pathname;
  execFileSync(join(dirname(BACTRIAN), "examples/make_fleet"), [trace, STORE, String(HOSTS), String(MINUTES)]);
} else {
  mkdirSync(join(STORE, "samples"), { recursive: true });
  // An engine that knows the recorded answers, and writes down what it is asked. Of a day it never comes to an end.
  const script = `#!${process.execPath}
const { appendFileSync, readFileSync, writeFileSync } = require("node:fs");
const words = process.argv.slice(2);
appendFileSync(${JSON.stringify(join(folder, "asked"))}, words.join(" ") + "\\n");
const options = words.filter((word) => /^--(since|by|service|host)=/.test(word)).join(" ");
const answer = JSON.parse(readFileSync(${JSON.stringify(RECORDED.pathname)}, "utf8"))[options];
if (options === "--since=24h") {
  writeFileSync(${JSON.stringify(join(folder, "endless"))}, String(process.pid));
  process.stderr.write("progress 0.5\\n");
  setInterval(() => {}, 1000);
} else if (answer) {
  process.stdout.write(JSON.stringify({ result: answer }));
} else {
  process.stderr.write("bactrian: STORE: there are no profiles by hour\\n");
  process.exitCode = 3;
}
`;
  writeFileSync(join(folder, "bactrian-query"), script, { mode: 0o755 });
  process.env.PATH = `${folder}:${process.env.PATH}`;
}

/** The numbers of both are the same but for the order in which they were added up. */
function assertSame(told, expected, where = "") {
  if (typeof expected === "number" && typeof told === "number") {
    assert.ok(Math.abs(told - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${where}: ${told}, not ${expected}`);
  } else if (expected !== null && typeof expected === "object") {
    assert.deepEqual(Object.keys(told), Object.keys(expected), where);
    for (const name of Object.keys(expected)) assertSame(told[name], expected[name], `${where}/${name}`);
  } else {
    assert.equal(told, expected, where);
  }
}

const PLACE = "#/fleet/0";
const on = (hash, run, options = {}) => withPage([STORE], hash, run, options);
const api = async (url, query) => (await fetch(`${url}api/fleet?file=0${query}`)).json();

test("recorded answers are those of the engine", { skip: !hasEngine && "needs the engine: cargo xtask query" }, async () => {
  await on(PLACE, async (page, { url }) => {
    const told = { "": (await api(url, "")).result, "--host=mail-0031": (await api(url, "&host=mail-0031")).result };
    assertSame(told, JSON.parse(readFileSync(RECORDED, "utf8")));
  });
});

test("the first screen says what is wrong", async () => {
  await on("", async (page, { url }) => {
    // With nothing but a store, its view is the first, and views of files are not there.
    await page.locator(".finding").first().waitFor();
    await answered(page);
    assert.deepEqual(await page.locator("header.top nav a").allTextContents(), ["Fleet"]);
    const { result: fleet, command } = await api(url, "");
    assert.equal(command, `bactrian fleet ${STORE}`);
    const cards = page.locator(".finding");
    assert.equal(await cards.count(), fleet.findings.length);
    for (const [question, sentence] of [["growing_sites", "keeps growing"], ["builds_allocate", "as much as shop-2.0"], ["odd_hosts", "mail-0031 holds"], ["growing_memory", "shop-0010"]]) {
      const card = page.locator(`.finding[data-question="${question}"]`).first();
      assert.match(await card.textContent(), new RegExp(sentence), question);
      const box = await card.boundingBox();
      assert.ok(box.y + box.height < 1000, `${question} at ${box.y}`);
    }
    assert.match(await page.locator(".fleet-sentence").textContent(), /4 services on 40 hosts, 5 builds; 640 profiles/);
    const held = fleet.answers.live_sites[0];
    const row = page.getByRole("table", { name: "Sites by bytes held" }).locator("tbody tr").first();
    assert.match(await row.textContent(), new RegExp(held.leaf.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
    await picture(page, "fleet");
  }, { width: 1440, height: 1000 });
});

test("findings lead to their tables and hosts, and one answer serves all tabs", async () => {
  await on(PLACE, async (page, { url }) => {
    const questions = [];
    page.on("request", (request) => request.url().includes("api/fleet") && questions.push(new URL(request.url()).search));
    const showMe = (question) => page.locator(`.finding[data-question="${question}"]`).first().getByText("show me").click();
    const back = () => page.locator(".fleet .tabs a").first().click();
    await showMe("growing_sites");
    await page.getByRole("table", { name: "Growing sites" }).waitFor();
    await back();
    await showMe("builds_allocate");
    await page.getByRole("table", { name: /^Allocated per minute/ }).waitFor();
    for (const [key, table] of [["2", "Sites by bytes held"], ["4", "Hosts"], ["5", "Garbage collection"], ["6", "What all heaps hold, by class"]]) {
      await page.keyboard.press(key);
      await page.getByRole("table", { name: table, exact: true }).waitFor();
    }
    assert.deepEqual(questions, [], "tabs ask nothing");
    await page.keyboard.press("1");
    await showMe("odd_hosts");
    await page.locator(".fleet-program").waitFor();
    assert.match(page.url(), /fleet\/0\/host\?host=mail-0031/);
    const { result: host } = await api(url, "&host=mail-0031");
    assert.equal(await page.locator(".fleet-program code").textContent(), host.answers.host_runs[0].command);
    await page.getByRole("table", { name: "What they hold at the end" }).waitFor();
    await picture(page, "fleet-host");
    await page.getByText("All hosts").click();
    await page.getByRole("table", { name: "Hosts", exact: true }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("login");
    await page.waitForFunction(() => document.querySelectorAll('table[aria-label="Hosts"] tbody tr').length === 4);
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    if (hasEngine) await page.locator(".fleet-program", { hasText: "login" }).waitFor();
  });
});

test("what is shown is in the address, and the command prints the same", { skip: !hasEngine && "needs the engine: cargo xtask query" }, async () => {
  await on(`${PLACE}/sites?service=search&since=30m&of=allocated`, async (page, { url }) => {
    await page.getByRole("table", { name: "Sites by bytes allocated" }).waitFor();
    await answered(page);
    const { result: told, command } = await api(url, "&since=30m&service=search");
    assert.equal(command, `bactrian fleet ${STORE} --since 30m --service search`);
    assertSame(told, result(command));
    assert.equal(told.totals.services, 1);
    await page.getByLabel("Service").selectOption("");
    await page.waitForURL((url) => !url.href.includes("service="));
    await page.getByLabel("Service").locator("option", { hasText: "login" }).waitFor({ state: "attached" });
  });
});

test("recent answers are kept until they are asked for again", { skip: hasEngine && "counts the questions of recorded answers" }, async () => {
  const asked = () => readFileSync(join(folder, "asked"), "utf8").trim().split("\n").length;
  await on(PLACE, async (page) => {
    await page.locator(".finding").first().waitFor();
    const before = asked();
    await page.reload();
    await page.locator(".finding").first().waitFor();
    assert.equal(asked(), before);
    await page.keyboard.press("r");
    await page.waitForResponse((response) => response.url().includes("again="));
    assert.equal(asked(), before + 1);
  });
});

test("an answer that takes long shows its progress, and Stop ends the engine", { skip: hasEngine && "needs an engine that is slow" }, async () => {
  await on(`${PLACE}?since=24h`, async (page) => {
    await page.getByText("50 %").waitFor();
    const pid = Number(readFileSync(join(folder, "endless"), "utf8"));
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped.").waitFor();
    while (existsSync(`/proc/${pid}`)) await new Promise((done) => setTimeout(done, 5));
    await page.getByLabel("of the last").selectOption("2h");
    await page.locator(".finding").first().waitFor();
  });
});

test("what cannot be answered is said, and the way back stays", async () => {
  await on(`${PLACE}?by=hour`, async (page, { wrong }) => {
    await page.getByRole("alert").waitFor();
    assert.match(await page.getByRole("alert").textContent(), /there are no profiles by hour/);
    await page.getByRole("radio", { name: "Minutes" }).click();
    await page.locator(".finding").first().waitFor();
    // The browser complains of the status that says so.
    wrong.splice(0, wrong.length, ...wrong.filter((what) => !what.includes("400")));
  });
});

test("without an engine the page says what builds it", { skip: hasEngine && "there is an engine" }, async () => {
  const path = process.env.PATH;
  process.env.PATH = path.slice(path.indexOf(":") + 1);
  try {
    await on(PLACE, async (page, { wrong }) => {
      await page.getByRole("alert").waitFor();
      assert.match(await page.getByRole("alert").textContent(), /make query/);
      wrong.splice(0, wrong.length, ...wrong.filter((what) => !what.includes("400")));
    });
  } finally {
    process.env.PATH = path;
  }
});

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const TABS = ["", "/sites", "/sites?of=growing", "/builds", "/hosts", "/runtime", "/heaps", "/host?host=mail-0031"];
/** Tabs have the same parts: on a desktop, one is looked at, and all before a release. */
const SCREENS = [
  { width: 390, height: 844, touch: true, dark: true, tabs: TABS },
  { width: 1280, height: 800, tabs: process.env.BACTRIAN_TEST === "all" ? TABS : [""] },
];

for (const screen of SCREENS) {
  test(`every tab can be read and used by everyone at ${screen.width}`, async () => {
    await on(PLACE, async (page) => {
      await page.locator(".finding").first().waitFor();
      await page.evaluate(AXE);
      for (const place of screen.tabs) {
        await page.evaluate((place) => (location.hash = place), PLACE + place);
        await page.locator(".fleet .panel").first().waitFor();
        await answered(page);
        const found = await page.evaluate(async () => {
          const few = { include: [["html"]], exclude: [["tr:nth-child(n + 4)"]] };
          const { violations } = await globalThis.axe.run(few, { resultTypes: ["violations"], preload: false, iframes: false });
          return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes[0].target}`);
        });
        const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
        assert.deepEqual(found, [], place);
        assert.ok(wide <= screen.width, `${place} is ${wide} wide`);
        await picture(page, `fleet-${screen.width}-${place.replace(/\W+/g, "-")}`);
      }
    }, screen);
  });
}
