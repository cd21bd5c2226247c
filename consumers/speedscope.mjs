// Opens a file in the real Speedscope and prints, as JSON, what Speedscope then holds of it.
//
//   node speedscope.mjs FOLDER FILE     FOLDER has the node_modules of package.json
//
// Speedscope is a web page, so it runs in jsdom, with canvases that draw nothing. It is asked for what it
// holds by its own command to save a profile (Ctrl+S).
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [folder, file] = process.argv.slice(2).map((argument) => path.resolve(argument));
const require = createRequire(folder + path.sep);
const Ajv = require('ajv').default;
const { JSDOM, VirtualConsole } = require('jsdom');
const release = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist/release');

function refuse(reason) {
  console.error(`Speedscope: ${reason}`);
  process.exit(1);
}

function checkSchema() {
  const schema = JSON.parse(fs.readFileSync(path.join(release, 'file-format-schema.json'), 'utf8'));
  const ajv = new Ajv({ strict: false });
  if (!ajv.validate(schema, JSON.parse(fs.readFileSync(file, 'utf8')))) {
    refuse(`the file is not as its schema says: ${ajv.errorsText()}`);
  }
}

// Answers whatever a drawing context is asked for, so that nothing is drawn and nobody notices.
function blankContext(answers) {
  const answer = (known, name) => {
    if (name in known) return known[name];
    if (name in answers) return answers[name];
    if (/^[A-Z0-9_]+$/.test(String(name))) return 1;
    return String(name).startsWith('create') ? () => ({}) : () => 1;
  };
  return new Proxy({}, { get: answer });
}

const webGl = {
  getExtension: () => null,
  getParameter: () => 4096,
  getShaderInfoLog: () => '',
  getProgramInfoLog: () => '',
  getActiveUniform: () => ({ name: 'x', size: 1, type: 1 }),
  getActiveAttrib: () => ({ name: 'x', size: 1, type: 1 }),
  isContextLost: () => false,
};
const flat = { measureText: (text) => ({ width: text.length * 8 }) };

// The page, with its script running. `saved` gets what it saves, `said` what it complains of.
function openSpeedscope(saved, said) {
  const console = new VirtualConsole();
  for (const kind of ['warn', 'error', 'jsdomError']) console.on(kind, (what) => said.push(String(what)));
  const page = fs.readFileSync(path.join(release, 'index.html'), 'utf8');
  const script = page.match(/src="(speedscope-[^"]+\.js)"/)[1];
  const bare = page.replace(/<script[^>]*><\/script>/g, '').replace(/<link[^>]*>/g, '');
  const options = { runScripts: 'outside-only', pretendToBeVisual: true, virtualConsole: console };
  // With this address it waits for a file to be handed to it.
  const url = 'http://localhost/#localProfilePath=/none';
  const { window } = new JSDOM(bare, { ...options, url });
  window.HTMLCanvasElement.prototype.getContext = function (kind) {
    return blankContext({ canvas: this, ...(kind === '2d' ? flat : webGl) });
  };
  window.HTMLAnchorElement.prototype.click = () => {};
  window.Element.prototype.scrollIntoView = () => {};
  window.URL.createObjectURL = (blob) => saved.push(blob);
  window.alert = (what) => said.push(what);
  window.matchMedia = () => ({ matches: false, addListener() {}, addEventListener() {} });
  Object.assign(window, { TextDecoder, TextEncoder });
  window.eval(fs.readFileSync(path.join(release, script), 'utf8'));
  return window;
}

async function waitFor(what, condition, said) {
  const giveUp = Date.now() + 60_000;
  while (Date.now() < giveUp) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  refuse(`${what} did not happen: ${said.join('; ')}`);
}

function textOf(window, blob) {
  return new Promise((resolve) => {
    const reader = new window.FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsText(blob);
  });
}

checkSchema();
const saved = [];
const said = [];
const window = openSpeedscope(saved, said);
await waitFor('the start', () => window.speedscope, said);
// It tries to fetch the file of the address as well, which is not there.
said.length = 0;
window.speedscope.loadFileFromBase64(path.basename(file), fs.readFileSync(file).toString('base64'));
await waitFor('loading', () => window.document.title !== 'speedscope', said);
const save = { key: 's', ctrlKey: true, keyCode: 83, bubbles: true };
await waitFor('saving', () => {
  window.dispatchEvent(new window.KeyboardEvent('keydown', save));
  window.dispatchEvent(new window.KeyboardEvent('keypress', save));
  return saved.length > 0;
}, said);
const held = JSON.parse(await textOf(window, saved[0]));
const sum = (weights) => weights.reduce((total, weight) => total + weight, 0);
// It may save samples as events.
const profiles = held.profiles.map(({ name, unit, weights, startValue, endValue }) => ({
  name,
  unit,
  total: weights ? sum(weights) : endValue - startValue,
}));
const frames = held.shared.frames.map((frame) => frame.name);
console.log(JSON.stringify({ name: held.name, frames, profiles, said }));
// Otherwise the page would live on.
window.close();
