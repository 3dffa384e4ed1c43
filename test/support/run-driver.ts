/** Plays the shell on the core, without Temporal: whole runs on a virtual clock, each step checked. */
import { isDeepStrictEqual } from 'node:util';
import { tailStart } from '../../activities/context/stripped-messages';
import { textOf } from '../../workflows/core/attachments';
import type { AgentError, InfraError } from '../../workflows/core/failure';
import { defined } from '../../workflows/core/json';
import { shortHash } from '../../workflows/core/errors/fingerprint';
import { prepareCallId } from '../../workflows/core/run/protocol';
import { completedEvent } from '../../workflows/activity-events';
import type { Message, ToolResultBlock } from '../../workflows/core/message';
import type {
  CallModelInput,
  CallModelResult,
  ModelCallHeldBack,
} from '../../workflows/core/model-call/ports';
import type { CheckGuardrailsInput, GuardrailVerdict } from '../../workflows/core/guardrails/ports';
import type { CheckEditInput, CheckEditResult } from '../../workflows/core/people/ports';
import type { CompactInput, CompactResult } from '../../workflows/core/context/ports';
import type { PendingResult, RunToolInput, RunToolResult } from '../../workflows/core/tools/ports';
import type { PlanRecoveryInput, PlanRecoveryResult } from '../../workflows/core/recovery/ports';
import type { PrepareRunResult } from '../../workflows/core/run/ports';
import type { RunOutcome, SubagentEnd } from '../../workflows/core/run/outcome';
import type {
  ActivityCommand,
  RunCommand,
  RunEvent,
  TimelineEntry,
} from '../../workflows/core/run/protocol';
import { restoreRunState } from '../../workflows/core/run/restore';
import type { RunState } from '../../workflows/core/run/state';
import { pendingItems } from '../../workflows/core/view/pending';
import { routeName } from '../../workflows/core/failover/provider-health';
import type { ToolCallProgress } from '../../workflows/core/tools/state';
import { activityIdAt } from '../../workflows/core/tools/state';
import type { Transition } from '../../workflows/core/run/transition';
import { initialTransition, transition } from '../../workflows/core/run/transition';
import type { UnstampedEvent } from './builders';
import type { ScriptedReply } from './scripted-reply';
import { callsOf, keptMessage } from './scripted-reply';
import { aMeasure, aRequest, aSnapshot, startMs } from './builders';

/** What a scripted compaction comes to. */
export type ScriptedCompaction = Partial<CompactResult> & {
  /** The transcript stays as it is. */
  readonly hasNoEffect?: true;
};

/** What a scripted tool does. */
export type ScriptedToolResult =
  { readonly output: string; readonly saysFailed?: true } | { readonly error: AgentError };

/** What one model call sent. */
export interface SentRequest {
  readonly input: CallModelInput;
  /** The transcript as the vendor sees it; the note is not in it. */
  readonly messages: readonly Message[];
}

