/** Live numbers: recordings and a program that runs, pause and rewind, observers of all kinds, log, numbers as the command line has them. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { answered, BACTRIAN, bactrian, FIXTURES, newPage, picture, REPORT, REPORTED, withPage, SCREENS } from "./page.mjs";

const badge = (page, text) => page.locator('[data-testid="live-state"]', { hasText: text }).waitFor();
const api = async (url, question) => (await (await fetch(`${url}api/${question}`)).json()).result;

test("a recording says what the command line says", async () => {
  await withPage(["run.live", "observed.live"], "#/live/0", async (page, { url }) => {
    await badge(page, "recording");
    for (const [at, name] of [[0, "run.live"], [1, "observed.live"]]) {
      const told = bactrian("live", name, "--json").result;
      const { observers } = await api(url, `live/observers?file=${at}`);
      // Very long texts are cut: nobody reads them here.
      const cut = (one) => ({ ...one, value: typeof one.value === "string" ? one.value.slice(0, 10_000) : one.value });
      assert.deepEqual(observers, told.observers.map(cut));
      const { about } = await api(url, `live/state?file=${at}`);
      const { observers: _o, log: _l, ...rest } = told;
      assert.deepEqual(about, rest);
      assert.deepEqual((await api(url, `live/log?file=${at}&number=2000`)).log, told.log);
    }
  });
});

test("charts, and the way back in time by clicks and keys", async () => {
  await withPage(["run.live"], "#/live/0", async (page, { url }) => {
    await page.locator(".live-chart canvas").first().waitFor();
    const memory = page.locator(".live-chart", { hasText: "Memory" }).first();
    await memory.locator(".chart-legend", { hasText: "heap" }).waitFor();
    await picture(page, "live-charts");
    const box = await memory.locator("canvas").boundingBox();
    await memory.locator("canvas").click({ position: { x: box.width / 2, y: box.height / 2 } });
    await badge(page, "looking back");
    const at = Number(/at=([\d.]+)/.exec(page.url())[1]);
    assert.ok(at > 0);
    // Views is of that moment.
    const then = await api(url, `live/observers?file=0&at=${at}`);
    const end = await api(url, "live/observers?file=0");
    const heap = (all) => all.observers.find((one) => one.name === "runtime.allocated").value;
    assert.ok(heap(then) < heap(end));
    await page.locator("body").press("ArrowLeft");
    await page.waitForFunction((old) => Number(/at=([\d.]+)/.exec(location.hash)[1]) < old, at);
    await picture(page, "live-back");
    await page.locator("body").press("End");
    await badge(page, "recording");
    await page.locator("body").press(" ");
    await badge(page, "looking back");
    await page.locator("body").press("Home");
    await page.locator("body").press(" ");
    await badge(page, "recording");
    await page.locator("body").press("z");
    await page.waitForURL(/span=30/);
    await page.locator("body").press("3");
    await page.locator(".live table tbody tr").first().waitFor();
    await picture(page, "live-sites");
  });
});

test("observers of all kinds, trees as trees, warnings, the log and its filter", async () => {
  await withPage(["observed.live"], "#/live/0/observers", async (page, { url }) => {
    for (const kind of ["Points", "Counters", "Gauges", "Numbers", "Truth values", "Texts", "Times", "Tags", "Hash tables", "Trees", "Histograms", "Spans"]) {
      await page.locator(".groups .panel h3", { hasText: kind }).first().waitFor();
    }
    // As a graph, and as text.
    await page.locator(".tree svg text", { hasText: "shared" }).first().waitFor();
    await page.locator(".tree").first().getByRole("radio", { name: "Text" }).click();
    await page.locator(".tree li", { hasText: "shared" }).first().waitFor();
    await page.locator('[data-testid="warnings"]', { hasText: "broken" }).waitFor();
    const { observers } = await api(url, "live/observers?file=0");
    const rounds = observers.find((one) => one.name === "rounds").value;
    await page.locator(".groups tr", { hasText: "rounds" }).locator("td").nth(1).getByText(String(rounds), { exact: true }).waitFor();
    await page.locator(".groups tr", { hasText: "rounds" }).click();
    await page.locator(".live-chart canvas").waitFor();
    assert.match(page.url(), /observer=rounds/);
    // A table has two graphs, and all of them are there at once.
    const table = observers.find((one) => one.kind === "table");
    await page.locator(".groups tr", { hasText: table.title }).first().click();
    await page.waitForFunction(() => document.querySelectorAll(".live-chart canvas").length === 3);
    await page.locator(".groups tr", { hasText: table.title }).first().getByText(`${(table.value.fill * 100).toFixed(1)} %`).waitFor();
    await picture(page, "live-observers");
    // Two of one unit are in one.
    for (const name of ["counted", "half"]) await page.locator(".groups tr", { hasText: name }).first().click();
    await page.waitForFunction(() => document.querySelectorAll(".live-chart canvas").length === 5);
    await page.getByLabel("one graph per unit").check();
    await page.waitForFunction(() => document.querySelectorAll(".live-chart canvas").length === 4);
    await picture(page, "live-observers-together");
    await page.getByRole("button", { name: "Close all graphs" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".live-chart canvas").length === 0);
    await page.locator("body").press("3");
    await page.locator(".log li").first().waitFor();
    await page.locator("body").press("/");
    await page.keyboard.type("round 20 ");
    await page.waitForURL(/filter=/);
    await page.waitForFunction(() => document.querySelectorAll(".log li").length === 1);
    await picture(page, "live-log");
  });
});

test("runs of a program that was started again stand side by side", async () => {
  const folder = mkdtempSync(join(tmpdir(), "runs-"));
  const [one, other] = ["run.live", "observed.live"].map((name) => readFileSync(join(FIXTURES, name)));
  // A recording goes on with whoever greets next.
  writeFileSync(join(folder, "both.live"), Buffer.concat([one, other.subarray("bactrian live 1\n".length)]));
  await withPage([join(folder, "both.live")], "#/live/0", async (page, { url }) => {
    const { about } = await api(url, "live/state?file=0");
    assert.equal(about.runs.length, 2);
    const rows = page.getByTestId("runs").locator("tbody tr");
    await rows.nth(1).waitFor();
    assert.equal(await rows.count(), 2);
    for (const [at, { program }] of about.runs.entries()) assert.match(await rows.nth(at).textContent(), new RegExp(`process ${program.pid}`));
    // What the first said is past.
    const { observers } = await api(url, "live/observers?file=0");
    assert.equal(observers.filter((one) => one.name === "process.rss").length, 1);
    await picture(page, "live-runs");
  });
});

/** `bactrian view` with a program, whose output nobody closes: it would be the program that is ended by that. */
async function start(program, cwd = FIXTURES) {
  const server = spawn(BACTRIAN, ["view", "--", ...program], { cwd, stdio: ["ignore", "pipe", "ignore"] });
  const url = await new Promise((resolve, reject) => {
    let said = "";
    server.stdout.on("data", (text) => {
      said += text;
      const found = /^(http:\S+)$/m.exec(said);
      if (found) resolve(found[1]);
    });
    server.once("exit", () => reject(new Error(`bactrian view ended: ${said}`)));
  });
  return { url, server };
}

