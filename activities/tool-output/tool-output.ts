/** A tool's output as the model gets it: sanitized, fenced, bounded, with a ref to read on. */
import type { RunToolInput } from '../../workflows/core/tools/ports';
import type { HiddenPaths } from '../untrusted/sanitizer';
import { cutMiddle, sanitizeText, sanitizeWhole } from '../untrusted/sanitizer';
import { fenceToolOutput } from '../untrusted/fence';
import { foldRedraws, showsProgress } from '../untrusted/redraws';
import type { Store } from '../stores/store';
import type { CheckedMedia } from '../media/check-media';
import { OutputWithMedia } from '../tools/output-with-media';
import { withMediaApart } from './media-output';
import { describeThrown } from '../tool-call/error-text';
import { streamText } from './output-stream';
import { valueJson, valueText } from './output-value';
import type { ToolContext } from '../tools/tool';

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

/** Milliseconds for a stream that a probe gave, as for the probe (ADR 0023). */
const streamLimitMs = 20_000;

/** A value as text, but for its length. */
async function textOfValue(output: unknown, signal: AbortSignal): Promise<string> {
  if (output === undefined) return '';
  if (typeof output === 'string') return showsProgress(output) ? foldRedraws(output) : output;
  return (await streamText(output, signal)) ?? valueText(output) ?? valueJson(output);
}

/**
 * A tool's return value as text: a string unchanged but for redrawn lines, what is to be read as what it holds, anything else as
 * JSON; of a very long one, head and tail, because cleaning, comparing and storing it take time and memory.
 *
 * Contract: never rejects: the call is done and must not look failed. What cannot be carried says in its place what it was
 * (ADR 0044). A stream is read until `signal` aborts, at most; by default for 20 s.
 */
export async function outputText(
  output: unknown,
  signal: ToolContext['signal'] = AbortSignal.timeout(streamLimitMs),
): Promise<string> {
  try {
    return cutMiddle(await textOfValue(output, signal), keptOutputChars);
  } catch (thrown) {
    return `(the tool finished, but its output cannot be read: ${describeThrown(thrown)})`;
  }
}

/** What a call gave: the text, and the images and documents that it names. */
export interface GivenOutput {
  readonly type: 'output';
  readonly text: string;
  readonly media?: readonly CheckedMedia[];
}

/** A tool's return value as its text and media. Contract: as `outputText`. */
export async function givenOutput(
  output: unknown,
  signal?: ToolContext['signal'],
): Promise<GivenOutput> {
  const given = withMediaApart(output);
  if (!(given instanceof OutputWithMedia))
    return { type: 'output', text: await outputText(given, signal) };
  const { text, media } = given;
  return {
    type: 'output',
    text: await outputText(text, signal),
    ...(media.length > 0 && { media }),
  };
}

/**
 * Prepares an output for the model.
 *
 * Contract: deterministic in its arguments; the stored whole is sanitized like the part that is shown. Paths stay as the tool
 * gave them, so that they work in the next call, unless the tool hides them.
 */
export async function showOutput(
  store: Pick<Store, 'putBlob'>,
  call: Pick<RunToolInput, 'name' | 'toolCallId'>,
  paths: HiddenPaths,
  text: string,
): Promise<ShownOutput> {
  const bytes = Buffer.byteLength(text);
  const plain = sanitizeText(text, { maxChars: modelOutputChars, ...paths });
  if (text.length <= modelOutputChars)
    return {
      content: fenceToolOutput(call.name, plain, call.toolCallId),
      bytes,
      plain,
      whole: plain,
    };
  const whole = await sanitizeWhole(text, paths);
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
