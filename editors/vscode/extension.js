// Starts `bactrian annotate --lsp`, which provides everything that is shown, and restarts it when its settings change.
"use strict";
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { commandLine } = require("./server");

/** @type {LanguageClient | undefined} */
let client;

async function start() {
  const settings = vscode.workspace.getConfiguration("bactrian");
  // Without a transport the client uses standard input and output. If it is named, the client adds `--stdio`.
  const run = commandLine((name) => settings.get(name) ?? "");
  const documentSelector = ["ocaml", "ocaml.interface", "reason"].map((language) => ({
    scheme: "file",
    language,
  }));
  // The server shows new numbers as soon as a trace is written.
  const fileEvents = vscode.workspace.createFileSystemWatcher("**/*.ctf");
  const starting = new LanguageClient("bactrian", "Bactrian", run, {
    documentSelector,
    synchronize: { fileEvents },
  });
  try {
    await starting.start();
    client = starting;
  } catch (error) {
    // Until the settings change there are no numbers, and nothing to stop.
    const reason = error instanceof Error ? error.message : error;
    vscode.window.showErrorMessage(
      `Bactrian does not start: is bactrian.path right? It is ${run.command} (${reason})`
    );
  }
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
