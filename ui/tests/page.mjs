/**
 * What browser tests share: `bactrian view` on files, Debian's Chromium on its page, pictures of it, and the command line
 * to compare with. Run by `cargo xtask page`, which makes the files.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const needed = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run \`cargo xtask page\``);
  return value;
};

/** The program under test. */
export const BACTRIAN = needed("BACTRIAN");
/** A folder with files to look at: see xtask/src/page.rs. */
export const FIXTURES = needed("BACTRIAN_FIXTURES");
/** The report of all that was recorded, which tests share: it takes a tour through all views. And where evidence is in it. */
export const REPORT = pathToFileURL(`${FIXTURES}/report.html`).href;
export const REPORTED = { traces: [0, 1], heaps: [2, 3, 4], observed: 5 };
/** A folder for pictures that people look at; none, if nobody does. */
const PICTURES = process.env.BACTRIAN_PICTURES;

/**
 * Screens on which pages have to be readable. All of them before a release (`cargo xtask test --all`); otherwise the two
 * that differ in everything, for layout depends on the width and colours on the scheme, not on both together.
 */
export const SCREENS = [
  { width: 1280, height: 800, dark: false },
  { width: 3840, height: 1000, dark: true },
  ...(process.env.BACTRIAN_TEST === "all"
    ? [
        { width: 1280, height: 800, dark: true },
        { width: 3840, height: 2000, dark: false },
      ]
    : []),
];

/** The machine may be busy: this only says when to give up. */
export const PATIENCE = 60_000;

let browser;
const servers = [];
/**
 * Pages that no test has, by screen: a new one costs a second of processor time. What a page stores is by the address of its
 * server, and every test has its own.
 */
const idle = new Map();
/** Questions of each page that are not answered yet. */
const open = new WeakMap();

after(async () => {
  await browser?.close();
  for (const server of servers) server.kill("SIGINT");
});

/** Starts Chromium once. */
export async function startBrowser() {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // Tests run as root in containers, where there is nothing to put a sandbox of.
    args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"],
  });
  return browser;
}

/** Starts `bactrian view` with these arguments, and waits for its URL. */
export async function serve(...args) {
  return serveIn(FIXTURES, ...args);
}

/** The same in another folder, which is where snapshots go that are taken from the page. */
export async function serveIn(cwd, ...args) {
  const server = spawn(BACTRIAN, ["view", ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  servers.push(server);
  let said = "";
  server.stderr.on("data", (text) => (said += text));
  for await (const line of createInterface(server.stdout)) {
    if (line.startsWith("http://")) return { url: line.trim(), server };
  }
  throw new Error(`bactrian view ${args.join(" ")} said no URL: ${said}`);
}

async function freshPage(width, height, dark, touch, isNewcomer) {
  const context = await (await startBrowser()).newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    hasTouch: touch,
    acceptDownloads: true,
  });
  // The tour is offered to newcomers only; the other tests are by people who have seen it.
  const seen = () => location.protocol === "http:" && localStorage.setItem("bactrian-guide", "seen");
  if (!isNewcomer) await context.addInitScript(seen);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  return page;
}

/**
 * A page in the browser. Whatever goes wrong in it makes the test fail at `close`: exceptions, messages on the console,
 * requests to anywhere else.
 */
export async function newPage({ width = 1280, height = 800, dark = false, touch = false, isNewcomer = false } = {}) {
  const screen = `${width} ${height} ${dark} ${touch} ${isNewcomer}`;
  const page = idle.get(screen)?.pop() ?? (await freshPage(width, height, dark, touch, isNewcomer));
  const questions = new Set();
  open.set(page, questions);
  // Live numbers are asked for again and again.
  page.on("request", (request) => /\/api\/(?!live)/.test(request.url()) && questions.add(request));
  page.on("requestfinished", (request) => questions.delete(request));
  page.on("requestfailed", (request) => questions.delete(request));
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`exception: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") wrong.push(`console: ${message.text()}`);
  });
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const close = async () => {
    // It stops asking before it is given on, and nobody listens any more.
    await page.goto("about:blank");
    page.removeAllListeners();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.context().setOffline(false);
    await page.context().clearCookies();
    idle.set(screen, [...(idle.get(screen) ?? []), page]);
    if (wrong.length > 0) throw new Error(`the page complained:\n${wrong.join("\n")}`);
  };
  return { page, close, wrong };
}

/** The page of these files, at this place (`#/trace/0`), handed to `test`; closed afterwards. */
export async function withPage(files, hash, test, options = {}) {
  const { url, server } = await serveIn(options.cwd ?? FIXTURES, ...files);
  const { page, close, wrong } = await newPage(options);
  try {
    await page.goto(url + hash);
    await page.locator("main#view").waitFor();
    await test(page, { url, wrong });
  } finally {
    // The page first: it may be asking, and would complain that nobody answers.
    try {
      await close();
    } finally {
      server.kill("SIGINT");
    }
  }
}

/** Waits until all that the page asked is answered, and shown. */
export async function answered(page) {
  for (let quiet = 0; quiet < 3; quiet++) {
    const shown = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(!document.querySelector(".loading, .stale"))))));
    if (!shown || open.get(page).size > 0) quiet = -1;
  }
}

/** A picture of the page as it is, for people to look at. */
export async function picture(page, name) {
  if (!PICTURES) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: `${PICTURES}/${name}.png` });
}

/** What the command line says, as JSON: `bactrian("top", "a.ctf", "--json")`. */
export function bactrian(...args) {
  const { stdout, status } = spawnSync(BACTRIAN, args, { cwd: FIXTURES, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
  // With 1, `diff` and `check` say what they found.
  if (status !== 0 && status !== 1) throw new Error(`bactrian ${args.join(" ")} ended with ${status}`);
  return JSON.parse(stdout);
}

/** What the command that the page says prints the same says, as JSON's `result`. */
export function result(command) {
  const args = execFileSync("sh", ["-c", `printf '%s\\0' ${command.replace(/^bactrian /, "")}`], { encoding: "utf8" });
  return bactrian(...args.split("\0").slice(0, -1), "--json").result;
}
