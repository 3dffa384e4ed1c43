/** What a finished call leaves: its result in the store, its outcome under its key, or, while the store is down, the result itself. */
import { Context, log } from '@temporalio/activity';
import type { Attachment } from '../../workflows/core/message';
import { toToolResponse } from '../../workflows/core/errors/tool-response';
import { defined } from '../../workflows/core/json';
import { previewChars } from '../../workflows/core/limits';
import type { ResultIdentity, RunToolInput, RunToolResult } from '../../workflows/core/tools/ports';
import { retryFor } from '../lifecycle/retry-for';
import { fenceToolOutput } from '../untrusted/fence';
import { isStoreDown } from '../lifecycle/infra-exception';
import type { HiddenPaths } from '../untrusted/sanitizer';
import { boundBytes, boundText, sanitizeText } from '../untrusted/sanitizer';
import { reportsFailure } from './reported-failure';
import type { Store } from '../stores/store';
import { canonicalJson } from '../stores/content-hash';
import type { ExecutionPlace, FinishedExecution } from '../tool-call/tool-execution';
import type { GivenOutput, ShownOutput } from './tool-output';
import { showOutput } from './tool-output';
import { keepMedia } from '../media/check-media';
import { findingsOf } from './findings';
import type { Tool } from '../tools/tool';

/** Milliseconds that a finished call waits for its store before its result is passed inline (ADR 0008). */
const storePatienceMs = 20_000;

/** Where a result is kept, and which paths it shows. */
export interface ResultPlace extends Pick<ExecutionPlace, 'store' | 'input' | 'workspace'> {
  readonly paths: HiddenPaths;
}

/** What the model reads of an execution, and the whole if that is only a part. */
async function contentOf(
  { input, paths }: ResultPlace,
  store: Pick<Store, 'putBlob'>,
  execution: FinishedExecution,
): Promise<ShownOutput> {
  if (execution.type === 'output') return showOutput(store, input, paths, execution.text);
  const response = toToolResponse(execution.error);
  if (execution.output === undefined || execution.output.trim() === '')
    return {
      content: response,
      bytes: Buffer.byteLength(response),
      plain: execution.error.message,
      whole: '',
    };
  const shown = await showOutput(store, input, paths, execution.output);
  return { ...shown, content: `${response}\n${shown.content}`, plain: execution.error.message };
}

function errorOf(
  execution: FinishedExecution,
): Pick<RunToolResult, 'error' | 'isOutcomeUnknown' | 'saysFailed'> {
  if (execution.type === 'output')
    return reportsFailure(execution.text) ? { saysFailed: true } : {};
  const { error, isOutcomeUnknown } = execution;
  return { error, ...(isOutcomeUnknown === true ? { isOutcomeUnknown } : {}) };
}

/** Stores the images and documents of an output; undefined if it has none. */
function keptMedia(
  store: Pick<Store, 'putBlob'>,
  media: GivenOutput['media'],
): Promise<readonly Attachment[]> | undefined {
  return media && Promise.all(media.map((each) => keepMedia(store, each)));
}

/** Stores what an execution gave, by reference. Errors: those of the store. */
export async function resultOf(
  place: ResultPlace,
  execution: FinishedExecution,
  identity: ResultIdentity,
  store: Pick<Store, 'putBlob'> = place.store,
): Promise<RunToolResult> {
  const isError = execution.type === 'error';
  const { content, blob, bytes, plain, whole } = await contentOf(place, store, execution);
  const findings = isError ? undefined : findingsOf(whole, execution.text, place.workspace);
  const media = isError ? undefined : await keptMedia(store, execution.media);
  return {
    result: await store.putBlob(canonicalJson({ content, isError, ...defined({ blob, media }) })),
    preview: boundText(plain, previewChars),
    bytes,
    ...defined({ findings }),
    ...identity,
    ...errorOf(execution),
  };
}

/** The result of an execution whose store is down: inline, bounded and fenced. */
function inlineResult(
  { input, paths }: ResultPlace,
  execution: FinishedExecution,
  identity: ResultIdentity,
): RunToolResult {
  const isError = execution.type === 'error';
  const plain = isError
    ? execution.error.message
    : boundBytes(sanitizeText(execution.text, { maxChars: inlineChars, ...paths }), inlineBytes) +
      (execution.media === undefined ? '' : `\n${mediaNotKept}`);
  return {
    text: isError
      ? toToolResponse(execution.error)
      : fenceToolOutput(input.name, plain, input.toolCallId),
    preview: boundText(plain, previewChars),
    bytes: Buffer.byteLength(plain),
    ...identity,
    ...errorOf(execution),
  };
}

/** The text of the result says that they follow. */
const mediaNotKept =
  '[The images and documents of this result could not be stored, so they do not follow.]';

/** Characters of a result that is passed inline because the store is down. */
const inlineChars = 8_000;

/** The same in bytes of JSON, so that 64 such results stay far below what one payload may have (ADR 0003). */
const inlineBytes = 12_000;

/** Records a call's outcome, with what waits in `writer`; returns the first one that any attempt has recorded. */
export async function keepOutcome(
  input: RunToolInput,
  result: RunToolResult,
  writer: Pick<Store, 'finishTool'>,
): Promise<RunToolResult> {
  const outcome = JSON.stringify(result);
  const kept = await writer.finishTool(input.idempotencyKey, outcome);
  if (kept === outcome) return result;
  const facts = { tool: input.name, key: input.idempotencyKey, dropped: result.preview };
  log.warn('The outcome of a call came after that of another attempt, and is dropped', facts);
  // Written by this function under the same key, and checked by the store.
  return JSON.parse(kept) as RunToolResult;
}

/** Keeps what a finished execution gave; a store that stays down gives an inline result. Errors: those of the store. */
export async function keepResult(
  place: ResultPlace,
  tool: Tool,
  execution: FinishedExecution,
  identity: ResultIdentity,
): Promise<RunToolResult> {
  // A local call keeps its workflow task waiting: the ordinary activity after it has the patience.
  const { isLocal } = Context.current().info;
  try {
    return await retryFor(isLocal ? 0 : storePatienceMs, isStoreDown, async () => {
      const batch = place.store.batch();
      const result = await resultOf(place, execution, identity, batch);
      if (tool.effect !== 'read') return keepOutcome(place.input, result, batch);
      await batch.commit();
      return result;
    });
  } catch (thrown) {
    if (isStoreDown(thrown) && !isLocal) return inlineResult(place, execution, identity);
    throw thrown;
  }
}
