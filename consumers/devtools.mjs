// Opens a heap snapshot with the code of Chrome DevTools and prints, as JSON, what DevTools then holds of it.
//
//   node devtools.mjs FOLDER FILE     FOLDER has the node_modules of package.json
//
// DevTools is published as sources in TypeScript, so what reads snapshots is built first. It works with a second
// thread, which here is the same one.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [folder, file] = process.argv.slice(2).map((argument) => path.resolve(argument));
const require = createRequire(folder + path.sep);

// A file that DevTools makes while it is built.
const locales = {
  name: 'locales',
  setup(build) {
    build.onResolve({ filter: /^\.\/locales\.js$/ }, () => ({ path: 'locales', namespace: 'made' }));
    build.onLoad({ filter: /.*/, namespace: 'made' }, () => ({
      contents: `export const LOCALES = ['en-US'], BUNDLED_LOCALES = LOCALES, DEFAULT_LOCALE = 'en-US';
        export const REMOTE_FETCH_PATTERN = '', LOCAL_FETCH_PATTERN = '';`,
    }));
  },
};

const worker = 'chrome-devtools-frontend/front_end/entrypoints/heap_snapshot_worker';
const built = await require('esbuild').build({
  stdin: {
    contents: `export { SecondaryInitManager } from '${worker}/HeapSnapshot.ts';
      export { HeapSnapshotLoader } from '${worker}/HeapSnapshotLoader.ts';`,
    resolveDir: folder,
  },
  plugins: [locales],
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'error',
  write: false,
});
// Newer than the oldest Node that is good enough for the rest.
Promise.withResolvers ??= function () {
  const all = {};
  all.promise = new Promise((resolve, reject) => Object.assign(all, { resolve, reject }));
  return all;
};
const code = Buffer.from(built.outputFiles[0].contents).toString('base64');
const { HeapSnapshotLoader, SecondaryInitManager } = await import(`data:text/javascript;base64,${code}`);

const loader = new HeapSnapshotLoader({ sendEvent() {} });
const text = fs.readFileSync(file, 'utf8');
// In pieces, as DevTools reads files.
for (let at = 0; at < text.length; at += 10_000) loader.write(text.slice(at, at + 10_000));
loader.close();
const { port1, port2 } = new MessageChannel();
new SecondaryInitManager(port2);
const snapshot = await loader.buildSnapshot(port1);
port1.close();
const nodes = [];
const fields = snapshot.nodeFieldCount;
for (let at = 0; at < snapshot.nodeCount; at += 1) {
  const node = snapshot.createNode(at * fields);
  const edges = [];
  for (let each = node.edges(); each.hasNext(); each.next()) {
    const edge = each.item();
    edges.push([edge.type(), edge.name(), edge.node().id()]);
  }
  const [size, retained] = [node.selfSize(), node.retainedSize()];
  nodes.push({ id: node.id(), name: node.rawName(), type: node.rawType?.() ?? null, size, retained, edges });
}
console.log(JSON.stringify({ nodes }));
