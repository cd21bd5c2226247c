// VS Code in a browser, with our extension as it is packed for users: opens a source file and prints as JSON what is shown
// beside its lines, and what it says if there is no program to start. All arguments are absolute.
//
//   vscode.mjs TOOLS EXTENSION BACTRIAN FOLDER FILE     TOOLS is what get-vscode made; FILE is in FOLDER
//
// PICTURE=FILE in the environment keeps a picture of each.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [tools, extension, bactrian, folder, file] = process.argv.slice(2);
const require = createRequire(join(tools, "tools", "package.json"));
const { chromium } = require("playwright-core");
const patience = 60_000;

const home = mkdtempSync(join(tmpdir(), "vscode-"));
const environment = {
  ...process.env,
  PATH: `${join(tools, "node/bin")}:${process.env.PATH}`,
  HOME: home,
  XDG_DATA_HOME: join(home, "data"),
  XDG_CONFIG_HOME: join(home, "config"),
};
const options = { env: environment, stdio: ["ignore", "ignore", "inherit"] };
const code = join(tools, "bin/code-server");

function install() {
  const packed = join(home, "bactrian.vsix");
  const copy = join(home, "extension");
  cpSync(extension, copy, { recursive: true });
  execFileSync("npm", ["ci", "--silent", "--no-audit", "--no-fund"], { ...options, cwd: copy });
  const vsce = join(tools, "tools/node_modules/@vscode/vsce/vsce");
  const pack = [vsce, "package", "--allow-missing-repository", "-o", packed];
  execFileSync("node", pack, { ...options, cwd: copy });
  execFileSync(code, ["--install-extension", packed], options);
}

function set(settings) {
  const user = join(home, "data/code-server/User");
  mkdirSync(user, { recursive: true });
  const quiet = { "security.workspace.trust.enabled": false, "workbench.startupEditor": "none" };
  const text = JSON.stringify({ ...quiet, "editor.inlayHints.enabled": "on", ...settings });
  writeFileSync(join(user, "settings.json"), text);
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function serve() {
  const port = await freePort();
  const words = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry"];
  const server = spawn(code, [...words, "--disable-update-check", folder], {
    ...options,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  await new Promise((resolve, reject) => {
    server.stdout.on("data", (text) => `${text}`.includes("listening on") && resolve());
    server.on("exit", (status) => reject(new Error(`code-server ended: ${status}`)));
  });
  return { server, url: `http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}` };
}

async function open(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 1200 } });
  await page.goto(url);
  await page.waitForSelector(`.explorer-viewlet [aria-label^="${file}"]`, { timeout: patience });
  await page.locator(`.explorer-viewlet [aria-label^="${file}"]`).dblclick();
  await page.waitForSelector(".monaco-editor .view-line", { timeout: patience });
  return page;
}

// Texts in the editor; VS Code shows spaces that do not break.
const texts = async (page, selector) =>
  (await page.locator(selector).allTextContents()).map((text) => text.replaceAll("\u00a0", " "));

install();
set({ "bactrian.path": bactrian });
const { server, url } = await serve();
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
try {
  let page = await open(browser, url);
  const lens = page.locator(".monaco-editor .codelens-decoration").filter({ hasText: "B" });
  await lens.first().waitFor({ timeout: patience });
  const lenses = (await texts(page, ".monaco-editor .codelens-decoration")).filter((text) => text);
  const lines = await texts(page, ".monaco-editor .view-line");
  if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE });
  await page.close();
  set({ "bactrian.path": "/nowhere/bactrian" });
  page = await open(browser, url);
  const message = page.locator(".notification-list-item-message").filter({ hasText: "bactrian.path" });
  await message.first().waitFor({ timeout: patience });
  const [refusal] = await message.allTextContents();
  if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}.refused.png` });
  console.log(JSON.stringify({ lenses, lines, refusal }));
} finally {
  await browser.close();
  process.kill(-server.pid);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
