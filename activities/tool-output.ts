/** What the model gets of a tool's output: sanitised, fenced, bounded, with a way to read on. */
import type { RunToolInput } from '../workflows/core/ports';
import { stripHidden } from '../workflows/core/secrets/hidden-characters';
import { sanitiseText } from './sanitise';
import { sanitiseWhole } from './sanitise-whole';
import { fenceToolOutput } from './fence';
import type { Store } from './store';

/** Characters of one tool result that the model gets at once (ADR 0003); the whole is in the store. */
const modelOutputChars = 16_000;

/** Output as the model reads it, and the blob of the whole where this is only a part. */
export interface ShownOutput {
  readonly content: string;
  readonly blob?: string;
  /** Bytes of the whole output. */
  readonly bytes: number;
  /** Sanitised, unfenced head, for previews. */
  readonly plain: string;
}

/**
 * A tool's return value as text: a string as it is, anything else as JSON.
 *
 * Contract: never throws. Hidden characters go before JSON spells them, so that they split no secret. What JSON cannot carry (a cycle, a bigint) is named, since the call is done all the same and must
 * not pass for a failed one.
 */
export function outputText(output: unknown): string {
  if (typeof output === 'string') return output;
  try {
    const json: unknown = JSON.stringify(output, (_key, value: unknown) =>
      typeof value === 'string' ? stripHidden(value) : value,
    );
    return typeof json === 'string' ? json : '';
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : 'not JSON';
    return `(the tool finished, but JSON cannot carry its output: ${why})`;
  }
}

/**
 * Prepares an output for the model.
 *
 * Contract: deterministic in its arguments; the stored whole is sanitised like the part that is shown.
 */
export async function showOutput(
  store: Store,
  call: Pick<RunToolInput, 'name' | 'toolCallId'>,
  workspace: string | undefined,
  text: string,
): Promise<ShownOutput> {
  const root = workspace === undefined ? {} : { root: workspace };
  const bytes = Buffer.byteLength(text);
  const plain = sanitiseText(text, { maxChars: modelOutputChars, ...root });
  if (text.length <= modelOutputChars)
    return { content: fenceToolOutput(call.name, plain, call.toolCallId), bytes, plain };
  const blob = await store.putBlob(await sanitiseWhole(text, workspace));
  const readOn = `\n[The whole output has ${bytes} bytes. Read on with read_output, ref "${blob}".]`;
  return {
    content: fenceToolOutput(call.name, plain, call.toolCallId) + readOn,
    blob,
    bytes,
    plain,
  };
}
