/**
 * A contact sheet: the views of programs that leak, on a phone, a desk and a wide screen, light and dark, as one small picture.
 * Run by `cargo xtask page --sheet`, which records the programs: `sheet.mjs OUT NAME..`.
 */
import { readdirSync, writeFileSync } from "node:fs";
import { answered, FIXTURES, newPage, serve, startBrowser } from "./page.mjs";

const [out, ...programs] = process.argv.slice(2);

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1440, height: 900 };
const WIDE = { width: 1920, height: 1080 };
/** Views, where the trace is file 0 and the last snapshot is `LAST`. */
const SHOTS = [
  ["overview/0", DESK, false],
  ["overview/0", PHONE, true],
  ["trace/0/flame?by=site", WIDE, true],
  ["trace/0/sites", PHONE, false],
  ["heap/LAST/dominators?as=treemap", DESK, true],
  ["heap/LAST/graph", WIDE, false],
  ["heap/LAST/types", PHONE, true],
];
/** Of thumbnails, in pixels. */
const HEIGHT = 150;

const rows = [];
for (const program of programs) {
  const heaps = readdirSync(FIXTURES).filter((name) => name.startsWith(`${program}.`) && name.endsWith(".heap"));
  const { url, server } = await serve(`${program}.ctf`, ...heaps);
  const pictures = [];
  for (const [place, screen, dark] of SHOTS) {
    const { page, close } = await newPage({ ...screen, dark });
    await page.goto(`${url}#/${place.replace("LAST", String(heaps.length))}`);
    await page.locator("main#view").waitFor();
    await answered(page);
    pictures.push((await page.screenshot({ type: "jpeg", quality: 80 })).toString("base64"));
    await close();
  }
  server.kill("SIGINT");
  rows.push(`<h2>${program}</h2><div>${pictures.map((data) => `<img src="data:image/jpeg;base64,${data}" height="${HEIGHT}">`).join("")}</div>`);
}
const style = "body { margin: 8px; font: 11px sans-serif; width: max-content } h2 { margin: 4px 0 2px; font-size: 12px } div { display: flex; gap: 6px } img { border: 1px solid #bbb }";
const sheet = await (await (await startBrowser()).newContext({ viewport: { width: 1500, height: 900 } })).newPage();
await sheet.setContent(`<style>${style}</style>${rows.join("")}`);
await sheet.evaluate(() => Promise.all([...document.images].map((image) => image.decode())));
const box = await sheet.locator("body").boundingBox();
await sheet.setViewportSize({ width: Math.ceil(box.width) + 16, height: Math.ceil(box.height) + 16 });
writeFileSync(out, await sheet.screenshot({ type: "jpeg", quality: 62, fullPage: true }));
process.exit(0);
