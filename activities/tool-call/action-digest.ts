/** What makes two calls of a tool the same action: the arguments that the tool gets, after its schema (ADR 0037). */
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalJson, contentHash } from '../stores/content-hash';
import type { Tool } from '../tools/tool';

/** Milliseconds after which a schema that fills in the time fills in another one. */
const nextTimeMs = 2;

/** Whether JSON carries all of a value: a `Map` would become an empty object. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isPlain);
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === Object.prototype || prototype === null) && Object.values(value).every(isPlain)
  );
}

function jsonOf(value: unknown): string | undefined {
  try {
    return isPlain(value) ? canonicalJson(value) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Digest of an action; `given` are the model's arguments, `ran` what the tool's schema made of them.
 *
 * Contract: equal where the schema fills in or converts to the same; of the given arguments where JSON cannot carry what it made,
 * or where it makes something else each time, like the time or a random number.
 */
export async function actionDigest(
  { parse }: Pick<Tool, 'parse'>,
  given: unknown,
  ran: unknown,
): Promise<string> {
  const [json, wanted] = [jsonOf(ran), canonicalJson(given)];
  if (json === undefined || json === wanted) return contentHash(wanted);
  await sleep(nextTimeMs);
  const again = parse(given);
  return contentHash(again.ok && jsonOf(again.value) === json ? json : wanted);
}
