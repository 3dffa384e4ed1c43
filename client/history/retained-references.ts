/** What the runs in Temporal's retention name: every hash-shaped text in their histories and memos, decoded. */
import type { WorkflowClient } from '@temporalio/client';
import type { LoadedDataConverter, Payload } from '@temporalio/common';
import { decode } from '@temporalio/common/lib/internal-non-workflow';
import { agentRunWorkflow, type AgentRunInput } from '../../workflows/contract';
import { hashesIn, valuesIn } from '../../workflows/core/context/content-references';
import { defaultTenant } from '../../workflows/core/limits';
import { readable } from '../known-to-server';
import { isNotFound, unreadableHistory } from '../temporal-failure';
import { historyPages } from './pages';

/** References of all retained runs. */
interface Gathered {
  readonly hashes: Set<string>;
  /** `<workflow id>/<first run id>`. */
  readonly runKeys: Set<string>;
  /** Stores that the runs name. */
  readonly storeIds: Set<string>;
}

/** Histories read at once. */
const parallel = 8;

function isPayload(value: object): value is Payload {
  return 'metadata' in value && 'data' in value && value.data instanceof Uint8Array;
}

/** Every payload in a message of Temporal's, however deep. */
function payloadsIn(value: unknown, found: Payload[] = []): readonly Payload[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return found;
  if (isPayload(value)) found.push(value);
  else for (const inner of Object.values(value) as readonly unknown[]) payloadsIn(inner, found);
  return found;
}

/** Encodings whose data is the text itself, and what the SDK's core writes in no encoding. */
const plainEncodings: ReadonlySet<string> = new Set([
  'json/plain',
  'binary/plain',
  'binary/null',
  '',
]);

/** The texts of payloads. Errors: for one that the converter cannot read, since what it names would seem unused. */
async function textsOf(
  { payloadCodecs, payloadConverter }: LoadedDataConverter,
  payloads: readonly Payload[],
): Promise<readonly string[]> {
  const plain = await decode(payloadCodecs, [...payloads]);
  return plain.map((payload) => {
    const { data, metadata } = payload;
    const text = Buffer.from(data ?? []).toString('utf8');
    const encoding = Buffer.from(metadata?.['encoding'] ?? []).toString('utf8');
    if (plainEncodings.has(encoding)) return text;
    return `${text} ${JSON.stringify(payloadConverter.fromPayload(payload))}`;
  });
}

function take(gathered: Gathered, text: string): void {
  for (const hash of hashesIn(text)) gathered.hashes.add(hash);
  for (const id of valuesIn(text, 'storeId')) gathered.storeIds.add(id);
  // Also the keys of the runs that a fork builds on, whose records it still needs (ADR 0037).
  for (const key of valuesIn(text, 'runKey|treeKey')) gathered.runKeys.add(key);
}

/** One segment of a run, as the server lists it. */
export interface RunExecution {
  readonly workflowId: string;
  readonly runId: string;
  readonly isRunning: boolean;
}

/** Which runs are apart from the others: by the id of the workflow, and the tenant of its request. */
export type IsApart = (workflowId: string, tenant: string) => boolean;

/** The tenant that a segment was started for. */
async function tenantOf(
  client: WorkflowClient,
  { input }: { readonly input?: { readonly payloads?: readonly Payload[] | null } | null },
): Promise<string> {
  const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
  const [first] = await decode(payloadCodecs, [...(input?.payloads ?? [])]);
  const given = first && payloadConverter.fromPayload<Partial<AgentRunInput> | null>(first);
  return given?.request?.tenant ?? defaultTenant;
}

async function takeHistory(
  client: WorkflowClient,
  execution: RunExecution,
  memo: unknown,
  { apart, others }: Parted,
  isApart: IsApart,
): Promise<void> {
  const { loadedDataConverter } = client.options;
  const { workflowId } = execution;
  let gathered = others;
  const unreadable = (thrown: unknown): never => {
    throw unreadableHistory(workflowId, thrown);
  };
  for await (const events of historyPages(client, execution)) {
    for (const event of events) {
      const started = event.workflowExecutionStartedEventAttributes;
      if (!started) continue;
      const tenant = await tenantOf(client, started).catch(unreadable);
      if (isApart(workflowId, tenant)) {
        gathered = apart;
        apart.executions.push(execution);
      }
      take(gathered, JSON.stringify(memo ?? {}));
      const { firstExecutionRunId } = started;
      if (firstExecutionRunId) gathered.runKeys.add(`${workflowId}/${firstExecutionRunId}`);
    }
    const texts = await textsOf(loadedDataConverter, payloadsIn(events)).catch(unreadable);
    for (const text of texts) take(gathered, text);
  }
}

/** What some runs name, and what all others do. */
export interface Parted {
  readonly apart: Gathered & { readonly executions: RunExecution[] };
  readonly others: Gathered;
}

const nothing = (): Gathered => ({ hashes: new Set(), runKeys: new Set(), storeIds: new Set() });

/**
 * Reads the histories of all runs that Temporal still has, of every segment, and counts the segments.
 *
 * Errors: what the server says; `converter-mismatch`. Nothing may be removed on half a list.
 */
export async function retainedReferences(
  client: WorkflowClient,
  isApart: IsApart = () => false,
): Promise<Parted & { readonly segments: number }> {
  const parted: Parted = { apart: { ...nothing(), executions: [] }, others: nothing() };
  const open = new Set<Promise<void>>();
  let segments = 0;
  const listed = client.list({ query: `WorkflowType = '${agentRunWorkflow}'` });
  for await (const run of readable(client, listed)) {
    const { workflowId, runId, memo, status } = run;
    segments += 1;
    const execution = { workflowId, runId, isRunning: status.name === 'RUNNING' };
    const reading: Promise<void> = takeHistory(client, execution, memo, parted, isApart)
      .catch((thrown: unknown) => {
        // Deleted since it was listed.
        if (!isNotFound(thrown)) throw thrown;
      })
      .finally(() => open.delete(reading));
    open.add(reading);
    if (open.size >= parallel) await Promise.race(open);
  }
  await Promise.all(open);
  return { ...parted, segments };
}
