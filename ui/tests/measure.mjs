/**
 * How long one waits for the page: from the start of `bactrian view` to the first pictures in a browser that is open already,
 * and for answers after a change of filters. Run by `cargo xtask bench page`; prints one line of JSON for each round.
 */
import { newPage, serve, startBrowser } from "./page.mjs";

const [kind, file, rounds] = process.argv.slice(2);

/** Changes of filters, and the questions that the view asks after each: its picture, its table, its chart. */
const FILTERS = {
  in: "in=%2F1.$%2F",
  "not-in": "not-in=%2F1.$%2F",
  allocated: "allocated=10%25..30%25",
  "live-at-end": "live-at-end",
  "live-at-peak": "live-at-peak",
  lifetime: "lifetime=1ms..",
  size: "size=64..1kB",
  hide: "hide=%2F3$%2F",
};

const QUESTIONS = (filter) => [
  `api/trace/timeline?file=0&points=600&${filter}`,
  `api/trace/flame?file=0&${filter}`,
  `api/trace/top?file=0&number=200&${filter}`,
];

async function measureTrace(page, url, since) {
  const times = {};
  await page.goto(`${url}#/trace/0`);
  await page.getByTestId("timeline").locator(".uplot").waitFor();
  times["live size over time"] = since();
  await page.getByTestId("flame").first().waitFor();
  times["flame graph"] = since();
  const duration = await page.evaluate(async () => (await (await fetch("api/overview/info?file=0")).json()).result.duration);
  for (const [name, filter] of Object.entries(FILTERS)) {
    const query = filter.replace("10%25..30%25", `${duration * 0.1}s..${duration * 0.3}s`);
    times[name] = await page.evaluate(async (questions) => {
      const begin = performance.now();
      await Promise.all(
        questions.map(async (question) => {
          const response = await fetch(question);
          if (!response.ok) throw new Error(await response.text());
          await response.json();
        }),
      );
      return (performance.now() - begin) / 1000;
    }, QUESTIONS(query));
  }
  return times;
}

async function measureHeap(page, url, since) {
  const times = {};
  await page.goto(`${url}#/heap/0`);
  await page.locator("main#view .table tbody tr").first().waitFor();
  times["roots"] = since();
  return { ...times, ...(await measureInput(page, url)) };
}

/** From what one does to the next picture of the browser, as it says itself (Event Timing), in seconds: the longest of each kind. */
async function measureInput(page, url) {
  await page.goto(`${url}#/heap/0/types`);
  await page.locator(".table tbody tr").nth(2).waitFor();
  await page.evaluate(() => {
    globalThis.longest = {};
    globalThis.doing = "";
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longest[doing] = Math.max(longest[doing] ?? 0, duration / 1000);
    }).observe({ type: "event", durationThreshold: 16 });
  });
  const doing = async (what, run) => {
    await page.evaluate((what) => (globalThis.doing = what), what);
    await run();
    await page.waitForTimeout(1500);
  };
  await doing("input: sort", async () => {
    for (const column of ["Blocks", "Type", "Retained", "Shallow"]) await page.getByRole("button", { name: column }).first().click();
  });
  await doing("input: search", async () => {
    await page.getByLabel("Search", { exact: false }).last().click();
    await page.keyboard.type("list", { delay: 60 });
  });
  await doing("input: hover", async () => {
    for (let row = 0; row < 12; row++) await page.mouse.move(300, 200 + 25 * row, { steps: 3 });
  });
  // Shorter ones are not told.
  return page.evaluate(() => Object.fromEntries(["sort", "search", "hover"].map((what) => [`input: ${what}`, longest[`input: ${what}`] ?? 0.016])));
}

await startBrowser();
for (let round = 0; round < Number(rounds); round++) {
  const { page, close } = await newPage();
  await page.goto("about:blank");
  const begin = performance.now();
  const since = () => (performance.now() - begin) / 1000;
  const { url, server } = await serve(file);
  const measure = kind === "trace" ? measureTrace : measureHeap;
  console.log(JSON.stringify(await measure(page, url, since)));
  // Indexes of snapshots are written when the first pictures are there.
  if (kind === "heap") await page.waitForTimeout(15_000);
  await close();
  server.kill("SIGINT");
}
process.exit(0);
