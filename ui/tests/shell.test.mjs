/** The frame around the views: going from one to the other, keys, help, colours, what the server refuses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { picture, serve, withPage } from "./page.mjs";

const ALL = ["leaky.ctf", "leaky.1.heap", "leaky.2.heap"];

test("the overview is there first, and keys lead to the other views", async () => {
  await withPage(ALL, "", async (page) => {
    await page.locator('main[data-view="overview"]').waitFor();
    await picture(page, "overview");
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.locator('main[data-view="trace"]').waitFor();
    assert.match(page.url(), /#\/trace\/0/);
    await page.goBack();
    await page.locator('main[data-view="overview"]').waitFor();
    await page.keyboard.press("?");
    await page.locator("dialog.help").waitFor();
    await picture(page, "help");
    await page.keyboard.press("Escape");
    await page.locator("dialog.help").waitFor({ state: "detached" });
  });
});

test("a change of the URL before the first frame is shown", async () => {
  await withPage(ALL, "", async (page, { url }) => {
    // The page is kept for other tests, which do not begin at this URL.
    await page.addInitScript(() => {
      if (location.hash !== "#/overview/0?soon") return;
      const watch = new MutationObserver(() => {
        if (!document.getElementById("view")) return;
        watch.disconnect();
        location.hash = "#/trace/0";
      });
      watch.observe(document, { childList: true, subtree: true });
    });
    await page.goto("about:blank");
    await page.goto(`${url}#/overview/0?soon`);
    await page.waitForURL(/#\/trace\/0/);
    await page.locator('main[data-view="trace"]').waitFor();
  });
});

test("the export menu closes on Escape, on a click elsewhere, and when the focus goes elsewhere", async () => {
  await withPage(ALL, "#/trace/0/flame", async (page) => {
    await page.getByTestId("flame").waitFor();
    for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/at=/);
    const menu = page.getByTestId("export");
    const isOpen = () => menu.evaluate((element) => element.open);
    await menu.locator("summary").click();
    assert.ok(await isOpen());
    await page.keyboard.press("Escape");
    assert.ok(!(await isOpen()));
    // The menu took it: the picture is zoomed as before. And keys go on from the menu.
    assert.match(page.url(), /at=/);
    assert.ok(await menu.locator("summary").evaluate((summary) => summary === document.activeElement));
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => !url.hash.includes("at="));
    await menu.locator("summary").click();
    await menu.locator("h4").first().click();
    assert.ok(await isOpen(), "a click inside leaves it open");
    await page.locator(".timeline-panel h3").click();
    assert.ok(!(await isOpen()));
    await menu.locator("summary").press("Enter");
    assert.ok(await isOpen());
    await menu.getByRole("button").last().focus();
    await page.keyboard.press("Tab");
    assert.ok(!(await isOpen()));
  });
});

test("the progress of a long answer is shown", async () => {
  await withPage(ALL, "", async (page) => {
    let isWanted = () => {};
    const wanted = new Promise((resolve) => (isWanted = resolve));
    let asked = "";
    // The answer comes when it was seen how far it has come.
    await page.route("**/api/heap/duplicates?*", async (route) => {
      asked = route.request().url().split("/api/")[1];
      await wanted;
      await route.continue();
    });
    await page.route("**/api/progress", (route) => route.fulfill({ json: { result: [{ question: asked, since: 1, step: 2, done: 0.456 }] } }));
    await page.goto(`${page.url().split("#")[0]}#/heap/1/duplicates`);
    await page.getByText("Computing, step 2").waitFor();
    assert.match(await page.locator(".loading", { hasText: "step 2" }).innerText(), /45 %/);
    await picture(page, "progress");
    isWanted();
    await page.getByText("Computing, step 2").waitFor({ state: "detached" });
  });
});

test("only who knows the token is answered", async () => {
  const { url, server } = await serve("leaky.ctf");
  const { origin } = new URL(url);
  assert.equal((await fetch(origin)).status, 403);
  assert.equal((await fetch(`${origin}/${"0".repeat(32)}/api/files`)).status, 403);
  assert.equal((await fetch(`${url}api/files`)).status, 200);
  assert.equal((await fetch(`${url}api/files`, { method: "POST" })).status, 405);
  assert.equal((await fetch(`${url}api/files`, { headers: { origin: "http://example.org" } })).status, 403);
  assert.equal((await fetch(`${url}../../etc/passwd`)).status, 403);
  const page = await fetch(url);
  assert.match(page.headers.get("content-security-policy") ?? "", /script-src 'self'/);
  assert.doesNotMatch(page.headers.get("content-security-policy") ?? "", /unsafe/);
  server.kill("SIGINT");
});