/** The world that a driven run meets. */
export interface DrivenWorld {
  readonly prepare?: (attempt: number) => PrepareRunResult['snapshot'] | InfraError;
  /** The agent that a run is handed to; by default the same under its name. */
  readonly handOver?: (to: string) => PrepareRunResult['snapshot'] | InfraError;
  /** What guardrails say, time after time; by default they pass. */
  readonly guardrails?: (
    input: CheckGuardrailsInput,
    check: number,
  ) => readonly GuardrailVerdict[] | InfraError;
  readonly model: (
    request: SentRequest,
    call: number,
  ) => ScriptedReply | InfraError | Omit<ModelCallHeldBack, 'headBefore'>;
  /** What a compaction comes to; by default it halves what was due. */
  readonly compact?: (input: CompactInput, call: number) => ScriptedCompaction | InfraError;
  readonly tool?: (input: RunToolInput, call: number) => ScriptedToolResult | InfraError;
  /** How a subagent comes back; by default it never began. */
  readonly subagent?: (command: SubagentCommand, isCancelled: boolean) => SubagentEnd;
  /** Problems of changed arguments; none by default. */
  readonly check?: (input: CheckEditInput) => string | InfraError | undefined;
  /** The fallback by default. */
  readonly plan?: (
    input: PlanRecoveryInput,
    plan: number,
  ) => Partial<PlanRecoveryResult> | InfraError;
  /** Which of so many things in flight comes back next; the oldest activity, then the earliest timer, by default. */
  readonly pick?: (count: number) => number;
  /** Whether the server wants a new segment, asked at each event. */
  readonly wantsRollOver?: () => boolean;
  /** Whether a wanted roll-over happens at once, or something else comes first. */
  readonly rollsOverNow?: () => boolean;
  /** Whether a cancelled activity still completes. */
  readonly completesWhenCancelled?: () => boolean;
  /** Whether nobody can be told that the run waits. */
  readonly failsToNotify?: () => boolean;
  /** Called after every step with the state and what was sent. */
  readonly watch?: (state: RunState, commands: readonly RunCommand[], event: RunEvent) => void;
}

/** The start of a subagent. */
export type SubagentCommand = Extract<RunCommand, { type: 'run-subagent' }>;

/** Activities and subagents that a run waits for; notifications go beside it. */
type AwaitedCommand = Exclude<ActivityCommand, { type: 'notify' }> | SubagentCommand;

const modelCallMs = 1_000;
const toolCallMs = 100;
/** An activity takes a minute at most: no limit of a whole run fires before it comes back. */
const soonMs = 60_000;

function isInfra(value: object): value is InfraError {
  return 'kind' in value && value.kind === 'infra';
}

function activityId(command: AwaitedCommand): string {
  return command.type === 'prepare-run' ? prepareCallId : command.callId;
}

/** Fails the test: the core broke a promise. */
function check(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Error(`the core broke a promise: ${promise}`);
}

/** One run on a virtual clock. */
export class RunDriver {
  state: RunState;
  nowMs = startMs;
  readonly commands: RunCommand[] = [];
  readonly requests: SentRequest[] = [];
  readonly toolRuns: RunToolInput[] = [];
  readonly compactions: CompactInput[] = [];
  readonly events: RunEvent[] = [];
  readonly plans: PlanRecoveryInput[] = [];
  rollOvers = 0;
  private readonly transcripts = new Map<string, readonly Message[]>();
  private readonly blobs = new Map<string, ToolResultBlock['content']>();
  private readonly inFlight = new Map<string, AwaitedCommand>();
  /** Beside the run: nothing waits for them, and a segment's end takes them back. */
  private readonly notifications = new Map<string, Extract<RunCommand, { type: 'notify' }>>();
  private readonly cancelled = new Set<string>();
  private readonly timers = new Map<string, number>();
  /** Timers that only show a wait without a limit: they fire after years. */
  private readonly marks = new Set<string>();
  private rollOverWanted = false;
  private prepareAttempts = 0;
  private checks = 0;

  constructor(
    private readonly world: DrivenWorld,
    request: Parameters<typeof aRequest>[0] = {},
  ) {
    const event = {
      type: 'run-started',
      runKey: 'wf-1/run-1',
      request: aRequest(request),
      atMs: this.nowMs,
    } as const;
    const begun = initialTransition(event);
    this.state = begun[0];
    this.take(begun, event);
  }

  /** How the run ended; fails the test if it has not. */
  get outcome(): RunOutcome {
    check(this.state.phase.type === 'ended', `the run ends, but it is ${this.state.phase.type}`);
    return this.state.phase.outcome;
  }

  /** The run's story so far. */
  get entries(): readonly TimelineEntry[] {
    return this.commands.flatMap((command) => (command.type === 'publish' ? [command.entry] : []));
  }

  /** Everything that can come back now. */
  get outstanding(): readonly string[] {
    return [...this.inFlight.keys(), ...this.timers.keys()];
  }

