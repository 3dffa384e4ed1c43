/** What people send to a run: `holdfast approve`, `reject` and `answer` end a wait, the others reach a run in progress. */
import { readFile } from 'node:fs/promises';
import { check, editedInputSchema } from '../../../client/check-input';
import { ClientError, reasonOf } from '../../../client/client-error';
import type { Actor } from '../../../client/person-requests';
import type { RunHandle } from '../../../client/run-handle';
import type { JsonObject } from '../../../workflows/core/json';
import { defined } from '../../../workflows/core/json';
import type { PendingItem } from '../../../workflows/core/view/pending';
import { shellWord } from '../../../workflows/core/view/shell-word';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';
import { withContent } from '../attached-files';
import { argumentLines } from '../display/argument-lines';

type Options = CommonOptions & Actor;
type SayOptions = Options & { readonly file?: readonly string[] };
type DecisionOptions = Options & { readonly digest?: string };
type ReasonOptions = Options & { readonly reason: string };

// The command line's other options are none of the client's.
const actorOf = ({ by }: Actor): Actor => defined({ by });
const deciderOf = ({ by, digest }: DecisionOptions): DecisionOptions => defined({ by, digest });

/** Approves an action, perhaps with other arguments. */
export async function approve(
  context: CommandContext,
  runId: string,
  given: string | undefined,
  options: DecisionOptions & { readonly edit?: string },
): Promise<void> {
  const input = options.edit === undefined ? undefined : await readEdit(options.edit);
  const edited = defined({ input });
  await withClient(context, async (client) => {
    const run = client.run(runId);
    const approvalId = await chooseItem(run, 'approval', given);
    const asked = (await run.pending()).find(
      (item) => item.type === 'approval' && item.approvalId === approvalId,
    );
    await run.approve(approvalId, { ...deciderOf(options), ...edited });
    const how = input === undefined ? '' : ' with changed arguments';
    const shown = asked?.type === 'approval' && input === undefined ? asked.shown : undefined;
    const lines = shown === undefined ? [] : argumentLines(shown).map(({ text }) => text);
    const text = [`approved ${approvalId}${how}`, ...lines].join('\n');
    print(context, options, { runId, approvalId, decision: 'approve', ...edited }, text);
  });
}

/** Rejects an action. */
export async function reject(
  context: CommandContext,
  runId: string,
  given: string | undefined,
  options: DecisionOptions & ReasonOptions,
): Promise<void> {
  await withClient(context, async (client) => {
    const run = client.run(runId);
    const approvalId = await chooseItem(run, 'approval', given);
    await run.reject(approvalId, options.reason, deciderOf(options));
    const value = { runId, approvalId, decision: 'reject' };
    print(context, options, value, `rejected ${approvalId}`);
  });
}

/** Answers a question. */
export async function answer(
  context: CommandContext,
  runId: string,
  text: string,
  options: SayOptions & { readonly question?: string },
): Promise<void> {
  await withContent(context, text, options.file, async (client, content) => {
    const run = client.run(runId);
    const questionId = await chooseItem(run, 'question', options.question);
    await run.answer(questionId, content, actorOf(options));
    print(context, options, { runId, questionId, answered: true }, `answered ${questionId}`);
  });
}

/**
 * The id that was given, else that of the only item of this type that waits.
 *
 * Errors: `refused` if no such item waits, or more than one.
 */
async function chooseItem(
  run: RunHandle,
  type: PendingItem['type'],
  given: string | undefined,
): Promise<string> {
  if (given !== undefined) return given;
  const ids = (await run.pending()).flatMap((item) => {
    if (item.type !== type) return [];
    return [item.type === 'approval' ? item.approvalId : item.questionId];
  });
  const [only] = ids;
  if (only !== undefined && ids.length === 1) return only;
  throw new ClientError(
    'refused',
    ids.length === 0
      ? `No ${type} waits in run "${run.runId}". To see what it does: holdfast show ${shellWord(run.runId)}`
      : `${ids.length} items of type ${type} wait in run "${run.runId}". Give the id of one: ${ids.join(', ')}.`,
  );
}

/**
 * Reads the changed arguments of `--edit`: JSON, or the name of a file that holds it.
 *
 * Errors: `invalid-input`.
 */
async function readEdit(given: string): Promise<JsonObject> {
  const isJson = /^\s*[{["]/.test(given);
  const remedy = 'Give a JSON object with all the arguments, or a file that holds one.';
  let value: unknown;
  try {
    value = JSON.parse(isJson ? given : await readFile(given, 'utf8'));
  } catch (thrown) {
    const what = isJson ? 'The changed arguments' : `The file ${given}`;
    throw new ClientError(
      'invalid-input',
      `${what} cannot be read: ${reasonOf(thrown)}. ${remedy}`,
    );
  }
  return check(editedInputSchema, value, remedy);
}

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

/** Sends a message to the model. */
export async function message(
  context: CommandContext,
  runId: string,
  text: string,
  options: SayOptions,
): Promise<void> {
  await withContent(context, text, options.file, (client, content) =>
    client.run(runId).addMessage(content, actorOf(options)),
  );
  print(context, options, { runId, sent: 'message' }, `sent message to ${runId}`);
}

/** Hands the run to a person. */
export function escalate(
  context: CommandContext,
  runId: string,
  options: ReasonOptions,
): Promise<void> {
  return send(context, runId, options, 'escalate', (run) =>
    run.escalate(options.reason, actorOf(options)),
  );
}

/** Ends the run with what it has so far. */
export function stop(
  context: CommandContext,
  runId: string,
  options: ReasonOptions,
): Promise<void> {
  return send(context, runId, options, 'stop', (run) => run.stop(options.reason, actorOf(options)));
}

/** Cancels the workflow. */
export function cancel(
  context: CommandContext,
  runId: string,
  options: CommonOptions,
): Promise<void> {
  return send(context, runId, options, 'cancel', (run) => run.cancel());
}
