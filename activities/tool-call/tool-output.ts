/** A tool's output as the model gets it: sanitized, fenced, bounded, with a ref to read on. */
import type { RunToolInput } from '../../workflows/core/tools/ports';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import { cutMiddle, sanitizeText, sanitizeWhole } from '../untrusted/sanitizer';
import { fenceToolOutput } from '../untrusted/fence';
import type { Store } from '../stores/store';

/** Characters of one tool result that the model gets (ADR 0003); the whole is in the store. */
const modelOutputChars = 16_000;

/** Characters of one output that are stored, 64 Mi; of a longer one, head and tail (ADR 0003). */
export const keptOutputChars = 64 * 1024 * 1024;

/** Output as the model reads it, and the blob of the whole where this is only a part. */
export interface ShownOutput {
  readonly content: string;
  readonly blob?: string;
  /** Bytes of the output, as far as it is stored. */
  readonly bytes: number;
  /** Sanitized, unfenced head, for previews. */
  readonly plain: string;
  /** Sanitized, unfenced, nothing left out. */
  readonly whole: string;
}

/**
 * A tool's return value as text: a string unchanged, anything else as JSON; of a very long one, head and tail, because cleaning,
 * comparing and storing it take time and memory.
 *
 * Contract: never throws. Hidden characters are removed before JSON escapes them, so that they cannot split a secret. If JSON
 * cannot hold the value (a cycle, a bigint), the text says so: the call is done and must not look failed.
 */
export function outputText(output: unknown): string {
  if (typeof output === 'string') return cutMiddle(output, keptOutputChars);
  try {
    const json: unknown = JSON.stringify(output, (_key, value: unknown) =>
      typeof value === 'string' ? stripHidden(value) : value,
    );
    return typeof json === 'string' ? cutMiddle(json, keptOutputChars) : '';
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : 'not JSON';
    return `(the tool finished, but its output cannot be written as JSON: ${why})`;
  }
}

/**
 * Prepares an output for the model.
 *
 * Contract: deterministic in its arguments; the stored whole is sanitized like the part that is shown.
 */
export async function showOutput(
  store: Store,
  call: Pick<RunToolInput, 'name' | 'toolCallId'>,
  workspace: string | undefined,
  text: string,
): Promise<ShownOutput> {
  const bytes = Buffer.byteLength(text);
  const plain = sanitizeText(text, { maxChars: modelOutputChars, root: workspace });
  if (text.length <= modelOutputChars)
    return {
      content: fenceToolOutput(call.name, plain, call.toolCallId),
      bytes,
      plain,
      whole: plain,
    };
  const whole = await sanitizeWhole(text, workspace);
  const blob = await store.putBlob(whole);
  const readOn = `\n[The stored output has ${bytes} bytes. Read on with read_output, ref "${blob}".]`;
  return {
    content: fenceToolOutput(call.name, plain, call.toolCallId) + readOn,
    blob,
    bytes,
    plain,
    whole,
  };
}