test("a program that is started is followed, and goes on when it is paused", async () => {
  const { url, server } = await start(["./leaky_cache", "4000000"]);
  const { page, close } = await newPage();
  try {
    await page.goto(`${url}#/live/0`);
    await badge(page, "live");
    await page.locator(".live-chart", { hasText: "Memory" }).first().locator("canvas").waitFor();
    const clock = () => page.locator(".timeline output").textContent();
    const first = await clock();
    await page.waitForFunction((old) => document.querySelector(".timeline output").textContent !== old, first);
    await page.locator("body").press(" ");
    await badge(page, "looking back");
    const [paused] = (await clock()).split(" of ");
    await page.waitForFunction((old) => document.querySelector(".timeline output").textContent.split(" of ")[1] !== old, (await clock()).split(" of ")[1]);
    assert.equal((await clock()).split(" of ")[0], paused);
    await page.locator("body").press("End");
    await badge(page, "live");
    await picture(page, "live-running");
  } finally {
    await close();
    const { about } = await api(url, "live/state?file=0");
    // It goes on when nobody looks; signals are passed on to it, and who started it ends as it does.
    process.kill(about.program.pid, 0);
    const ended = new Promise((resolve) => server.once("exit", (_, signal) => resolve(signal)));
    server.kill("SIGTERM");
    assert.equal(await ended, "SIGTERM");
    assert.throws(() => process.kill(about.program.pid, 0), /ESRCH/);
  }
});

