/** What the command lines of this folder have in common as programs. */

/** Where a command line writes. */
export interface ProgramOutput {
  /** One line for programs: standard output. */
  readonly result: (line: string) => void;
  /** For people: standard error. */
  readonly people: (text: string) => void;
}

/** A whole number of at least `least`, given as `--name`. Errors: throws with the option and its value. */
export function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${name} is "${text}": give a whole number from ${least}.`);
}

/** The areas that `--only` asks for: the one with this name, or all of them. Errors: throws if there is none. */
export function wantedAreas<Area extends { readonly name: string }>(
  areas: readonly Area[],
  only: string | undefined,
): readonly Area[] {
  const wanted = areas.filter(({ name }) => only === undefined || only === name);
  if (wanted.length === 0) throw new Error(`There is no area "${only ?? ''}".`);
  return wanted;
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
