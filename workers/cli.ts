#!/usr/bin/env node
/** The command `holdfast`. */
import { runCommandLine } from './cli/command-line';

void runCommandLine(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
