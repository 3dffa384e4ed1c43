/** What every command works with: where it runs, where it prints, and how it reaches Temporal. */
import type { AgentClient } from '../../client/agent-client';
import type { ConnectOptions } from '../../client/connect-options';
import { printableJson } from './display/printable';

/** Where a command prints. Results go to standard output, notes about them to standard error. */
export interface CommandOutput {
  readonly isTerminal: boolean;
  readonly hasColors: boolean;
  /** Width of the terminal in columns. */
  readonly columns: () => number;
  /** Writes to standard output unchanged. */
  readonly write: (text: string) => void;
  /** Writes one line to standard error. */
  readonly note: (line: string) => void;
}

/** Where a command runs. */
export interface Surroundings {
  /** The environment's variables, for `readEnvironment`. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Base of relative paths. */
  readonly directory: string;
}

/** What the composition root gives to commands. */
export interface CommandContext extends Surroundings {
  readonly output: CommandOutput;
  /** Connects to the environment's Temporal, or the embedded one; with a store, images and files can be sent, and text be watched. The command closes the client. */
  readonly connect: (
    options?: Pick<ConnectOptions, 'store' | 'taskQueue' | 'answerTimeoutMs'>,
  ) => Promise<AgentClient>;
  /** Sets the exit code of the process. Default 0. */
  readonly exitWith: (code: number) => void;
}

/** Options that every command has. */
export interface CommonOptions {
  readonly json?: boolean;
}

/** Connects, does the work, and closes the connection in any case. */
export async function withClient<Result>(
  { connect }: Pick<CommandContext, 'connect'>,
  work: (client: AgentClient) => Promise<Result>,
  options: Pick<ConnectOptions, 'store'> = {},
): Promise<Result> {
  const client = await connect(options);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Prints one value: as JSON on one line, or as text for people. */
export function print(
  { output }: Pick<CommandContext, 'output'>,
  { json }: CommonOptions,
  value: object,
  text: string,
): void {
  output.write(`${json === true ? printableJson(value) : text}\n`);
}
