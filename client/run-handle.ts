/** A handle of a run: its result, its timeline, and what people may do to it. */
import type { z } from 'zod';
import { defaultTaskQueue } from '../workflows/contract';
import type { Content } from '../workflows/core/attachments';
import type { JsonObject, JsonValue } from '../workflows/core/json';
import { defined } from '../workflows/core/json';
import type { RunOutcome } from '../workflows/core/run/outcome';
import type { PendingItem } from '../workflows/core/view/pending';
import type { RunStatusView } from '../workflows/core/view/status';
import { approverSchema, check } from './check-input';
import type { RunSummary } from './list-runs';
import { describeRun } from './list-runs';
import type { Actor } from './person-requests';
import { checkReadable, decide, sendAnswer, sendMessage, sendReason } from './person-requests';
import type { RunAccess } from './run-access';
import { attempt, cancelRun } from './run-access';
import type { TextDelta } from '../workflows/core/model-call/live-text';
import type { EventOptions } from './history/run-events';
import { runEvents } from './history/run-events';
import type { RunEntry } from './history/fold';
import type { PieceWithText } from './history/live-text';
import type { RunResult } from '../workflows/core/typed-agent';
import type { WaitOptions } from './run-result';
import { awaitOutcome, withOutput } from './run-result';
import { lookAt, momentOf, pendingOf, statusOf } from './run-status';
import type { TranscriptPoint } from './history/transcript-point';
import { transcriptHead } from './history/transcript-point';
import type { RunExplanation } from './why/explanation';
import type * as ReadFacts from './why/read-facts';

function isSchema(given: z.ZodType | WaitOptions): given is z.ZodType {
  return typeof given === 'object' && (given as object | null) !== null && 'safeParse' in given;
}

/** What happened since the moment before, and where the run is now, if history says so yet. */
export type RunMoment = Pick<PieceWithText, 'entries' | 'deltas'> & ReturnType<typeof momentOf>;

/**
 * One run, over all its segments.
 *
 * Contract: stateless; any number of handles, in any process, act on the same run.
 * Errors: every method rejects with a `ClientError`: `run-not-found`, `run-ended`, `unreachable`, and what it names itself.
 */
export class RunHandle<Output = JsonValue | undefined> {
  /** The workflow's id. */
  readonly runId: string;

  /** @internal */
  constructor(
    private readonly access: RunAccess,
    private readonly output?: z.ZodType<Output>,
  ) {
    this.runId = access.runId;
  }

  /**
   * Waits for the end, without limit unless the options have one. A run that failed, was stopped or cancelled is a result too,
   * not an error.
   *
   * Errors: `output-mismatch` when a completed run's output does not match the schema; `still-running` as the options say.
   */
  result(options?: WaitOptions): Promise<RunResult<Output>>;
  result<Schema extends z.ZodType>(
    schema: Schema,
    options?: WaitOptions,
  ): Promise<RunResult<z.output<Schema>>>;
  async result(
    first: z.ZodType | WaitOptions = {},
    second: WaitOptions = {},
  ): Promise<RunResult<unknown>> {
    const [schema, options] = isSchema(first) ? [first, second] : [this.output, first];
    return withOutput(await this.outcome(options), schema);
  }

  /** Waits for the end of the run: `result` without a schema. Errors: `still-running` as the options say. */
  outcome(options: WaitOptions = {}): Promise<RunOutcome> {
    return attempt(this.access, () => awaitOutcome(this.access.client, this.runId, options));
  }

  /** The run's line of a list, as the server knows it now. Errors: `invalid-input` for a workflow that is not an agent run. @internal */
  summary(): Promise<RunSummary> {
    return attempt(this.access, () => describeRun(this.access.client, this.runId));
  }

  /** Resolves if this client can read what the run's workers write. Errors: `converter-mismatch`. @internal */
  readable(): Promise<void> {
    return attempt(this.access, () => checkReadable(this.access));
  }

  /** Where the run is. Works without a worker, then from history. */
  status(): Promise<RunStatusView> {
    return attempt(this.access, () => statusOf(this.access));
  }

  /** Where the run is, and what waits for a person, as `status` and `pending` say it. @internal */
  look(): ReturnType<typeof lookAt> {
    return attempt(this.access, () => lookAt(this.access));
  }

  /** Everything that waits for a person. Works without a worker, then from history. */
  pending(): Promise<readonly PendingItem[]> {
    return attempt(this.access, () => pendingOf(this.access));
  }

