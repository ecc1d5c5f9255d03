// The npm peers are in target/peers/npm, not beside these files: modules are found from there.

import { fstatSync, readFileSync } from 'node:fs';

const folder = new URL('../target/peers/npm/node_modules/', import.meta.url);

// Imports an entry of a package as ES module. `require.resolve` would find the CommonJS build, where every entry of the
// A2A SDK has classes of its own, and the server answers -32603 to everything.
export function use(name, entry = '.') {
  const home = new URL(`${name}/`, folder);
  const description = JSON.parse(readFileSync(new URL('package.json', home)));
  return import(new URL(description.exports?.[entry]?.import ?? description.main ?? 'index.js', home));
}

// Ends a server that a test forgot: with its standard input, if that is a pipe, or after some time.
export function bounded(seconds) {
  setTimeout(() => process.exit(0), seconds * 1000).unref();
  const input = fstatSync(0);
  if (input.isFIFO() || input.isSocket()) {
    process.stdin.resume();
    process.stdin.on('end', () => process.exit(0));
    process.stdin.on('close', () => process.exit(0));
  }
}
