#!/usr/bin/env node
// Starts the program from the package for this platform, and exits with its status or signal.
"use strict";
const { spawn } = require("child_process");

const platform = `bactrian-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/bin/bactrian`);
} catch (error) {
  console.error(
    `bactrian: the package ${platform} is not installed: either it does not exist for this platform, ` +
      "or npm was told to omit optional dependencies"
  );
  process.exit(4);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends these signals to both processes; other senders know only this one.
const signals = ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"];
for (const signal of signals) {
  process.on(signal, () => {
    if (signal === "SIGTERM" || signal === "SIGHUP" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`bactrian: ${program} cannot be started: ${error.message}`);
  process.exit(4);
});
child.on("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  signals.forEach((name) => process.removeAllListeners(name));
  process.kill(process.pid, signal);
});