  /**
   * The run's timeline, folded from Temporal's history: from its beginning or behind an entry, up to now or to the run's end.
   * With `text` the model's words come between the entries while they arrive.
   *
   * Contract: the same entries under the same ids in the same order, each time and in any process; none is lost over crashes and
   * segments. The next page of history is read when the reader asks for it. Text may be lost; it comes after the start of its
   * iteration and before the reply's entry.
   * Errors: `invalid-input` for an `after` that is not an id, and for `text` without the run's store.
   */
  events(
    options: EventOptions & { readonly text: true; readonly follow?: true },
  ): AsyncGenerator<RunEntry | TextDelta, void>;
  events(options?: EventOptions): AsyncGenerator<RunEntry, void>;
  async *events(
    options: EventOptions & { readonly text?: true } = {},
  ): AsyncGenerator<RunEntry | TextDelta, void> {
    for await (const { deltas, entries } of runEvents(this.access, options)) {
      yield* deltas;
      yield* entries;
    }
  }

  /** As `events`, with where the run is after each piece of its timeline, and without text where its store is another one: for displays. @internal */
  async *watch(
    options: EventOptions & { readonly text?: true } = {},
  ): AsyncGenerator<RunMoment, void> {
    for await (const { entries, deltas, folded } of runEvents(this.access, options, true))
      yield { entries, deltas, ...momentOf(this.access.runId, folded) };
  }

  /**
   * The head of the run's transcript, now or after an iteration, for reading it from its store.
   *
   * Errors: `invalid-input` for an iteration that the run has not reached.
   * @internal
   */
  transcriptHead(iteration?: number): Promise<Pick<TranscriptPoint, 'head' | 'storeId'>> {
    return attempt(this.access, () => transcriptHead(this.access, iteration));
  }

  /** Why the run is where it is, and what to do now; `taskQueue` is where the reader's commands start runs. @internal */
  why(taskQueue: string = defaultTaskQueue): Promise<RunExplanation> {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- jest has no import() in CommonJS (ADR 0029).
    const { explainRun } = require('./why/read-facts') as typeof ReadFacts;
    return explainRun(this.access, taskQueue);
  }

  /** Hands the run to a person: it waits for `answer('escalation', ...)`. */
  escalate(reason: string, by: Actor = {}): Promise<void> {
    return sendReason(this.access, 'escalate', reason, by);
  }

  /** Ends the run as `stopped`, with what it has so far. */
  stop(reason: string, by: Actor = {}): Promise<void> {
    return sendReason(this.access, 'stop', reason, by);
  }

  /**
   * Cancels the workflow; the run ends as `cancelled` when its calls in flight have ended: at once while it waits, otherwise
   * within 2 s, and 3 s later if a call ignores its signal.
   */
  cancel(): Promise<void> {
    return attempt(this.access, () => cancelRun(this.access));
  }

  /**
   * Says something to the model, perhaps with images and files; it reads it with its next call.
   *
   * Errors: `invalid-input`; `refused` for an image or a document that no model of the run takes.
   */
  addMessage(content: Content, by: Actor = {}): Promise<void> {
    return sendMessage(this.access, content, by);
  }

  /**
   * Approves a waiting action, or with `input` the same tool with other arguments.
   *
   * Contract: bound to the digest of the action; twice counts once. Other arguments are checked against the tool's schema, and
   * the model reads about them.
   * Errors: `refused` if it does not wait, is another action, was decided otherwise, or the arguments do not fit; `no-worker`.
   */
  async approve(
    approvalId: string,
    options: Actor & { readonly digest?: string; readonly input?: JsonObject } = {},
  ): Promise<void> {
    check(approverSchema, options);
    const { input, ...decider } = options;
    const decision = { decision: 'approve', ...defined({ input }) } as const;
    return decide(this.access, approvalId, decision, decider);
  }

  /** Rejects a waiting action; the model reads the reason. Otherwise as `approve`. */
  reject(
    approvalId: string,
    reason: string,
    decider: Actor & { readonly digest?: string } = {},
  ): Promise<void> {
    return decide(this.access, approvalId, { decision: 'reject', reason }, decider);
  }

  /** Answers a waiting question, perhaps with images and files. Errors: as `approve` and `addMessage`. */
  answer(questionId: string, content: Content, by: Actor = {}): Promise<void> {
    return sendAnswer(this.access, questionId, content, by);
  }
}
