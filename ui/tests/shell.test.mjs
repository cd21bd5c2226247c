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
