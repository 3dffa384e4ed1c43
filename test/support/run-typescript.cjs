/** Preload for test processes: runs TypeScript sources as they are, and ends the process when its parent is gone. */
const { readFileSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');
const { transformSync } = require('@swc/core');

require.extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    sourceMaps: 'inline',
    module: { type: 'commonjs' },
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  });
  module._compile(code, filename);
};

// Worker threads preload this file too; their standard input is closed from the start.
if (isMainThread) {
  process.stdin.on('end', () => process.exit(1));
  process.stdin.resume();
  process.stdin.unref?.();
}
