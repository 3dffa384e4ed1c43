#!/usr/bin/env node
/** The command `holdfast`. */
import { runCommandLine } from './cli/command-line';

void runCommandLine(process.argv.slice(2)).then((code) => {
  // The SDK's native runtime and half-open connections would keep the process; output is flushed first.
  process.stdout.write('', () => {
    process.exit(code);
  });
});
