/** `holdfast why`: explains a run from its history, without a model. */
import { readEnvironment } from '../../env';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';
import { whyText } from '../display/why-text';

/** Explains the run. */
export async function why(
  context: CommandContext,
  runId: string,
  options: CommonOptions,
): Promise<void> {
  const { taskQueue } = readEnvironment(context.variables, context.directory);
  const explanation = await withClient(context, (client) => client.run(runId).why(taskQueue));
  print(context, options, explanation, whyText(explanation, context.output));
}
