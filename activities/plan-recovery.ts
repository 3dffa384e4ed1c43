/** The activity `planRecovery`: a learned pattern first, then the model, then the core's own heuristic; each plan is checked. */
import { failureMessageChars } from '../workflows/core/limits';
import type { Message } from '../workflows/core/message';
import type { PlanRecoveryInput, PlanRecoveryResult } from '../workflows/core/recovery/ports';
import type { ProposedToolCall } from '../workflows/core/tools/ports';
import type { RecoveryAction, RecoverySource } from '../workflows/core/recovery/action';
import { defined } from '../workflows/core/json';
import type { ActivityDeps, RunDefinition } from './definitions/activity-deps';
import { loadDefinition, storeOf } from './definitions/activity-deps';
import type { LearnedAction } from './definitions/feature-hooks';
import { resultBlock } from './model-call/pending-results';
import type { Attempting } from './model-call/route-attempt';
import { withAttempts } from './model-call/route-attempt';
import { boundText, sanitizeText } from './untrusted/sanitizer';
import type { Store } from './stores/store';
import { canonicalJson, contentHash } from './stores/content-hash';
import { redactedInput, takeToolCalls } from './model-call/tool-call-intake';
import { hasCodeFor } from './tool-call/tool-of-run';
import type { PlannerReply } from './recovery/ask-planner';
import { askPlanner } from './recovery/ask-planner';
import { actionFormat, estimateFormat, readAction, readEstimate } from './recovery/planner-answer';
import { estimateSystem, plannerPrompt, planSystem } from './recovery/planner-prompt';
import { transcriptTail } from './recovery/transcript-tail';

interface Place {
  readonly deps: ActivityDeps;
  readonly store: Store;
  readonly definition: RunDefinition;
  readonly input: PlanRecoveryInput;
  readonly messages: readonly Message[];
  readonly attempting: Attempting;
}

/** A plan that passed its checks. */
interface CheckedPlan {
  readonly action: RecoveryAction;
  readonly call?: ProposedToolCall;
}

/** Whether a strategy names no tool. */
function isToolless({ strategy }: RecoveryAction): boolean {
  return strategy === 'escalate' || strategy === 'give-up';
}

/** A retry without parameters means the call that failed. */
function withFailedInput(action: RecoveryAction, input: PlanRecoveryInput): RecoveryAction {
  const { toolName, parameters } = action.action;
  if (action.strategy !== 'retry' || parameters !== undefined) return action;
  const failed = input.context.failures.findLast(({ tool }) => tool === toolName);
  return failed?.input === undefined
    ? action
    : { ...action, action: { ...action.action, parameters: failed.input } };
}

/** The plan with its tool call checked as a model's own; a text if it cannot be used. */
async function check(
  { store, definition, input }: Place,
  planned: RecoveryAction,
): Promise<CheckedPlan | string> {
  const action = withFailedInput(planned, input);
  const { toolName, parameters } = action.action;
  if (isToolless(action)) return { action };
  if (toolName === '' && parameters === undefined) return { action };
  if (!hasCodeFor(definition, toolName))
    return `it names the unknown tool "${toolName.slice(0, 64)}"`;
  if (parameters === undefined) return { action };
  const argumentsText = JSON.stringify(parameters);
  const [taken] = await takeToolCalls(
    store,
    definition,
    [{ vendorId: '', name: toolName, argumentsText }],
    { idPrefix: input.callIdPrefix, iteration: input.iteration },
  );
  if (taken === undefined) return 'its call could not be read';
  const { error } = taken.proposed;
  if (error !== undefined) return `its parameters do not fit ${toolName}: ${error.message}`;
  return { action: shownAction(action, argumentsText, taken.proposed), call: taken.proposed };
}

/** The action for history and people: if its call contains a secret and travels by reference, so do its parameters. */
function shownAction(
  action: RecoveryAction,
  argumentsText: string,
  { input }: ProposedToolCall,
): RecoveryAction {
  if (input !== undefined) return action;
  return { ...action, action: { ...action.action, parameters: redactedInput(argumentsText) } };
}

/** A learned fix that may be tried. */
async function learned(place: Place): Promise<LearnedAction | undefined> {
  const { deps, store, definition, input, messages } = place;
  if (!definition.agent.learns) return undefined;
  const { config } = definition;
  const { trouble } = input.context;
  return deps.learning?.suggest(store, { config, trouble, messages, nowMs: deps.clock() });
}