  /** Stored messages under the run's head. */
  get transcript(): readonly Message[] {
    return this.messagesOf(this.state.head ?? '');
  }

  /** A person, or anything else, says something. */
  say(event: UnstampedEvent, afterMs = 0): void {
    this.nowMs += afterMs;
    const wantsRollOver = event.type !== 'segment-started' && this.world.wantsRollOver?.() === true;
    const stamped: RunEvent = {
      ...event,
      atMs: this.nowMs,
      ...(wantsRollOver ? { rollOverSuggested: true } : {}),
    };
    this.take(transition(this.state, stamped), stamped);
    if (this.rollOverWanted && (this.world.rollsOverNow?.() ?? true)) this.rollOver();
  }

  /** Lets one thing that is in flight come back. False where nothing is. */
  step(): boolean {
    if (this.state.phase.type === 'ended') return false;
    if (this.rollOverWanted) this.rollOver();
    const all = [...this.inFlight.keys(), ...this.notifications.keys(), ...this.nextTimers()];
    const ids = this.onlyReminds ? all : all.filter((each) => !this.reminders.includes(each));
    const id = ids[this.world.pick === undefined ? 0 : this.world.pick(ids.length)];
    if (id === undefined) return false;
    const command = this.inFlight.get(id);
    const notification = this.notifications.get(id);
    if (notification !== undefined) this.notified(id, notification);
    else if (command === undefined) this.fire(id);
    else this.complete(id, command);
    return true;
  }

  /** Timers that only remind people: there is no end of them, so they come when nothing else does. */
  private get reminders(): readonly string[] {
    const wait = this.state.snapshot?.approvals?.onExpiry === 'wait';
    const tools = this.state.snapshot?.tools.some(({ approvals }) => approvals !== undefined);
    return [...this.timers.keys()].filter(
      (id) => wait && tools !== true && id.startsWith('decision-'),
    );
  }

  private get onlyReminds(): boolean {
    const count = this.reminders.length;
    return count > 0 && count === this.outstanding.filter((id) => !id.startsWith('active-')).length;
  }

  /** Runs until the run ends or only a person can go on. */
  run(maxSteps = 20_000): this {
    for (let steps = 0; !this.onlyReminds && this.step(); steps += 1)
      check(steps < maxSteps, `a run comes to rest, but it took ${maxSteps} steps`);
    return this;
  }

  private rollOver(): void {
    check(this.inFlight.size === 0, 'nothing is in flight at a roll-over');
    this.timers.clear();
    this.marks.clear();
    this.notifications.clear();
    this.rollOverWanted = false;
    this.rollOvers += 1;
    this.state = restoreRunState(JSON.parse(JSON.stringify(this.state)));
    this.say({ type: 'segment-started' });
  }

  /** Timers that may fire before what is in flight comes back: those that are due soon, or the earliest where nothing else can happen. */
  private nextTimers(): readonly string[] {
    const timers = this.timersByTime();
    const soon = timers.filter((id) => (this.timers.get(id) ?? 0) <= this.nowMs + soonMs);
    const isAlone = this.inFlight.size + this.notifications.size === 0;
    return soon.length === 0 && isAlone ? timers.slice(0, 1) : soon;
  }

  private timersByTime(): readonly string[] {
    return [...this.timers].sort(([, one], [, other]) => one - other).map(([id]) => id);
  }

  private fire(timerId: string): void {
    this.nowMs = Math.max(this.nowMs, this.timers.get(timerId) ?? 0);
    this.timers.delete(timerId);
    this.say({ type: 'timer-fired', timerId });
  }

  private complete(id: string, command: AwaitedCommand): void {
    this.inFlight.delete(id);
    const isCancelled = this.cancelled.delete(id);
    this.nowMs += command.type === 'run-tool' ? toolCallMs : modelCallMs;
    const stopped: InfraError | undefined =
      isCancelled && this.world.completesWhenCancelled?.() !== true
        ? { kind: 'infra', code: 'worker_lost', message: 'The activity was cancelled.' }
        : undefined;
    this.say(
      command.type === 'run-subagent'
        ? this.subagentEvent(command, isCancelled)
        : this.eventOf(command, stopped),
    );
  }

