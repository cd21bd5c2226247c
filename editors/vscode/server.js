// The command line of the language server, from the settings of this extension. A file of its own, so that it can be used
// without VS Code.
"use strict";

/** @param {(name: string) => string} setting */
function commandLine(setting) {
  const args = ["annotate", "--lsp", "--metric", setting("metric") || "kept"];
  const trace = setting("trace");
  if (trace) args.push("--profile", trace);
  return { command: setting("path") || "bactrian", args };
}

module.exports = { commandLine };