/** The transcript with the results that are not in it yet. */
async function messagesOf(store: Store, input: PlanRecoveryInput): Promise<readonly Message[]> {
  const results = await Promise.all(
    (input.pendingResults ?? []).map((pending) => resultBlock(store, pending)),
  );
  const messages = await store.loadTranscript(input.head);
  return results.length === 0 ? messages : [...messages, { role: 'tool', results }];
}

async function ask(place: Place): Promise<PlannerReply> {
  const { deps, store, definition, input } = place;
  const { config } = definition;
  const route = input.routeIndex === undefined ? undefined : config.chain[input.routeIndex];
  if (route === undefined) return { problem: 'every route of the chain is cooling down' };
  const provider = deps.catalog.provider(route.provider);
  if (provider === undefined) return { problem: `no provider "${route.provider}" on this worker` };
  return askPlanner({
    store,
    provider,
    route,
    limits: config.limits,
    system: input.purpose === 'plan' ? planSystem : estimateSystem,
    prompt: plannerPrompt(input.context, config, transcriptTail(place.messages)),
    output: input.purpose === 'plan' ? actionFormat : estimateFormat,
    isProbe: input.probe === true,
    holder: `${input.idPrefix}/${input.iteration}/recovery`,
    clock: deps.clock,
    attempting: place.attempting,
  });
}

function resultOf(
  { attempting }: Place,
  plan: CheckedPlan,
  source: RecoverySource,
  { patternId, problem }: { patternId?: string; problem?: string } = {},
): PlanRecoveryResult {
  return {
    ...plan,
    source,
    digest: contentHash(canonicalJson(plan.action)),
    ...defined({ patternId }),
    ...(problem === undefined
      ? {}
      : { problem: boundText(sanitizeText(problem, { maxChars: failureMessageChars }), 300) }),
    ...attempting.meter.spent(),
  };
}

async function fallBack(place: Place, problem: string): Promise<PlanRecoveryResult> {
  const { fallback } = place.input;
  const checked = await check(place, fallback);
  const { parameters: _unusable, ...inWords } = fallback.action;
  const plan = typeof checked === 'string' ? { action: { ...fallback, action: inWords } } : checked;
  return resultOf(place, plan, 'heuristic', { problem });
}

async function plan(place: Place): Promise<PlanRecoveryResult> {
  const known = await learned(place);
  const fitting = known === undefined ? undefined : await check(place, known);
  if (known !== undefined && fitting !== undefined && typeof fitting !== 'string')
    return resultOf(place, fitting, 'pattern', { patternId: known.patternId });
  const { text, problem } = await ask(place);
  if (text === undefined) return fallBack(place, problem ?? 'the planner gave no answer');
  const action = readAction(text);
  if (action === undefined) return fallBack(place, "the planner's answer contains no valid plan");
  const checked = await check(place, action);
  if (typeof checked === 'string') return fallBack(place, `the plan cannot be used: ${checked}`);
  return resultOf(place, checked, 'model');
}

async function estimate(place: Place): Promise<PlanRecoveryResult> {
  const { text, problem } = await ask(place);
  const found = text === undefined ? undefined : readEstimate(text);
  const kept = resultOf(place, { action: place.input.fallback }, 'model', defined({ problem }));
  return found === undefined ? kept : { ...kept, estimate: found };
}

/**
 * Plans a recovery of a stuck run, or estimates the progress.
 *
 * Contract: resolves with the fallback if the planner's provider fails or its answer is unusable.
 * Errors: ApplicationFailure such as `store_unavailable`; the core then uses its heuristic.
 */
export async function planRecovery(
  deps: ActivityDeps,
  input: PlanRecoveryInput,
): Promise<PlanRecoveryResult> {
  return withAttempts(
    input.allowance,
    async (attempting) => {
      const store = storeOf(deps, input.storeId);
      const definition = await loadDefinition(deps, input.definition);
      const messages = await messagesOf(store, input);
      const place: Place = { deps, store, definition, input, messages, attempting };
      return input.purpose === 'plan' ? plan(place) : estimate(place);
    },
    input.routeIndex !== undefined,
  );
}
