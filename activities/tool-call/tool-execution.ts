/** Runs a tool within its deadline, and turns the outcome into an output or an error for the model. */
import { Context } from '@temporalio/activity';
import type { MediaPart } from '../../workflows/core/attachments';
import type { AgentError } from '../../workflows/core/failure';
import { defined } from '../../workflows/core/json';
import { recoveryInstructions } from '../../workflows/core/failure';
import type { RunToolInput, TemporalWork } from '../../workflows/core/tools/ports';
import { unknownEffect } from '../../workflows/core/tools/unknown-outcome';
import { interruption } from '../lifecycle/activity-lifecycle';
import { beginDeadline } from '../lifecycle/deadline';
import { imageTypeOf } from '../media/image-size';
import { isPdf } from '../media/pdf';
import { decodeText } from '../untrusted/decode-text';
import { InfraException } from '../lifecycle/infra-exception';
import { failureMessageChars } from '../../workflows/core/limits';
import type { AgentErrorParts } from '../untrusted/agent-error';
import { agentError } from '../untrusted/agent-error';
import { cutMiddle, sanitizeWhole } from '../untrusted/sanitizer';
import type { Store } from '../stores/store';
import { describeThrown } from './error-text';
import type { StartWork } from './ownership';
import type { GivenOutput } from '../tool-output/tool-output';
import { givenOutput, keptOutputChars, outputText } from '../tool-output/tool-output';
import type { RunContext, Tool, ToolContext } from '../tools/tool';
import { ToolDeadline, ToolError } from '../tools/tool-error';
import { WorkToStart } from '../tools/existing-code/temporal-target';

/** Error codes of a connection that was lost after the request may have reached the server. */
export const middleCodes: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ERR_STREAM_PREMATURE_CLOSE',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** Links of a chain of causes that are read (R-FAIL-2). */
const maxCauses = 5;

/**
 * Whether the request may have reached the server before the connection was lost or timed out.
 *
 * Contract: total; reads `code` and `cause` only.
 */
function mayHaveReachedServer(thrown: unknown): boolean {
  let link: unknown = thrown;
  for (let depth = 0; depth < maxCauses && typeof link === 'object' && link !== null; depth++) {
    const { code, cause } = link as { code?: unknown; cause?: unknown };
    if (typeof code === 'string' && middleCodes.has(code)) return true;
    link = cause;
  }
  return false;
}

/** The result of one execution. */
export type Execution =
  | FinishedExecution
  /** The workflow starts it, and the call goes on when it has ended. */
  | { readonly type: 'work'; readonly work: TemporalWork };

/** The result of an execution that is done. */
export type FinishedExecution =
  | GivenOutput
  | {
      readonly type: 'error';
      readonly error: AgentError;
      /** What the tool gave before it failed; untrusted. */
      readonly output?: string;
      /** The call may still have taken effect. */
      readonly isOutcomeUnknown?: true;
    };

/** Builds an error of this tool for the model: sanitized, with the author's hint. */
export function toolFailure(
  tool: Tool,
  code: AgentError['code'],
  message: string,
  parts: AgentErrorParts = {},
): AgentError {
  return agentError(code, message, { ...parts, toolName: tool.name });
}

function hintOf(tool: Tool, run: RunContext, thrown: unknown, value: unknown): string | undefined {
  if (thrown instanceof ToolError && thrown.hint !== undefined) return thrown.hint;
  return tool.hintFor(thrown, value, run);
}

/** A tool written without types may use an unknown code. */
function knownCode(code: AgentError['code']): AgentError['code'] {
  return Object.hasOwn(recoveryInstructions, code) ? code : 'tool_execution_failed';
}

function executionError(tool: Tool, run: RunContext, thrown: unknown, value: unknown): AgentError {
  const root = run.workspace;
  const hint = hintOf(tool, run, thrown, value);
  if (thrown instanceof ToolDeadline)
    return toolFailure(
      tool,
      'tool_timeout',
      `${thrown.message}${tool.effect === 'read' ? '; nothing was changed' : unknownEffect}`,
      { hint, root },
    );
  if (thrown instanceof ToolError)
    return toolFailure(tool, knownCode(thrown.code), thrown.message, {
      hint,
      recoverable: thrown.recoverable,
      root,
    });
  return toolFailure(tool, 'tool_execution_failed', describeThrown(thrown), { hint, root });
}

/** The whole text of an error whose message is cut, so that the model can read on; its paths are hidden as in the message. */
async function longText(thrown: unknown, root: string | undefined): Promise<string | undefined> {
  if (thrown instanceof ToolDeadline) return undefined;
  const text = thrown instanceof ToolError ? thrown.message : describeThrown(thrown);
  return text.length <= failureMessageChars
    ? undefined
    : sanitizeWhole(cutMiddle(text, keptOutputChars), { root });
}

/** Whether the outcome is unknown after a failure. A `ToolError` is taken at its word. */
function leavesOutcomeUnknown(thrown: unknown): boolean {
  if (thrown instanceof ToolError) return thrown.code === 'outcome_unknown';
  return thrown instanceof ToolDeadline || mayHaveReachedServer(thrown);
}

/** What a tool's context is made of. */
export interface ExecutionPlace {
  readonly store: Store;
  readonly input: RunToolInput;
  readonly workspace: string | undefined;
  readonly run: RunContext;
  readonly progress: (text: string) => void;
  /** Aborted when the call must end. */
  readonly stopped: AbortSignal;
  /** Starts the tool or its probe, if the attempt still owns the call. */
  readonly start: StartWork;
}

