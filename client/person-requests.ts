/** What people send to a run: signals at once, decisions and answers as updates that are bounded in time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { MessageSignal, ReasonSignal, UpdateAccepted } from '../workflows/contract';
import { signalNames, updateNames } from '../workflows/contract';
import type { Content } from '../workflows/core/attachments';
import type { JsonObject } from '../workflows/core/json';
import { defined } from '../workflows/core/json';
import type { PendingItem } from '../workflows/core/view/pending';
import {
  actorSchema,
  check,
  deciderSchema,
  editedInputSchema,
  itemIdSchema,
  personContentSchema,
  reasonSchema,
} from './check-input';
import { signDecision } from './approval-key';
import { contentForRun } from './start/content';
import { ClientError } from './client-error';
import { readRunKey } from './history/read-history';
import { described } from './known-to-server';
import type { RunAccess } from './run-access';
import { attempt } from './run-access';
import { pendingOf, statusOf } from './run-status';
import { isDeadlineExceeded, isTaskFailing, isUnprocessed } from './temporal-failure';

/** Milliseconds that a worker may take to accept a decision or an answer. */
const updateTimeoutMs = 15_000;

/** Milliseconds after which an update that no worker processed is sent again. */
const unprocessedPauseMs = 200;

/** Who acts, for the record. */
export interface Actor {
  readonly by?: string;
}

type Approval = Extract<PendingItem, { type: 'approval' }>;

function actor(given: Actor): Actor {
  return defined(check(actorSchema, given));
}

/** Sends `escalate` or `stop`. */
export async function sendReason(
  access: RunAccess,
  name: 'escalate' | 'stop',
  reason: string,
  by: Actor,
): Promise<void> {
  await send(access, name, { reason: check(reasonSchema, reason), ...actor(by) });
}

/** Sends `addMessage`. */
export async function sendMessage(access: RunAccess, content: Content, by: Actor): Promise<void> {
  const given = check(personContentSchema, content);
  await send(access, 'addMessage', { ...(await contentForRun(access, given)), ...actor(by) });
}

/**
 * What workers cannot decode would stop the run until a worker can, so nothing is sent by a client that cannot read the run.
 *
 * Errors: `converter-mismatch`.
 */
export async function checkReadable({ client, runId }: RunAccess): Promise<void> {
  await described(client, runId);
}

function send(
  access: RunAccess,
  name: keyof typeof signalNames,
  argument: ReasonSignal | MessageSignal,
): Promise<void> {
  const { client, runId } = access;
  return attempt(access, async () => {
    await checkReadable(access);
    await client.getHandle(runId).signal(signalNames[name], argument);
  });
}

/** Approves or rejects the action that waits under this id. */
export async function decide(
  access: RunAccess,
  approvalId: string,
  decision: { decision: 'approve'; input?: JsonObject } | { decision: 'reject'; reason: string },
  decider: Actor & { readonly digest?: string },
): Promise<void> {
  const id = check(itemIdSchema, approvalId);
  const { digest, by } = check(deciderSchema, decider);
  const particulars =
    decision.decision === 'reject'
      ? { reason: check(reasonSchema, decision.reason) }
      : { input: check(editedInputSchema.optional(), decision.input) };
  const given = {
    approvalId: id,
    // Of the action that the person saw, else of the one that waits now.
    digest: digest ?? (await actionOf(access, id)),
    decision: decision.decision,
    ...defined({ ...particulars, by }),
  };
  await update(access, updateNames.resolveApproval, {
    ...given,
    ...(await signatureOf(access, given)),
  });
}

/** The signature of a decision, if this client has a key. The run's identity is the server's word, not a worker's. */
async function signatureOf(
  access: RunAccess,
  decision: Parameters<typeof signDecision>[2],
): Promise<{ readonly signature?: string }> {
  const { approvalKey, client, runId } = access;
  if (approvalKey === undefined) return {};
  const runKey = await attempt(access, () => readRunKey(client, runId));
  return { signature: signDecision(approvalKey, runKey, decision) };
}

/** Answers the question that waits under this id. */
export async function sendAnswer(
  access: RunAccess,
  questionId: string,
  content: Content,
  by: Actor,
): Promise<void> {
  const id = check(itemIdSchema, questionId);
  const given = check(personContentSchema, content);
  const { text: answer, ...media } = await contentForRun(access, given);
  await update(access, updateNames.answer, { questionId: id, answer, ...media, ...actor(by) });
}

/** Digest of the action that waits, or that was decided on a moment ago: a second click is not an error. */
async function actionOf(access: RunAccess, approvalId: string): Promise<string> {
  const items = await attempt(access, () => pendingOf(access));
  const approvals = items.filter((item): item is Approval => item.type === 'approval');
  const found = approvals.find((item) => item.approvalId === approvalId);
  if (found !== undefined) return found.digest;
  const { decisions } = await attempt(access, () => statusOf(access));
  const decided = decisions?.find(({ id }) => id === approvalId)?.digest;
  if (decided !== undefined) return decided;
  throw new ClientError(
    'refused',
    `No approval "${approvalId}" waits in run "${access.runId}". Waiting: ${approvals.map((item) => item.approvalId).join(', ') || 'none'}.`,
  );
}

/** The run itself counts the same decision or answer once: a double click, or a repeat after a lost answer. */
async function update(access: RunAccess, name: string, argument: object): Promise<void> {
  const { runId } = access;
  await attempt(access, async () => {
    await checkReadable(access);
    try {
      await sendUpdate(access, name, argument);
    } catch (thrown) {
      if (isTaskFailing(thrown))
        throw new ClientError(
          'no-worker',
          `No worker can take it: the workflow task of run "${runId}" fails. \`holdfast why ${runId}\` says why.`,
          { cause: thrown },
        );
      if (!isDeadlineExceeded(thrown) && !isUnprocessed(thrown)) throw thrown;
      throw new ClientError(
        'no-worker',
        `No worker took it within ${updateTimeoutMs / 1_000} s. Start one (\`holdfast worker\`) and send it again; sent twice it counts once.`,
        { cause: thrown },
      );
    }
  });
}

/** Sends it until a worker has processed it or its time is over. */
async function sendUpdate(
  { client, runId }: RunAccess,
  name: string,
  argument: object,
): Promise<void> {
  const deadline = Date.now() + updateTimeoutMs;
  for (;;) {
    try {
      await client.withDeadline(deadline, () =>
        client.getHandle(runId).executeUpdate<UpdateAccepted, [object]>(name, { args: [argument] }),
      );
      return;
    } catch (thrown) {
      const isLast = Date.now() + unprocessedPauseMs >= deadline;
      if (isLast || !isUnprocessed(thrown)) throw thrown;
    }
    await delay(unprocessedPauseMs);
  }
}
