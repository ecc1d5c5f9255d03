#!/usr/bin/env node
// Starts the program, which npm installed as the package for this system and processor.
"use strict";

const { spawnSync } = require("node:child_process");

const name = `@sortie/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/sortie`);
} catch {
  console.error(`error: there is no package ${name}: Sortie is not built for this system, or npm left out optional dependencies`);
  process.exit(2);
}
const { error, signal, status } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(2);
}
if (signal) process.kill(process.pid, signal);
process.exit(status);
