/** `holdfast escalate`, `stop`, `cancel` and `message`: what a person may send to a run in progress. */
import type { Actor } from '../../../client/person-requests';
import type { RunHandle } from '../../../client/run-handle';
import { defined } from '../../../workflows/core/json';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';

type Options = CommonOptions & Actor;
type ReasonOptions = Options & { readonly reason: string };

async function send(
  context: CommandContext,
  runId: string,
  options: CommonOptions,
  sent: string,
  request: (run: RunHandle) => Promise<void>,
): Promise<void> {
  await withClient(context, (client) => request(client.run(runId)));
  print(context, options, { runId, sent }, `sent ${sent} to ${runId}`);
}

/** Hands the run to a person. */
export function escalate(
  context: CommandContext,
  runId: string,
  options: ReasonOptions,
): Promise<void> {
  const { reason, by } = options;
  return send(context, runId, options, 'escalate', (run) => run.escalate(reason, defined({ by })));
}

/** Ends the run with what it has so far. */
export function stop(
  context: CommandContext,
  runId: string,
  options: ReasonOptions,
): Promise<void> {
  const { reason, by } = options;
  return send(context, runId, options, 'stop', (run) => run.stop(reason, defined({ by })));
}

/** Cancels the workflow. */
export function cancel(
  context: CommandContext,
  runId: string,
  options: CommonOptions,
): Promise<void> {
  return send(context, runId, options, 'cancel', (run) => run.cancel());
}

/** Sends a message to the model. */
export function message(
  context: CommandContext,
  runId: string,
  text: string,
  options: Options,
): Promise<void> {
  const by = defined({ by: options.by });
  return send(context, runId, options, 'message', (run) => run.addMessage(text, by));
}
