/** `holdfast setup`: registers the search attributes. */
import type { Command } from 'commander';
import type { CommandContext, CommonOptions } from '../../client/commands/command-context';
import { print } from '../../client/commands/command-context';
import { connectClient } from '../connection';
import { readEnvironment } from '../env';
import { registerSearchAttributes } from '../search-attributes';
import { reachTemporal } from './reach-temporal';

/** Adds the command. */
export function addSetup(program: Command, context: CommandContext): void {
  program
    .command('setup')
    .description("register Holdfast's search attributes in the namespace; harmless to repeat")
    .option('--json', 'one JSON object')
    .action(async (options: CommonOptions) => {
      const server = await reachTemporal(readEnvironment());
      const connection = await connectClient(server.connect);
      try {
        const { added, present } = await registerSearchAttributes(connection, server.namespace);
        const { address, namespace } = server;
        const text =
          added.length === 0
            ? `Namespace "${namespace}" at ${address} had all search attributes.`
            : `Added to namespace "${namespace}" at ${address}: ${added.join(', ')}.`;
        print(context, options, { address, namespace, added, present }, text);
      } finally {
        await connection.close();
      }
    });
}