  private subagentEvent(command: SubagentCommand, isCancelled: boolean): UnstampedEvent {
    const end = this.world.subagent?.(command, isCancelled) ?? {
      type: 'not-started',
      message: 'a workflow with its id runs already',
    };
    return { type: 'subagent-ended', toolCallId: command.toolCallId, end };
  }

  private eventOf(
    command: Exclude<AwaitedCommand, SubagentCommand>,
    stopped: InfraError | undefined,
  ): UnstampedEvent {
    switch (command.type) {
      case 'prepare-run': {
        const prepared = stopped ?? this.prepare();
        return isInfra(prepared)
          ? { type: 'run-preparation-failed', failure: prepared }
          : { type: 'run-prepared', result: prepared };
      }
      case 'call-model': {
        const { callId } = command;
        const reply = stopped ?? this.callModel(command.input);
        return isInfra(reply)
          ? { type: 'model-call-failed', callId, failure: reply }
          : completedEvent(command, reply);
      }
      case 'hand-over':
      case 'check-guardrails':
        return this.agentEventOf(command, stopped);
      case 'compact':
      case 'check-edit':
      case 'plan-recovery':
        return this.sideEventOf(command, stopped);
      case 'run-tool': {
        const { toolCallId } = command;
        const result = stopped ?? this.runTool(command.input);
        return isInfra(result)
          ? { type: 'tool-call-failed', toolCallId, failure: result }
          : { type: 'tool-call-completed', toolCallId, result };
      }
    }
  }

  /** What comes of a handoff's preparation, and of an agent's guardrails. */
  private agentEventOf(
    command: Extract<AwaitedCommand, { type: 'hand-over' | 'check-guardrails' }>,
    stopped: InfraError | undefined,
  ): UnstampedEvent {
    const { callId } = command;
    if (command.type === 'hand-over') {
      const snapshot = stopped ?? this.handOver(command.input.actingAgent ?? '');
      return isInfra(snapshot)
        ? { type: 'handover-failed', callId, failure: snapshot }
        : { type: 'handed-over', callId, result: { snapshot, head: this.state.head ?? '' } };
    }
    this.checks += 1;
    const said = stopped ?? this.world.guardrails?.(command.input, this.checks) ?? [];
    return isInfra(said)
      ? { type: 'guardrails-failed', callId, failure: said }
      : { type: 'guardrails-checked', callId, result: { verdicts: said } };
  }

  /** What comes of an activity that is neither a model call nor a tool's. */
  private sideEventOf(
    command: Extract<AwaitedCommand, { type: 'compact' | 'check-edit' | 'plan-recovery' }>,
    stopped: InfraError | undefined,
  ): UnstampedEvent {
    switch (command.type) {
      case 'compact': {
        const { callId } = command;
        const result = stopped ?? this.compact(command.input);
        return isInfra(result)
          ? { type: 'compaction-failed', callId, failure: result }
          : { type: 'compaction-completed', callId, result };
      }
      case 'check-edit': {
        const { callId } = command;
        const result = stopped ?? this.checkEdit(command.input);
        return isInfra(result)
          ? { type: 'edit-check-failed', callId, failure: result }
          : { type: 'edit-checked', callId, result };
      }
      case 'plan-recovery': {
        const { callId } = command;
        const plan = stopped ?? this.planRecovery(command.input);
        return isInfra(plan)
          ? { type: 'recovery-plan-failed', callId, failure: plan }
          : { type: 'recovery-planned', callId, result: plan };
      }
    }
  }

