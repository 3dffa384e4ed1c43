#!/usr/bin/env node
/** The command `holdfast`. */
import { runCommandLine } from './cli/command-line';
import { processOutput } from './cli/process-output';

const surroundings = { variables: process.env, directory: process.cwd() };

void runCommandLine(process.argv.slice(2), processOutput(), surroundings).then((code) => {
  // The SDK's native runtime and half-open connections would keep the process; output is flushed first.
  process.stdout.write('', () => {
    process.exit(code);
  });
});
