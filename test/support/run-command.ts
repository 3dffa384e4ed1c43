/** Runs a command of the command line in this process. */
import { runCommandLine } from '../../workers/cli/command-line';

/** The variables that a command sees. */
export type Variables = Readonly<Record<string, string>>;

/** What a command came to. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Where a command runs. */
export interface CommandPlace {
  readonly variables: Variables;
  /** Default: that of this process. */
  readonly directory?: string;
  /** On a terminal of this width. Default: in a pipe. */
  readonly columns?: number | undefined;
}

/** Runs `holdfast ARGS` with these variables alone. */
export async function runCommand(
  args: readonly string[],
  { variables, directory = process.cwd(), columns }: CommandPlace,
): Promise<Ended> {
  let out = '';
  let err = '';
  const output = {
    isTerminal: columns !== undefined,
    hasColors: false,
    columns: () => columns ?? 120,
    write: (text: string) => {
      out += text;
    },
    note: (line: string) => {
      err += `${line}\n`;
    },
  };
  const code = await runCommandLine(args, output, { variables, directory });
  return { code, out, err };
}
