// Starts `bactrian annotate --lsp`, which provides everything that is shown, and restarts it when its settings change.
"use strict";
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const { commandLine } = require("./server");

/** @type {LanguageClient | undefined} */
let client;

async function start() {
  const settings = vscode.workspace.getConfiguration("bactrian");
  const run = { ...commandLine((name) => settings.get(name) ?? ""), transport: TransportKind.stdio };
  const documentSelector = ["ocaml", "ocaml.interface", "reason"].map((language) => ({
    scheme: "file",
    language,
  }));
  // The server shows new numbers as soon as a trace is written.
  const fileEvents = vscode.workspace.createFileSystemWatcher("**/*.ctf");
  client = new LanguageClient("bactrian", "Bactrian", run, {
    documentSelector,
    synchronize: { fileEvents },
  });
  await client.start();
}

async function stop() {
  const stopping = client;
  client = undefined;
  await stopping?.stop();
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("bactrian.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("bactrian")) return restart();
    })
  );
  await start();
}

module.exports = { activate, deactivate: stop };
