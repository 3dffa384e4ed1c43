/** Preload of a worker: sources come from the folder of code with mutants, where it has them; arguments as of `worker.ts`. */
const { existsSync } = require('node:fs');
const path = require('node:path');
require('../../test/support/compile-typescript.cjs');

const [root, codeFolder] = process.argv.slice(2);
const compile = require.extensions['.ts'];

require.extensions['.ts'] = (module, file) => {
  const mutated = path.join(codeFolder, path.relative(root, file));
  if (!existsSync(mutated)) compile(module, file);
  else compile({ _compile: (code) => module._compile(code, file) }, mutated);
};
