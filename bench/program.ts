/** What the command lines of this folder have in common as programs. */

/** Where a command line writes. */
interface ProgramOutput {
  /** One line for programs: standard output. */
  readonly result: (line: string) => void;
  /** For people: standard error. */
  readonly people: (text: string) => void;
}

/** Runs a command line; what it resolves with is the exit code, and what it throws is shown as one line, with the code 1. */
export function runProgram(
  commandLine: (args: readonly string[], output: ProgramOutput) => Promise<number>,
): void {
  commandLine(process.argv.slice(2), {
    result: (line) => process.stdout.write(`${line}\n`),
    people: (text) => process.stderr.write(`${text}\n`),
  }).then(
    (code) => {
      process.exitCode = code;
    },
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    },
  );
}
