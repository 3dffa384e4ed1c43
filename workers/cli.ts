#!/usr/bin/env node
/** The command `holdfast`. */
import { runCommandLine } from './cli/command-line';
import type { CommandOutput } from './cli/command-context';
import { hideEnvironment } from './cli/own-environment';

/** Columns of a pipe, for tables. */
const pipeColumns = 120;
/** Columns of a terminal that does not say how wide it is. */
const unknownColumns = 80;

/**
 * Contract: colors only on a terminal, and never with NO_COLOR or TERM=dumb. A reader that closes the pipe (`| head`) ends the
 * process quietly.
 */
function processOutput(): CommandOutput {
  const { stdout, stderr, env } = process;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  const isDumb = env['TERM'] === 'dumb';
  const isTerminal = stdout.isTTY && !isDumb;
  const noColor = env['NO_COLOR'];
  return {
    isTerminal,
    hasColors: isTerminal && (noColor === undefined || noColor === ''),
    columns: () => (isTerminal ? stdout.columns || unknownColumns : pipeColumns),
    write: (text) => {
      stdout.write(text);
    },
    note: (line) => {
      stderr.write(`${line}\n`);
    },
  };
}

const surroundings = { variables: { ...process.env }, directory: process.cwd() };
const output = processOutput();
const readable = hideEnvironment();
if (readable !== undefined) output.note(`holdfast: ${readable}`);

void runCommandLine(process.argv.slice(2), output, surroundings).then((code) => {
  // The SDK's native runtime and half-open connections would keep the process; output is flushed first.
  process.stdout.write('', () => {
    process.exit(code);
  });
});