  private notified(callId: string, { input }: Extract<RunCommand, { type: 'notify' }>): void {
    this.notifications.delete(callId);
    const failed = this.cancelled.delete(callId) || this.world.failsToNotify?.() === true;
    this.say(
      failed
        ? {
            type: 'notification-failed',
            callId,
            failure: { kind: 'infra', code: 'tool_infrastructure', message: 'nobody there' },
          }
        : {
            type: 'notification-completed',
            callId,
            result: { delivered: input.notifiers, failed: [] },
          },
    );
  }

  private planRecovery(input: PlanRecoveryInput): PlanRecoveryResult | InfraError {
    this.plans.push(input);
    const planned = this.world.plan?.(input, this.plans.length) ?? {};
    if (isInfra(planned)) return planned;
    return { action: input.fallback, source: 'model', digest: 'digest-of-action', ...planned };
  }

  private handOver(agent: string): PrepareRunResult['snapshot'] | InfraError {
    const same = this.state.snapshot ?? aSnapshot();
    return this.world.handOver?.(agent) ?? { ...same, agent };
  }

  private prepare(): PrepareRunResult | InfraError {
    this.prepareAttempts += 1;
    const snapshot = this.world.prepare?.(this.prepareAttempts) ?? aSnapshot();
    if (isInfra(snapshot)) return snapshot;
    const goal: Message = {
      role: 'user',
      blocks: [{ type: 'text', text: this.state.request.goal }],
    };
    return { snapshot, head: this.store('', [goal]) };
  }

  private store(parent: string, added: readonly Message[]): string {
    if (added.length === 0) return parent;
    const head = shortHash(`${parent} ${JSON.stringify(added)}`);
    this.transcripts.set(head, [...this.messagesOf(parent), ...added]);
    return head;
  }

  private messagesOf(head: string): readonly Message[] {
    return this.transcripts.get(head) ?? [];
  }

  private resultBlock(pending: PendingResult): ToolResultBlock {
    const { toolCallId, name, result, text, isError, notice } = pending;
    const plain = (result === undefined ? text : this.blobs.get(result)) ?? '';
    const content = notice === undefined ? plain : `${notice}\n${plain}`;
    return { type: 'tool-result', toolCallId, name, content, isError };
  }

  private callModel(input: CallModelInput): CallModelResult | ModelCallHeldBack | InfraError {
    const results = (input.pendingResults ?? []).map((pending) => this.resultBlock(pending));
    const added: readonly Message[] = [
      ...(results.length === 0 ? [] : [{ role: 'tool', results } as const]),
      ...(input.userTexts ?? []).map((text): Message => ({
        role: 'user',
        blocks: [{ type: 'text', text: textOf(text) }],
      })),
    ];
    const headBefore = this.store(input.head, added);
    const request = { input, messages: this.messagesOf(headBefore) };
    this.requests.push(request);
    const reply = this.world.model(request, this.requests.length);
    if (isInfra(reply)) return reply;
    return 'heldBack' in reply
      ? { headBefore, ...reply }
      : this.takeReply(input, headBefore, reply);
  }

  private compact(input: CompactInput): CompactResult | InfraError {
    this.compactions.push(input);
    const results = (input.pendingResults ?? []).map((pending) => this.resultBlock(pending));
    const added = results.length === 0 ? [] : [{ role: 'tool', results } as const];
    const headBefore = this.store(input.head, added);
    const messages = this.messagesOf(headBefore);
    const scripted = this.world.compact?.(input, this.compactions.length) ?? {};
    if (isInfra(scripted)) return scripted;
    const { hasNoEffect, ...made } = scripted;
    const summary: Message = {
      role: 'user',
      blocks: [{ type: 'text', text: `compaction ${this.compactions.length}` }],
    };
    const isSame = hasNoEffect || made.isNeedless === true || made.failure !== undefined;
    const kept = messages.slice(tailStart(messages, 4));
    return {
      headBefore,
      head: isSame ? headBefore : this.store('', [summary, ...kept]),
      tier: input.tier,
      ...(input.trimTail === true ? { trimmedTail: true } : {}),
      tokensBefore: 100_000,
      messagesBefore: messages.length,
      measure: aMeasure({ tokens: 50_000, messages: 1 + kept.length }),
      ...made,
    };
  }

