// Starts `sortie lsp`, and runs what its code lenses name in a terminal.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function program() {
  return vscode.workspace.getConfiguration("sortie").get("path");
}

function start() {
  const server = { command: program(), args: ["lsp"] };
  const options = {
    documentSelector: [
      { scheme: "file", language: "yaml" },
      { scheme: "file", pattern: "**/sortie.toml" },
    ],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.{yaml,yml}") },
  };
  client = new LanguageClient("sortie", "Sortie", server, options);
  return client.start();
}

// No shell is between: the arguments reach the program as the server gave them.
function inTerminal({ arguments: words }) {
  const terminal = vscode.window.createTerminal({ name: "Sortie", shellPath: program(), shellArgs: words });
  terminal.show();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("sortie.run", inTerminal),
    vscode.commands.registerCommand("sortie.prove", inTerminal),
    vscode.commands.registerCommand("sortie.restart", async () => {
      await client?.stop();
      await start();
    }),
  );
  await start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