test("a process that runs already is watched by its number, and nothing happens to it", async () => {
  const program = spawn("./leaky_cache", ["4000000"], { cwd: FIXTURES, stdio: "ignore" });
  try {
    await withPage([String(program.pid)], "#/live/0", async (page) => {
      await badge(page, "live");
      await page.locator(".live-head", { hasText: `process ${program.pid}` }).waitFor();
    });
    assert.equal(program.exitCode, null);
  } finally {
    program.kill("SIGKILL");
  }
});

// The program keeps little, however long the machine takes: what leaks would be gigabytes by the second snapshot.
test("a snapshot is taken by a click and by a key, and is shown when it is there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bactrian-view-"));
  const { url, server } = await start([join(FIXTURES, "steady"), "600"], folder);
  const { page, close } = await newPage();
  await page.goto(`${url}#/live/0`);
  await page.locator(".live-head", { hasText: "process " }).waitFor();
  const { about } = await api(url, "live/state?file=0");
  try {
    await page.getByRole("button", { name: "Take a snapshot" }).click();
    await page.locator('main[data-view="heap"]').waitFor();
    assert.match(page.url(), /#\/heap\/1$/);
    const written = join(folder, `steady.pid${about.program.pid}.1.heap`);
    await page.getByTestId("taking").getByText(written).waitFor();
    assert.ok(existsSync(written));
    await answered(page);
    await page.locator("table tbody tr", { hasText: "Steady" }).first().waitFor();
    await picture(page, "live-snapshot-taken");
    await page.getByTestId("taking").getByRole("button", { name: "Close" }).click();
    await page.getByTestId("taking").waitFor({ state: "detached" });
    await page.locator("header.top nav a", { hasText: "Live" }).click();
    await badge(page, "live");
    await page.locator("body").press("s");
    await page.locator('main[data-view="heap"]').waitFor();
    assert.match(page.url(), /#\/heap\/2$/);
    // Two of them are a series; and links to the first mean what they meant.
    await page.locator("header.top nav a", { hasText: "Evolution" }).waitFor();
    const files = (await api(url, "files")).files.map((file) => file.name);
    assert.deepEqual(files, ["steady", `steady.pid${about.program.pid}.1.heap`, `steady.pid${about.program.pid}.2.heap`]);
    await answered(page);
    // Nothing happened to it, and signals still reach it.
    process.kill(about.program.pid, 0);
    const ended = new Promise((resolve) => server.once("exit", (code, signal) => resolve(signal ?? code)));
    server.kill("SIGTERM");
    assert.equal(await ended, "SIGTERM");
    assert.throws(() => process.kill(about.program.pid, 0), /ESRCH/);
  } catch (error) {
    // What became of the snapshot says more than that something was not there.
    const taking = await page.getByTestId("taking").textContent({ timeout: 1000 }).catch(() => "there is no message about a snapshot");
    throw new Error(`${taking}\n${error.stack}`);
  } finally {
    server.kill("SIGTERM");
    await close().catch(() => undefined);
    // It must not outlive a test that fails: this process waits for whoever has its streams.
    try {
      process.kill(about.program.pid);
    } catch {
      // It has ended, as it should.
    }
  }
});