  private takeReply(
    input: CallModelInput,
    headBefore: string,
    reply: ScriptedReply,
  ): CallModelResult {
    const { text = '', error, wroteCall, offersReadOutput } = reply;
    const { stopReason, toolCalls } = callsOf(input, reply);
    const kept = keptMessage(input, stopReason, text, toolCalls, error);
    return {
      headBefore,
      head: kept === undefined ? headBefore : this.store(headBefore, [kept]),
      stopReason,
      toolCalls,
      ...defined({ error, wroteCall, offersReadOutput }),
      textPreview: text.slice(0, 200),
      ...(toolCalls.length === 0 && text !== '' ? { answer: text } : {}),
      usage: { inputTokens: 10, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0 },
      contextTokens: reply.contextTokens ?? 10 * this.messagesOf(headBefore).length,
      ...this.countOf(input, headBefore, reply),
      ...(reply.healedRetries === undefined ? {} : { healedRetries: reply.healedRetries }),
    };
  }

  /** What the run learns of its size where the script says how large it is. */
  private countOf(
    { routeIndex }: CallModelInput,
    headBefore: string,
    { contextTokens: tokens }: ScriptedReply,
  ): Pick<CallModelResult, 'counted' | 'measure'> {
    const route = this.state.snapshot?.chain[routeIndex];
    if (tokens === undefined || route === undefined) return {};
    const messages = this.messagesOf(headBefore).length;
    return {
      counted: { route: routeName(route), messages: messages + 1, tokens },
      measure: aMeasure({ tokens, messages }),
    };
  }

  private runTool(input: RunToolInput): RunToolResult | InfraError {
    this.toolRuns.push(input);
    const done = this.world.tool?.(input, this.toolRuns.length) ?? {
      output: `${input.name} did it`,
    };
    if (isInfra(done)) return done;
    const content = 'error' in done ? JSON.stringify(done.error) : done.output;
    const result = `blob-${shortHash(`${input.toolCallId} ${content}`)}`;
    this.blobs.set(result, content);
    return {
      result,
      preview: content.slice(0, 200),
      bytes: content.length,
      fingerprint: shortHash(content),
      ...('error' in done ? { error: done.error } : {}),
      ...('saysFailed' in done ? { saysFailed: true } : {}),
    };
  }

  private checkEdit(given: CheckEditInput): CheckEditResult | InfraError {
    const problems = this.world.check?.(given);
    if (typeof problems === 'string') return { type: 'refused', problems };
    if (problems !== undefined) return problems;
    const { input, toolCallId } = given;
    if (input === undefined) return { type: 'accepted' };
    const json = JSON.stringify(input);
    return {
      type: 'accepted',
      call: {
        input,
        fingerprint: shortHash(json),
        approvalDigest: `edited-${toolCallId}`,
        editNotice: `changed to ${json.slice(0, 100)}`,
      },
    };
  }

  private take([state, commands]: Transition, event: RunEvent): void {
    this.state = state;
    this.events.push(event);
    this.commands.push(...commands);
    for (const command of commands) this.execute(command);
    this.rollOverWanted =
      commands.some((command) => command.type === 'roll-over') ||
      (this.rollOverWanted && commands.every((command) => command.type === 'publish'));
    this.checkState();
    this.world.watch?.(state, commands, event);
  }

