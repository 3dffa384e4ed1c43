/** The activity `planRecovery`: a learned pattern first, then the model, then the core's own heuristic; each plan is checked. */
import { failureMessageChars } from '../workflows/core/limits';
import type { Message } from '../workflows/core/message';
import type { PlanRecoveryInput, PlanRecoveryResult } from '../workflows/core/recovery/ports';
import type { ProposedToolCall } from '../workflows/core/tools/ports';
import type { RecoveryAction, RecoverySource } from '../workflows/core/recovery/action';
import { defined } from '../workflows/core/json';
import type { ActivityDeps, Feature, RunDefinition } from './definitions/activity-deps';
import { loadDefinition, storeOf } from './definitions/activity-deps';
import type { LearnedAction } from './definitions/feature-hooks';
import { withHeartbeat, withQueueTime } from './lifecycle/activity-lifecycle';
import { resultBlock } from './model-call/pending-results';
import { boundText, sanitizeText } from './untrusted/sanitizer';
import type { Store } from './stores/store';
import { canonicalJson, contentHash } from './stores/content-hash';
import { redactedInput, takeToolCalls } from './model-call/tool-call-intake';
import { stillNames } from './tool-call/path-origin';
import { hasCodeFor } from './tool-call/tool-of-run';
import type { PlannerReply } from './recovery/ask-planner';
import { askPlanner } from './recovery/ask-planner';
import { readAction } from './recovery/planner-answer';
import { plannerInstructions, plannerPrompt } from './recovery/planner-prompt';

interface Place {
  readonly deps: ActivityDeps;
  readonly store: Store;
  readonly definition: RunDefinition;
  readonly input: PlanRecoveryInput;
  readonly messages: readonly Message[];
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
  const provider = deps.catalog.providers.get(route.provider);
  if (provider === undefined) return { problem: `no provider "${route.provider}" on this worker` };
  return askPlanner({
    store,
    provider,
    route,
    limits: config.limits,
    system: plannerInstructions(input.thresholds),
    prompt: plannerPrompt(input.context, config.tools, place.messages),
    isProbe: input.probe === true,
    holder: `${input.idPrefix}/${input.iteration}/recovery`,
    clock: deps.clock,
    ...defined({ allowance: input.allowance }),
  });
}

function resultOf(
  plan: CheckedPlan,
  source: RecoverySource,
  more: Pick<PlanRecoveryResult, 'patternId' | 'problem' | 'spend'>,
): PlanRecoveryResult {
  return { ...plan, source, digest: contentHash(canonicalJson(plan.action)), ...more };
}

/** Whether a parameter that a rule took from an earlier call is not what that call names, or not the only one it may mean. */
async function isOutdated(
  { store, messages }: Place,
  { origin, action }: RecoveryAction,
): Promise<boolean> {
  if (origin === undefined) return false;
  const value = action.parameters?.[origin.parameter];
  return typeof value !== 'string' || !(await stillNames(store, messages, origin, value));
}

/** The action without the path that was not found again. */
function doubted({ origin, action, ...rest }: RecoveryAction): RecoveryAction {
  const { toolName } = action;
  return {
    ...rest,
    reasoning: `${toolName} failed, and which path "${origin?.parameter ?? ''}" means is not certain. Look for the file first.`,
    action: { toolName },
    expectedOutcome: `${toolName} is called with a path that a result names.`,
  };
}

async function fallBack(
  place: Place,
  problem: string,
  spent: Pick<PlanRecoveryResult, 'spend'>,
): Promise<PlanRecoveryResult> {
  const { fallback } = place.input;
  if (await isOutdated(place, fallback))
    return fallBack(
      { ...place, input: { ...place.input, fallback: doubted(fallback) } },
      problem,
      spent,
    );
  const checked = await check(place, fallback);
  const { parameters: _unusable, ...inWords } = fallback.action;
  const plan = typeof checked === 'string' ? { action: { ...fallback, action: inWords } } : checked;
  const shown = boundText(sanitizeText(problem, { maxChars: failureMessageChars }), 300);
  return resultOf(plan, 'heuristic', { problem: shown, ...spent });
}

/** The plan in a model's answer; a text if there is none that can be used. */
async function answered(place: Place, text: string): Promise<CheckedPlan | string> {
  const action = readAction(text);
  if (action === undefined) return "the planner's answer contains no valid plan";
  const checked = await check(place, action);
  return typeof checked === 'string' ? `the plan cannot be used: ${checked}` : checked;
}

async function plan(place: Place): Promise<PlanRecoveryResult> {
  const known = await learned(place);
  const fitting = known && (await check(place, known));
  if (known !== undefined && typeof fitting === 'object')
    return resultOf(fitting, 'pattern', { patternId: known.patternId });
  const { spend, ...reply } = await ask(place);
  const spent = defined({ spend });
  const planned = 'text' in reply ? await answered(place, reply.text) : reply.problem;
  return typeof planned === 'string'
    ? fallBack(place, planned, spent)
    : resultOf(planned, 'model', spent);
}

/**
 * Plans a recovery of a stuck run.
 *
 * Contract: resolves with the fallback if the planner's provider fails or its answer is unusable.
 * Errors: ApplicationFailure such as `store_unavailable`; the core then uses its heuristic.
 */
function planRecovery(deps: ActivityDeps, input: PlanRecoveryInput): Promise<PlanRecoveryResult> {
  return withHeartbeat(
    () => undefined,
    async () => {
      const store = storeOf(deps, input.storeId);
      const definition = await loadDefinition(deps, input.definition);
      return plan({ deps, store, definition, input, messages: await messagesOf(store, input) });
    },
  );
}

/** The feature recovery planner. Without it the core's own heuristic plans recoveries. */
export const recoveryPlanner: Feature = {
  activities: (deps) => ({
    planRecovery: (input) => withQueueTime(deps.clock, () => planRecovery(deps, input)),
  }),
};
