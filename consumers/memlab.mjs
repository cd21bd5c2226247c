// Opens a heap snapshot in memlab and prints, as JSON, what memlab holds of it.
//
//   node memlab.mjs FOLDER FILE     FOLDER has the node_modules of package.json
import path from 'node:path';
import { createRequire } from 'node:module';

const [folder, file] = process.argv.slice(2).map((argument) => path.resolve(argument));
const require = createRequire(folder + path.sep);
const { analysis, config, utils } = require('@memlab/core');

// Otherwise it tells of its progress.
config.muteConsole = true;
const snapshot = await utils.getSnapshotFromFile(file, { buildNodeIdIndex: true });
analysis.preparePathFinder(snapshot);
const nodes = [];
snapshot.nodes.forEach((node) => {
  const { id, name, type, self_size: size, retainedSize: retained } = node;
  const edges = [];
  node.forEachReference((edge) => {
    edges.push([edge.type, edge.name_or_index, edge.toNode.id]);
  });
  nodes.push({ id, name, type, size, retained, dominator: node.dominatorNode?.id ?? null, edges });
});
console.log(JSON.stringify({ nodes }));
