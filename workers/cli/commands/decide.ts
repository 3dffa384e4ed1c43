/** `holdfast approve`, `reject` and `answer`: end a wait for a person. */
import { readFile } from 'node:fs/promises';
import { check, editedInputSchema } from '../../../client/check-input';
import { ClientError, reasonOf } from '../../../client/client-error';
import type { RunHandle } from '../../../client/run-handle';
import type { JsonObject } from '../../../workflows/core/json';
import { defined } from '../../../workflows/core/json';
import type { PendingItem } from '../../../workflows/core/view/pending';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';

interface DecisionOptions extends CommonOptions {
  readonly by?: string;
  readonly digest?: string;
}

/** Sends a decision and prints what was done. */
async function decide(
  context: CommandContext,
  runId: string,
  given: string | undefined,
  options: DecisionOptions,
  decision: { readonly name: 'approve' | 'reject'; readonly text: string; readonly input?: object },
  send: (run: RunHandle, approvalId: string) => Promise<void>,
): Promise<void> {
  await withClient(context, async (client) => {
    const run = client.run(runId);
    const approvalId = await chooseItem(run, 'approval', given);
    await send(run, approvalId);
    const { name, text, input } = decision;
    const value = { runId, approvalId, decision: name, ...defined({ input }) };
    print(
      context,
      options,
      value,
      text.replace('ID', () => approvalId),
    );
  });
}

/** Approves an action, perhaps with other arguments. */
export async function approve(
  context: CommandContext,
  runId: string,
  given: string | undefined,
  options: DecisionOptions & { readonly edit?: string },
): Promise<void> {
  const { by, digest, edit } = options;
  const input = edit === undefined ? undefined : await readEdit(edit);
  const text = `approved ID${input === undefined ? '' : ' with changed arguments'}`;
  const decision = { name: 'approve', text, ...defined({ input }) } as const;
  await decide(context, runId, given, options, decision, (run, id) =>
    run.approve(id, defined({ by, digest, input })),
  );
}

/** Rejects an action. */
export async function reject(
  context: CommandContext,
  runId: string,
  given: string | undefined,
  options: DecisionOptions & { readonly reason: string },
): Promise<void> {
  const { by, digest, reason } = options;
  const decision = { name: 'reject', text: 'rejected ID' } as const;
  await decide(context, runId, given, options, decision, (run, id) =>
    run.reject(id, reason, defined({ by, digest })),
  );
}

/** Answers a question. */
export async function answer(
  context: CommandContext,
  runId: string,
  text: string,
  options: CommonOptions & { readonly by?: string; readonly question?: string },
): Promise<void> {
  await withClient(context, async (client) => {
    const run = client.run(runId);
    const questionId = await chooseItem(run, 'question', options.question);
    await run.answer(questionId, text, defined({ by: options.by }));
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
      ? `No ${type} waits in run "${run.runId}". To see what it does: holdfast show ${run.runId}.`
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
