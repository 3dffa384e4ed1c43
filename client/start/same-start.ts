/** A start that may be sent twice: its key decides the run's id, and a digest of what was asked for tells a repeat from another start. */
import { createHash } from 'node:crypto';
import type { WorkflowClient } from '@temporalio/client';
import type { JsonValue } from '../../workflows/core/json';
import { defaultTenant } from '../../workflows/core/limits';
import { argumentsText } from '../../workflows/core/people/signed-decision';
import { ClientError } from '../client-error';
import { described } from '../known-to-server';

/** Name of the digest in a run's memo. */
const memoName = 'holdfastStart';
/** Characters of a digest in a run's id: 144 bits. */
const idChars = 24;

/** Which run a start is, and what it asks for. */
export interface StartIdentity {
  readonly runId: string;
  readonly memo: { readonly [memoName]: string };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** The identity of a start with a key; keys of different tenants never meet. `asked` is everything that decides what the run does. */
export function identityOf(
  key: string,
  tenant: string = defaultTenant,
  asked: object,
): StartIdentity {
  const runId = `run-${sha256(JSON.stringify([tenant, key])).slice(0, idChars)}`;
  // A JSON round trip leaves out what is undefined.
  const text = argumentsText(JSON.parse(JSON.stringify(asked)) as JsonValue);
  return { runId, memo: { [memoName]: sha256(text) } };
}

/** Errors: `key-reused` if the run that has the id was asked for something else. */
export async function checkSameStart(
  client: WorkflowClient,
  key: string,
  { runId, memo }: StartIdentity,
): Promise<void> {
  const known = await described(client, runId);
  if (known.memo?.[memoName] === memo[memoName]) return;
  throw new ClientError(
    'key-reused',
    `The idempotency key ${JSON.stringify(key)} has started run "${runId}" with another request. Use a new key for a new start, and repeat a start unchanged. Nothing was started.`,
  );
}
