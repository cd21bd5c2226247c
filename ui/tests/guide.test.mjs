/** The tour of one minute: offered once, remembered, by buttons and keys, and never over what it explains. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, picture, serve, withPage } from "./page.mjs";

const guide = (page) => page.getByTestId("guide");
const offer = (page) => page.getByTestId("guide-offer");

/** That something is outlined, can be seen, and is not under the guide. */
async function pointsAtSomething(page) {
  await page.locator("[data-guided]").waitFor();
  await answered(page);
  // Views grow while they are filled.
  await page.waitForFunction(() => {
    const shown = document.querySelector("[data-guided]")?.getBoundingClientRect();
    const bar = document.querySelector(".guide").getBoundingClientRect();
    const isHeader = document.querySelector("header.top").contains(document.querySelector("[data-guided]"));
    const top = isHeader ? 0 : document.querySelector("header.top").getBoundingClientRect().bottom;
    return shown && shown.height > 0 && shown.top >= top && shown.bottom <= bar.top && shown.left < innerWidth;
  });
}

for (const { width, height, dark } of [{ width: 1440, height: 900, dark: false }, { width: 390, height: 844, dark: true }]) {
  test(`it goes through all views and covers nothing that it explains, ${width} wide`, async () => {
    await withPage(["--demo"], "", async (page) => {
      await offer(page).waitFor();
      await picture(page, `guide-offer-${width}`);
      await page.getByRole("button", { name: "Take a one-minute tour" }).click();
      await offer(page).waitFor({ state: "detached" });
      for (const [at, view] of ["overview", "trace", "trace", "heap", "evolution", "evolution"].entries()) {
        await guide(page).getByText(`${at + 1} of 6`).waitFor();
        await page.locator(`main[data-view="${view}"]`).waitFor();
        await pointsAtSomething(page);
        await picture(page, `guide-${width}-${at + 1}`);
        await page.getByRole("button", { name: at < 5 ? "Next" : "Done" }).click();
      }
      await guide(page).waitFor({ state: "detached" });
      assert.equal(await page.locator("[data-guided]").count(), 0);
    }, { width, height, dark, isNewcomer: true });
  });
}

test("keys lead through it, Escape ends it, and the help has it again", async () => {
  const options = { isNewcomer: true };
  await withPage(["leaky.ctf"], "", async (page) => {
    await page.getByRole("button", { name: "Take a one-minute tour" }).click();
    await guide(page).getByText("1 of 4").waitFor();
    await page.keyboard.press("ArrowRight");
    await guide(page).getByText("When does memory grow?").waitFor();
    await page.keyboard.press("ArrowLeft");
    await guide(page).getByText("What is wrong?").waitFor();
    await page.keyboard.press("Escape");
    await guide(page).waitFor({ state: "detached" });
    await page.keyboard.press("?");
    await page.getByRole("button", { name: "One-minute tour" }).click();
    await guide(page).getByText("1 of 4").waitFor();
    // The page is as usable as ever meanwhile.
    await page.locator("header.top nav a", { hasText: "Trace" }).click();
    await page.locator('main[data-view="trace"]').waitFor();
    await page.getByRole("button", { name: "Skip" }).click();
    await guide(page).waitFor({ state: "detached" });
    await page.reload();
    await page.locator("main#view").waitFor();
    assert.equal(await offer(page).count(), 0);
    // Another server has another port, which is another site.
    const other = await serve("leaky.ctf");
    await page.goto(other.url);
    await page.locator("main#view").waitFor();
    assert.equal(await offer(page).count(), 0);
    await page.goto("about:blank");
    other.server.kill("SIGINT");
  }, options);
  await withPage(["leaky.ctf"], "", async (page) => {
    await page.getByRole("button", { name: "No, thanks" }).click();
    await offer(page).waitFor({ state: "detached" });
    await page.reload();
    await page.locator("main#view").waitFor();
    assert.equal(await offer(page).count(), 0);
  }, options);
});