/**
 * Reads stored output for a tool. What the store does not hold is a ref that the model invented or kept for too long.
 *
 * Errors: `ToolError` `invalid_params` then; `InfraException` as `Store.readBlob`, so a damaged blob stays `store_corrupt`.
 */
async function readStored(
  store: Store,
  ref: string,
  offset: number,
  length: number,
): ReturnType<ToolContext['readBlob']> {
  try {
    const { bytes, totalBytes } = await store.readBlob(ref, offset, length);
    return { text: bytes.toString('utf8'), totalBytes };
  } catch (thrown) {
    const isCorrupt = thrown instanceof InfraException && thrown.failure.code === 'store_corrupt';
    if (!isCorrupt || (await store.hasBlob(ref))) throw thrown;
    throw new ToolError(`No stored output has the ref "${ref.slice(0, shownRefChars)}"`, {
      code: 'invalid_params',
      hint: 'Copy a ref exactly as a shortened output shows it; without one there is nothing to read.',
    });
  }
}

/** Bytes that tell an image or a PDF. */
const mediaHeadBytes = 1_024;

/** A stored image or PDF. Outputs are stored as text, which neither is. */
async function storedMedia(store: Store, ref: string): Promise<MediaPart | undefined> {
  if (!(await store.hasBlob(ref))) return undefined;
  const { bytes: head } = await store.readBlob(ref, 0, mediaHeadBytes);
  if (imageTypeOf(head) !== undefined) return { type: 'image', data: await store.getBlob(ref) };
  if (!isPdf(head)) return undefined;
  const data = await store.getBlob(ref);
  return decodeText(data) === undefined ? { type: 'file', data } : undefined;
}

/** Characters of a wrong ref that an error repeats: a ref has 43. */
const shownRefChars = 60;

/** Milliseconds that an aborted tool has to end by itself: `run_command` needs 2 s to kill a process group. */
const settleMs = 3_000;

/**
 * Runs `work` with a tool's context, once the attempt is seen to own the call; the signal aborts after `limitMs`, on cancel
 * and on the worker's shutdown.
 *
 * Contract: `limitMs` does not include the wait for the store. If the work ends soon after the abort, its result counts, so
 * that a finished effect is known.
 */
export function withToolContext<Result>(
  limitMs: number,
  place: ExecutionPlace,
  work: (context: ToolContext) => Promise<Result> | Result,
): Promise<Result> {
  return place.start(() => runInContext(limitMs, place, work));
}

async function runInContext<Result>(
  limitMs: number,
  { store, input, run, progress, stopped }: ExecutionPlace,
  work: (context: ToolContext) => Promise<Result> | Result,
): Promise<Result> {
  const activity = Context.current();
  const deadline = beginDeadline(limitMs, stopped, () => new ToolDeadline(limitMs));
  const { signal } = deadline;
  const context: ToolContext = {
    ...run,
    toolCallId: input.toolCallId,
    idempotencyKey: input.idempotencyKey,
    signal,
    attempt: activity.info.attempt,
    progress,
    readBlob: (hash, offset, length) => readStored(store, hash, offset, length),
    readMedia: (hash) => storedMedia(store, hash),
  };
  let settling: NodeJS.Timeout | undefined;
  try {
    // At once: in a later turn the attempt may have lost the call.
    const working = new Promise<Result>((resolve) => {
      resolve(work(context));
    });
    return await new Promise<Result>((resolve, reject) => {
      // A tool that ignores its signal must not hold the activity.
      const settle = (): void => {
        settling = setTimeout(() => {
          reject(signal.reason as Error);
        }, settleMs);
      };
      if (signal.aborted) settle();
      else signal.addEventListener('abort', settle, { once: true });
      working.then(resolve, reject);
    });
  } catch (thrown) {
    throw signal.aborted && !(thrown instanceof ToolError) ? (signal.reason as Error) : thrown;
  } finally {
    clearTimeout(settling);
    deadline.end();
  }
}

/** What was thrown, or an error with its text if it cannot be inspected: a tool may throw a Proxy. */
function readable(thrown: unknown): unknown {
  try {
    Object.getPrototypeOf(Object(thrown));
    return thrown;
  } catch {
    return new Error(describeThrown(thrown));
  }
}

/**
 * Executes a tool once.
 *
 * Errors: throws `InfraException` (only people can act, or another worker takes over) and CancelledFailure; everything else is
 * an error for the model.
 */
export async function executeTool(
  tool: Tool,
  value: unknown,
  place: ExecutionPlace,
  limitMs = tool.timeoutMs,
): Promise<Execution> {
  try {
    // Within the tool's time, since a stream is read.
    return await withToolContext(limitMs, place, async (context) => {
      const output = await tool.execute(value, context);
      if (output instanceof WorkToStart) return { type: 'work', work: output.work };
      return givenOutput(output, context.signal);
    });
  } catch (caught) {
    if (place.stopped.aborted) throw interruption() ?? place.stopped.reason;
    const thrown = readable(caught);
    if (thrown instanceof InfraException) throw thrown;
    const error = executionError(tool, place.run, thrown, value);
    const given = thrown instanceof ToolError ? thrown.output : undefined;
    const output = await (given === undefined
      ? longText(thrown, place.workspace)
      : outputText(given));
    return {
      type: 'error',
      error,
      ...defined({ output }),
      ...(tool.effect !== 'read' && leavesOutcomeUnknown(thrown) ? { isOutcomeUnknown: true } : {}),
    };
  }
}
