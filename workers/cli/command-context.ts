/** What every command works with: where it prints, and how it reaches Temporal. */
import type { AgentClient } from '../../client/agent-client';

/** Where a command prints. Results go to standard output, notes about them to standard error. */
export interface CommandOutput {
  readonly isTerminal: boolean;
  readonly hasColors: boolean;
  /** Width of the terminal in columns. */
  readonly columns: () => number;
  /** Writes to standard output as it is. */
  readonly write: (text: string) => void;
  /** Writes one line to standard error. */
  readonly note: (line: string) => void;
}

/** What commands are given by the composition root. */
export interface CommandContext {
  readonly output: CommandOutput;
  /** Connects to the environment's Temporal, or the embedded one. The command closes the client. */
  readonly connect: () => Promise<AgentClient>;
  /** Says which exit code the process ends with. Default 0. */
  readonly exitWith: (code: number) => void;
}

/** Options that every command has. */
export interface CommonOptions {
  readonly json?: boolean;
}

/** Connects, does it, and closes the connection whatever happens. */
export async function withClient<Result>(
  { connect }: CommandContext,
  work: (client: AgentClient) => Promise<Result>,
): Promise<Result> {
  const client = await connect();
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Prints one value: as JSON on one line, or as people read it. */
export function print(
  { output }: CommandContext,
  { json }: CommonOptions,
  value: object,
  text: string,
): void {
  output.write(`${json === true ? JSON.stringify(value) : text}\n`);
}
