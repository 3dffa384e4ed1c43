/** Preload for processes that need their standard input: runs TypeScript sources and keeps what it compiled. */
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const path = require('node:path');

/** One file per source, so that it stays small. Its first line is the digest of the source that it was made from. */
const folder = path.join(__dirname, '..', '..', '.holdfast', 'compiled');

require.extensions['.ts'] = (module, filename) => {
  module._compile(compiled(filename), filename);
};

function compiled(filename) {
  const source = readFileSync(filename, 'utf8');
  const firstLine = `// ${digestOf(source)}\n`;
  const file = path.join(folder, `${digestOf(filename)}.js`);
  const kept = readIfPresent(file);
  if (kept?.startsWith(firstLine)) return kept;
  const code = firstLine + compile(filename, source);
  mkdirSync(folder, { recursive: true });
  // Several processes may compile the same source at once.
  writeFileSync(`${file}.${process.pid}`, code);
  renameSync(`${file}.${process.pid}`, file);
  return code;
}

function compile(filename, source) {
  // The compiler itself takes time to load, which a process that finds all of its sources compiled saves.
  return require('@swc/core').transformSync(source, {
    filename,
    sourceMaps: 'inline',
    module: { type: 'commonjs' },
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  }).code;
}

function digestOf(text) {
  return createHash('sha256').update(text).digest('hex');
}

function readIfPresent(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
