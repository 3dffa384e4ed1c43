/** Turns the errors of a run into observations: looks the calls up in the transcript, and keeps none of their values. */
import { errorFingerprint, errorKindText } from '../../workflows/core/errors/error-fingerprint';
import type { JsonObject } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import { defaultTenant } from '../../workflows/core/limits';
import type { ObservedError } from '../../workflows/core/learning/ports';
import type { Message } from '../../workflows/core/message';
import type { RunConfig } from '../definitions/run-config';
import type { Fix, Observation } from '../stores/patterns/pattern-shape';
import type { Store } from '../stores/store';
import { isJsonObject } from '../tools/input-schema';
import type { CallWithInput, ReadResult } from './fix-template';
import { fixBetween } from './fix-template';
import { afterUse } from './evidence';

/** Results before a call in which its values are looked for (ADR 0027). */
export const searchedResults = 20;

interface Transcript {
  readonly calls: ReadonlyMap<string, CallWithInput & { readonly place: number }>;
  readonly results: readonly (ReadResult & { readonly place: number })[];
}

function readTranscript(messages: readonly Message[]): Transcript {
  const calls = new Map<string, CallWithInput & { place: number }>();
  const results: (ReadResult & { place: number })[] = [];
  messages.forEach((message, place) => {
    if (message.role === 'assistant')
      for (const block of message.blocks)
        if (block.type === 'tool-call')
          calls.set(block.toolCallId, { tool: block.name, input: block.input, place });
    if (message.role === 'tool')
      for (const { name, content, isError } of message.results)
        if (!isError) results.push({ tool: name, text: content, place });
  });
  return { calls, results };
}

async function failedInput(
  store: Store,
  { calls }: Transcript,
  { callId, inputBlob }: ObservedError,
): Promise<JsonObject | undefined> {
  if (inputBlob === undefined) return callId === undefined ? undefined : calls.get(callId)?.input;
  const value: unknown = JSON.parse((await store.getBlob(inputBlob)).toString('utf8'));
  return isJsonObject(value) ? value : undefined;
}

/** The call that worked. A call by the runtime could use every result. */
function workedCall(
  { calls }: Transcript,
  { tool, callId, input }: NonNullable<ObservedError['fix']>,
): (CallWithInput & { readonly place: number }) | undefined {
  if (input !== undefined) return { tool, input, place: Number.MAX_SAFE_INTEGER };
  return callId === undefined ? undefined : calls.get(callId);
}

async function fixOf(
  store: Store,
  config: RunConfig,
  transcript: Transcript,
  error: ObservedError,
): Promise<Fix | undefined> {
  const input = await failedInput(store, transcript, error);
  const worked = error.fix && workedCall(transcript, error.fix);
  if (input === undefined || worked === undefined) return undefined;
  const spec = config.tools.find(({ name }) => name === worked.tool);
  const results = transcript.results.filter(({ place }) => place < worked.place);
  return fixBetween(
    { tool: error.tool, input },
    worked,
    spec?.inputSchema ?? {},
    results.slice(-searchedResults),
  );
}

/**
 * Records how errors ended, and whether the patterns used for them helped.
 *
 * Errors: `store_unavailable`, `store_corrupt`.
 */
export async function recordErrors(
  store: Store,
  config: RunConfig,
  messages: readonly Message[],
  errors: readonly ObservedError[],
): Promise<void> {
  const transcript = readTranscript(messages);
  const observations: Observation[] = [];
  for (const error of errors) {
    const { key, tool, code, message, fixedBy, patternId, atMs } = error;
    const fix = await fixOf(store, config, transcript, error);
    observations.push({
      key,
      tenant: config.tenant ?? defaultTenant,
      agent: config.agent,
      tool,
      errorCode: code,
      errorFingerprint: errorFingerprint(code, message),
      errorText: errorKindText(message),
      fixedBy,
      ...defined({ fix, patternId }),
      atMs,
    });
  }
  await store.patterns.recordObservations(observations);
  for (const { patternId, key, fixedBy, atMs } of observations)
    if (patternId !== undefined) {
      const use = { key, helped: fixedBy !== 'none' };
      await store.patterns.updatePattern(patternId, (known) => known && afterUse(known, use, atMs));
    }
}