  private execute(command: RunCommand): void {
    switch (command.type) {
      case 'notify':
        check(
          !this.notifications.has(command.callId),
          `notification ${command.callId} is sent once only`,
        );
        this.notifications.set(command.callId, command);
        return;
      case 'prepare-run':
      case 'hand-over':
      case 'check-guardrails':
      case 'call-model':
      case 'check-edit':
      case 'compact':
      case 'run-tool':
      case 'run-subagent':
      case 'plan-recovery': {
        const id = activityId(command);
        check(!this.inFlight.has(id), `activity id ${id} is in flight once only`);
        this.inFlight.set(id, command);
        return;
      }
      case 'start-timer':
        check(!this.timers.has(command.timerId), `timer ${command.timerId} runs once only`);
        check(command.delayMs >= 1, 'a timer has a positive delay');
        if (command.timerId.startsWith('mark-')) {
          this.marks.add(command.timerId);
          check(this.marks.size === 1, 'one timer at a time shows what waits without a limit');
          return;
        }
        // The shortest delay that there is means at once.
        this.timers.set(command.timerId, this.nowMs + (command.delayMs > 1 ? command.delayMs : 0));
        return;
      case 'cancel-timer':
        this.timers.delete(command.timerId);
        this.marks.delete(command.timerId);
        return;
      case 'cancel-activities':
        for (const id of command.callIds) {
          check(
            this.inFlight.has(id) || this.notifications.has(id),
            `only what is in flight is cancelled, not ${id}`,
          );
          this.cancelled.add(id);
        }
        return;
      case 'end-run':
        check(this.inFlight.size === 0, 'nothing is in flight when a run ends');
        check(this.marks.size === 0, 'no wait is shown when a run ends');
        check(this.timers.size === 0, 'no timer runs when a run ends');
        return;
      case 'publish':
      case 'roll-over':
        return;
    }
  }

  private checkState(): void {
    const { state } = this;
    const { phase } = state;
    check(
      isDeepStrictEqual(JSON.parse(JSON.stringify(state)), state),
      `state equals its JSON round trip, also when it is ${phase.type}`,
    );
    if (phase.type === 'ended') return;
    for (const { callId } of state.notifications.inFlight)
      check(this.notifications.has(callId), `notification ${callId} is on its way`);
    for (const id of awaited(state))
      check(this.inFlight.has(id) || this.timers.has(id), `${phase.type}: ${id} is on its way`);
    const wakes = this.outstanding.length > 0 || this.rollOverWanted;
    check(
      wakes || pendingItems(state).length > 0,
      `something can wake a run that is ${phase.type}`,
    );
  }
}

function awaitedByCalls(state: RunState, calls: readonly ToolCallProgress[]): readonly string[] {
  return calls.flatMap(({ status }, index) => {
    if (status.type === 'running' || status.type === 'delegated')
      return [activityIdAt(state, index)];
    if (status.type === 'checking-edit') return [status.callId];
    if (status.type === 'paused') return [status.timerId];
    return 'expiry' in status ? [status.expiry.timerId] : [];
  });
}

/** Ids that the phase waits for: each must be in flight. */
function awaited(state: RunState): readonly string[] {
  const { phase } = state;
  switch (phase.type) {
    case 'preparing':
      return [prepareCallId];
    case 'calling-model':
    case 'checking-guardrails':
    case 'compacting':
    case 'handing-over':
      return [phase.callId];
    case 'ending':
      return [
        ...(phase.outstanding === undefined ? [] : [phase.outstanding]),
        ...awaitedByCalls(state, phase.tools?.calls ?? []),
      ];
    case 'waiting':
      return phase.timerId === undefined ? [] : [phase.timerId];
    case 'running-tools':
      return awaitedByCalls(state, phase.calls);
    case 'recovering':
      return [phase.stage.type === 'planning' ? phase.stage.callId : phase.stage.timerId];
    case 'ready':
    case 'ended':
      return [];
  }
}

/** Drives a run whose model follows a script: one reply per call, an unplanned call fails the test. */
export function drive(
  script: readonly (ScriptedReply | InfraError)[],
  world: Omit<DrivenWorld, 'model'> = {},
): RunDriver {
  return new RunDriver({
    ...world,
    model: (_request, call) => {
      const reply = script[call - 1];
      check(reply !== undefined, `the script plans ${script.length} model calls, not ${call}`);
      return reply;
    },
  }).run();
}
