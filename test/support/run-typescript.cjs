/** Preload for test processes: runs TypeScript sources as they are, and ends the process when its parent is gone. */
const { isMainThread } = require('node:worker_threads');
require('./compile-typescript.cjs');

// Worker threads preload this file too; their standard input is closed from the start.
if (isMainThread) {
  process.stdin.on('end', () => process.exit(1));
  process.stdin.resume();
  process.stdin.unref?.();
}
