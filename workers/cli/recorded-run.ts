/** Makes a test's script of a run: what the model said, from the store, and what people did, from history. */
import type { WorkflowClient } from '@temporalio/client';
import type { Store } from '../../activities/stores/store';
import { readFacts } from '../../client/history/read-history';
import { SegmentFold } from '../../client/history/fold';
import type { JsonObject } from '../../workflows/core/json';
import type { AssistantMessage } from '../../workflows/core/message';
import type { RunEvent } from '../../workflows/core/run/protocol';
import type { AgentSnapshot, RunRequest } from '../../workflows/core/run/ports';
import type { Transition } from '../../workflows/core/run/transition';
import { SetupError } from '../setup-error';

/** One step of a script, or what a script cannot have. */
export type RecordedStep =
  | {
      readonly type: 'reply';
      readonly text: string;
      readonly calls: readonly { readonly name: string; readonly input: JsonObject }[];
      readonly isRefusal: boolean;
    }
  | { readonly type: 'approve'; readonly tool?: string; readonly input?: JsonObject }
  | { readonly type: 'reject'; readonly tool?: string; readonly reason: string }
  | { readonly type: 'answer' | 'say' | 'comment'; readonly text: string };

/** A run as a script. */
export interface RecordedRun {
  readonly request: RunRequest;
  readonly steps: readonly RecordedStep[];
  readonly hasContext: boolean;
}

/** A step that is known, or that the store or another run has. */
type Found =
  | RecordedStep
  | { readonly type: 'head'; readonly head: string }
  | { readonly type: 'run'; readonly runId: string };

/** What events leave in a script. */
class Recorder {
  request: RunRequest | undefined;
  storeId: string | undefined;
  hasContext = false;
  readonly found: Found[] = [];
  /** Said during a model call: its reply stands before. */
  readonly #said: RecordedStep[] = [];

  constructor(private readonly runId: string) {}

  /** Takes an event with what followed from it. */
  take(event: RunEvent, [state, commands]: Transition): void {
    this.request ??= state.request;
    if (event.type === 'run-prepared' || event.type === 'handed-over')
      this.#prepared(event.result.snapshot);
    if (event.type === 'model-call-completed') this.#replied(event.result);
    if (event.type === 'message-added') {
      this.#said.push({ type: 'say', text: event.text });
      if (state.phase.type !== 'calling-model') this.#flush();
    }
    const step = stepOf(event);
    if (step !== undefined) this.found.push(step);
    const runs = commands.flatMap((command) =>
      command.type === 'run-subagent' ? [{ type: 'run', runId: command.runId } as const] : [],
    );
    if (runs.length > 1)
      throw new SetupError(
        `Run "${this.runId}" had ${runs.length} subagents at work at once, whose requests have no order that a script could repeat. Record each by itself: ${runs.map(({ runId }) => `holdfast record ${runId}`).join(', ')}.`,
      );
    this.found.push(...runs);
  }

  #prepared({ storeId, hasContext, chain }: AgentSnapshot): void {
    if (chain.some(({ toolProtocol }) => toolProtocol === 'text'))
      throw new SetupError(
        `Run "${this.runId}" has a route with toolProtocol 'text', whose replies are not kept as the model wrote them. Write its script by hand: reply.text('…').`,
      );
    this.storeId = storeId;
    this.hasContext ||= hasContext === true;
  }

  #replied({
    head,
    headBefore,
    error,
    toolCalls,
  }: Extract<RunEvent, { type: 'model-call-completed' }>['result']): void {
    const mistake = error ?? toolCalls.find((each) => each.error !== undefined)?.error;
    this.found.push(
      head === headBefore
        ? {
            type: 'comment',
            text: `A reply here was a mistake that no transcript keeps (${mistake?.code ?? 'nothing in it'}).`,
          }
        : { type: 'head', head },
    );
    this.#flush();
  }

  #flush(): void {
    this.found.push(...this.#said.splice(0));
  }
}

const notScripted: Partial<Record<RunEvent['type'], string>> = {
  'model-call-failed': 'A provider failed here: script it with a builder of fault.',
  'compaction-completed': 'The conversation was compacted here, perhaps by a request to the model.',
  'recovery-planned': 'A recovery was planned here, perhaps by a request to the model.',
  'escalation-requested': 'Somebody escalated the run here.',
  'stop-requested': 'Somebody stopped the run here.',
  'cancel-requested': 'Somebody cancelled the run here.',
};

/** What an event is in a script by itself. */
function stepOf(event: RunEvent): RecordedStep | undefined {
  if (event.type === 'question-answered') return { type: 'answer', text: event.answer };
  if (event.type === 'approval-resolved') {
    const { decision, input, reason = 'rejected' } = event;
    if (decision === 'reject') return { type: 'reject', reason };
    return { type: 'approve', ...(input === undefined ? {} : { input }) };
  }
  const text = notScripted[event.type];
  return text === undefined ? undefined : { type: 'comment', text };
}

function replyOf({ blocks }: AssistantMessage): RecordedStep {
  const texts = blocks.flatMap((block) =>
    block.type === 'text' || block.type === 'refusal' ? [block.text] : [],
  );
  return {
    type: 'reply',
    text: texts.join('\n'),
    calls: blocks.flatMap((block) =>
      block.type === 'tool-call' ? [{ name: block.name, input: block.input }] : [],
    ),
    isRefusal: blocks.some(({ type }) => type === 'refusal'),
  };
}

async function stepsOf(
  found: Found,
  client: WorkflowClient,
  store: Store,
): Promise<readonly RecordedStep[]> {
  if (found.type === 'run') return (await recordRun(client, store, found.runId)).steps;
  if (found.type !== 'head') return [found];
  const last = (await store.loadTranscript(found.head)).at(-1);
  return last?.role === 'assistant' ? [replyOf(last)] : [];
}

/**
 * Reads a run, and the runs of its subagents, as a script.
 *
 * Errors: `SetupError` for a run that lives in another store, or that no script can repeat; `ClientError` for what is no run.
 */
export async function recordRun(
  client: WorkflowClient,
  store: Store,
  runId: string,
): Promise<RecordedRun> {
  const recorder = new Recorder(runId);
  let fold: SegmentFold | undefined;
  for await (const facts of readFacts(client, runId)) {
    if (fold === undefined || facts[0]?.type === 'segment-began')
      fold = new SegmentFold(runId, (event, transition) => {
        recorder.take(event, transition);
      });
    for (const fact of facts) fold.take(fact);
    fold.settle();
  }
  const { request, storeId, hasContext, found } = recorder;
  if (request === undefined || storeId === undefined)
    throw new SetupError(`Run "${runId}" has not begun: there is nothing to record yet.`);
  if (store.id !== storeId)
    throw new SetupError(
      `The run's transcript is in store ${storeId}; HOLDFAST_STORE names ${store.id} (${store.label}). Set HOLDFAST_STORE to the run's store.`,
    );
  const steps: RecordedStep[] = [];
  for (const each of found) steps.push(...(await stepsOf(each, client, store)));
  return { request, steps, hasContext };
}
