/** What Temporal's server knows of runs. Most of it is read without memos: those need the data converter of whoever started the run. */
import type {
  WorkflowClient,
  WorkflowExecutionDescription,
  WorkflowExecutionInfo,
} from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers';
import { WorkflowNotFoundError } from '@temporalio/common';
import { decodingFailure } from './temporal-failure';

type RawInfo = Parameters<typeof executionInfoFromRaw>[0];

function infoOf({ options }: WorkflowClient, raw: RawInfo): Promise<WorkflowExecutionInfo> {
  const withoutMemo = Object.create(raw, { memo: { value: null } }) as RawInfo;
  return executionInfoFromRaw(withoutMemo, options.loadedDataConverter, raw, options.namespace);
}

/** A workflow as it is now. Errors: what the server says. */
export async function describeWorkflow(
  client: WorkflowClient,
  workflowId: string,
): Promise<WorkflowExecutionInfo> {
  const { namespace } = client.options;
  const { workflowExecutionInfo: raw } = await client.workflowService.describeWorkflowExecution({
    namespace,
    execution: { workflowId },
  });
  if (raw == null) throw new WorkflowNotFoundError('The server described nothing', workflowId, '');
  return infoOf(client, raw);
}

/** One page of a list. */
interface WorkflowPage {
  readonly infos: readonly WorkflowExecutionInfo[];
  /** Where the next page begins; empty after the last one. */
  readonly nextPageToken: Uint8Array;
}

/** A page of what a visibility query finds. Errors: what the server says. */
export async function workflowPage(
  client: WorkflowClient,
  query: string,
  pageSize: number,
  nextPageToken: Uint8Array = new Uint8Array(),
): Promise<WorkflowPage> {
  const { namespace } = client.options;
  const { executions, nextPageToken: next } = await client.workflowService.listWorkflowExecutions({
    namespace,
    query,
    pageSize,
    nextPageToken,
  });
  return {
    infos: await Promise.all(executions.map((raw) => infoOf(client, raw))),
    nextPageToken: next,
  };
}

/** Everything that a visibility query finds, page after page. Errors: what the server says. */
export async function* workflowsOf(
  client: WorkflowClient,
  query: string,
  pageSize: number,
): AsyncGenerator<WorkflowExecutionInfo> {
  let token: Uint8Array | undefined;
  do {
    const { infos, nextPageToken } = await workflowPage(client, query, pageSize, token);
    yield* infos;
    token = nextPageToken;
  } while (token.length > 0);
}

/** A list of runs, whose memos are decoded one by one. Errors: as `described`. */
export async function* readable<Item>(
  { options: { namespace } }: WorkflowClient,
  items: AsyncIterable<Item>,
): AsyncGenerator<Item, void> {
  try {
    yield* items;
  } catch (thrown) {
    throw decodingFailure(namespace, thrown);
  }
}

/**
 * A run as the server knows it, with its memo decoded.
 *
 * Errors: of the server; `converter-mismatch` for a memo that this client cannot read.
 */
export async function described(
  client: WorkflowClient,
  workflowId: string,
): Promise<WorkflowExecutionDescription> {
  try {
    return await client.getHandle(workflowId).describe();
  } catch (thrown) {
    throw decodingFailure(workflowId, thrown);
  }
}
