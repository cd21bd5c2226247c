// An editor without a window: speaks with the language server by the library that VS Code's client is built on, started as
// our extension starts it, and prints what came as JSON.
//
//   editor.mjs SERVER.JS BACTRIAN FOLDER FILE
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const [server, bactrian, folder, file] = process.argv.slice(2);
const protocol = require(`${process.env.NODE_PATH}/vscode-languageserver-protocol/node`);
const { commandLine } = require(server);

const { command, args } = commandLine((name) => (name === "path" ? bactrian : ""));
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const connection = protocol.createProtocolConnection(
  new protocol.StreamMessageReader(child.stdout),
  new protocol.StreamMessageWriter(child.stdin)
);
connection.listen();
const uri = (path) => pathToFileURL(path).href;
const textDocument = { uri: uri(file) };
await connection.sendRequest(protocol.InitializeRequest.type, {
  processId: process.pid,
  rootUri: null,
  capabilities: { workspace: { inlayHint: { refreshSupport: true } } },
  workspaceFolders: [{ uri: uri(folder), name: "workspace" }],
});
await connection.sendNotification(protocol.InitializedNotification.type, {});
const range = { start: { line: 0, character: 0 }, end: { line: 10000, character: 0 } };
const hints = await connection.sendRequest(protocol.InlayHintRequest.type, { textDocument, range });
const lenses = await connection.sendRequest(protocol.CodeLensRequest.type, { textDocument });
const position = lenses[0].range.start;
const hover = await connection.sendRequest(protocol.HoverRequest.type, { textDocument, position });
const unknown = await connection
  .sendRequest("textDocument/definition", { textDocument, position })
  .catch((error) => error.code);
const refreshed = new Promise((resolve) =>
  connection.onRequest(protocol.InlayHintRefreshRequest.type, () => resolve(null))
);
await connection.sendNotification(protocol.DidChangeWatchedFilesNotification.type, { changes: [] });
await refreshed;
await connection.sendRequest(protocol.ShutdownRequest.type);
const ended = new Promise((resolve) => child.on("exit", resolve));
await connection.sendNotification(protocol.ExitNotification.type);
const status = await ended;
console.log(
  JSON.stringify({
    hints: hints.length,
    lenses: lenses.length,
    hover: hover.contents.value,
    unknown,
    status,
  })
);
process.exit(0);
