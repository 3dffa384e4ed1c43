/** What the commands that work on this machine are given, beside what every command has. */
import type { CommandContext } from './command-context';

/** Where a command runs. */
export interface Surroundings {
  /** The environment's variables, for `readEnvironment`. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Where relative paths begin. */
  readonly directory: string;
}

/** Given by the composition root to each command of `workers/cli`. */
export interface CommandLineContext extends CommandContext, Surroundings {}
