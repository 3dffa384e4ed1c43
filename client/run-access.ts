/** What every request about one run needs: the client, the run, and how errors are reported. */
import type { KeyObject } from 'node:crypto';
import type { WorkflowClient } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { MediaStore } from '../workflows/core/attachments';
import type { LiveTextSource } from '../workflows/core/model-call/live-text';
import { ClientError } from './client-error';
import { describeWorkflow } from './known-to-server';
import { asClientError, isNotFound } from './temporal-failure';

/** What a client needs of a store: `openStore` opens one. */
export type ClientStore = LiveTextSource & MediaStore;

/** What a client needs of an encryption: `createEncryption` makes one. */
export interface ClientEncryption {
  readonly dataConverter: DataConverter;
}

/** Access to one run. */
export interface RunAccess {
  readonly client: WorkflowClient;
  readonly address: string;
  /** Workflow id. */
  readonly runId: string;
  /** Takes the images and files of what people say, and has the text of model calls. */
  readonly store?: ClientStore | undefined;
  /** Signs decisions on approvals. */
  readonly approvalKey?: KeyObject | undefined;
}

/** Does it, and throws a `ClientError` where one can say what went wrong. */
export async function attempt<Result>(
  access: RunAccess,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    if (isNotFound(thrown)) throw await missing(access, thrown);
    throw explained(access, thrown);
  }
}

/** As `attempt`, for a sequence. */
export async function* attemptEach<Item>(
  access: RunAccess,
  items: AsyncIterable<Item>,
): AsyncGenerator<Item, void> {
  try {
    yield* items;
  } catch (thrown) {
    throw explained(access, thrown);
  }
}

/**
 * Does it so that its requests end when the signal aborts.
 *
 * The SDK leaves a listener for each request on the signal that it is given. On a signal that lives on, or one that
 * `AbortSignal.any` made, each would hold its answer for as long as the process lives; so requests get a signal of their own.
 */
export async function abortable<Result>(
  client: WorkflowClient,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  const own = new AbortController();
  const abort = (): void => {
    own.abort(signal.reason);
  };
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    return await client.withAbortSignal(own.signal, work);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function runEnded(runId: string, status: string, cause?: unknown): ClientError {
  return new ClientError(
    'run-ended',
    `Run "${runId}" has ended (${status.toLowerCase()}); nothing more can be sent to it.`,
    { cause },
  );
}

/** Cancels a run. Checks its status first, because Temporal silently accepts a cancellation of a run that has ended. */
export async function cancelRun({ client, runId }: RunAccess): Promise<void> {
  const { status } = await describeWorkflow(client, runId);
  if (status.name !== 'RUNNING') throw runEnded(runId, status.name);
  await client.getHandle(runId).cancel();
}

function explained({ client, address, runId }: RunAccess, thrown: unknown): unknown {
  return asClientError(thrown, { address, namespace: client.options.namespace, runId });
}

/** Temporal says "not found" both for a run that it does not know and for one that has ended. */
async function missing(access: RunAccess, thrown: unknown): Promise<unknown> {
  const { client, runId } = access;
  try {
    const { status } = await describeWorkflow(client, runId);
    return runEnded(runId, status.name, thrown);
  } catch {
    return explained(access, thrown);
  }
}