test("how far a snapshot has come is shown, and nobody is led away who has gone elsewhere", async () => {
  const program = spawn("./steady", ["600"], { cwd: FIXTURES, stdio: "ignore" });
  try {
    const cwd = mkdtempSync(join(tmpdir(), "bactrian-view-"));
    await withPage([String(program.pid)], "#/live/0", async (page) => {
      await badge(page, "live");
      // As it is with a heap that takes long.
      let taking = { number: 1, of: 0, state: "freezing" };
      await page.route("**/api/snapshot?*", (route) => route.fulfill({ status: 202, json: { result: taking } }));
      await page.route("**/api/files?*", async (route) => {
        const response = await route.fetch();
        const answer = await response.json();
        await route.fulfill({ response, json: { ...answer, result: { ...answer.result, taking } } });
      });
      await page.getByRole("button", { name: "Take a snapshot" }).dispatchEvent("click");
      await page.getByTestId("taking").getByText("waiting until its heap is consistent").waitFor();
      taking = { ...taking, state: "reading", done: 0.42 };
      await page.getByTestId("taking").getByText("reading its heap").waitFor();
      assert.ok(await page.getByRole("button", { name: "Take a snapshot" }).isDisabled());
      await picture(page, "live-snapshot-taking");
      await page.locator("header.top nav a", { hasText: "Overview" }).click();
      taking = { number: 1, of: 0, state: "taken", file: 1, said: ["3 blocks of 80 B in x.heap"] };
      await page.getByTestId("taking").getByRole("link", { name: "show it" }).waitFor();
      assert.match(page.url(), /#\/overview/);
      await picture(page, "live-snapshot-elsewhere");
    }, { cwd });
  } finally {
    program.kill("SIGKILL");
  }
});

test("why there is no snapshot is told, and a page that only looks offers none", async () => {
  const program = spawn("sleep", ["1000"], { stdio: "ignore" });
  try {
    await withPage([String(program.pid)], "#/live/0", async (page) => {
      await page.getByRole("button", { name: "Take a snapshot" }).click();
      await page.getByTestId("taking").getByText("No snapshot of").waitFor();
      assert.match(await page.getByTestId("taking").innerText(), /OCaml/);
      await picture(page, "live-snapshot-failed");
    });
    await withPage(["--read-only", String(program.pid)], "#/live/0", async (page) => {
      await badge(page, "live");
      assert.equal(await page.getByRole("button", { name: "Take a snapshot" }).count(), 0);
    });
  } finally {
    program.kill("SIGKILL");
  }
});

test("a report has a recording's charts, observers and log", async () => {
  const { page, close } = await newPage();
  try {
    const at = (part) => page.goto(`${REPORT}#/live/${REPORTED.observed}${part}`);
    await at("");
    await page.locator(".live-chart canvas").first().waitFor();
    await at("/observers?observer=level");
    await page.locator(".live-chart", { hasText: "level" }).locator("canvas").waitFor();
    await at("/log");
    await page.locator(".log li").first().waitFor();
    await picture(page, "live-report");
  } finally {
    await close();
  }
  assert.throws(() => execFileSync(BACTRIAN, ["report", String(process.pid), "-o", "x.html"], { cwd: FIXTURES, stdio: "ignore" }));
});

for (const { width, height, dark } of SCREENS) {
  test(`it is readable at ${width} wide, ${dark ? "dark" : "light"}`, async () => {
    await withPage(["observed.live", "run.live"], "#/live/1", async (page) => {
      await page.locator(".live-chart canvas").nth(3).waitFor();
      await picture(page, `live-${width}-${dark ? "dark" : "light"}`);
      await page.goto(page.url().replace("#/live/1", "#/live/0/observers?observer=level"));
      await page.locator(".live-chart canvas").waitFor();
      await picture(page, `live-observers-${width}-${dark ? "dark" : "light"}`);
    }, { width, height, dark });
  });
}
