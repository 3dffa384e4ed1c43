/** The activity `planRecovery`: a learned pattern first, then the model, then the core's own heuristic; each plan is checked. */
import { log } from '@temporalio/activity';
import { defined } from '../workflows/core/json';
import { failureMessageChars } from '../workflows/core/limits';
import type { Message } from '../workflows/core/message';
import type { PlanRecoveryInput, PlanRecoveryResult } from '../workflows/core/recovery/ports';
import type { ProposedToolCall } from '../workflows/core/tools/ports';
import type { RecoveryAction, RecoverySource } from '../workflows/core/recovery/action';
import { cappedTenant } from './definitions/tenant-caps';
import type { ActivityDeps, Feature, RunDefinition } from './definitions/activity-deps';
import { loadDefinition, storeOf } from './definitions/activity-deps';
import type { LearnedAction } from './definitions/feature-hooks';
import { withQueueTime } from './lifecycle/activity-lifecycle';
import { resultBlock } from './model-call/pending-results';
import type { Attempting } from './model-call/route-attempt';
import { withAttempts } from './model-call/route-attempt';
import { boundText, sanitizeText } from './untrusted/sanitizer';
import type { Store } from './stores/store';
import { canonicalJson, contentHash } from './stores/content-hash';
import { redactedInput, takeToolCalls } from './model-call/tool-call-intake';
import { offered } from './tool-output/stored-outputs';
import { stillNames } from './tool-call/path-origin';
import { hasCodeFor, requireTool } from './tool-call/tool-of-run';
import type { JsonReply, WantedAnswer } from './model-call/ask-for-json';
import { askForJson } from './model-call/ask-for-json';
import { wantedEstimate, wantedPlan } from './recovery/planner-answer';
import { plannerPrompt } from './recovery/planner-prompt';
import { mayRetry, whyRepeated } from './recovery/repeated-call';

/** Token limit of a plan and of an estimate (R-REC-3). */
const answerTokens = 600;

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
  { store, definition, input, messages }: Place,
  planned: RecoveryAction,
): Promise<CheckedPlan | string> {
  const action = withFailedInput(planned, input);
  const { toolName, parameters } = action.action;
  if (isToolless(action)) return { action };
  if (toolName === '' && parameters === undefined) return { action };
  if (!hasCodeFor(definition, toolName))
    return `it names the unknown tool "${toolName.slice(0, 64)}"`;
  if (parameters === undefined) return { action };
  const repeated = whyRepeated(action, input.context, messages, requireTool(definition, toolName));
  if (repeated !== undefined) return repeated;
  const argumentsText = JSON.stringify(parameters);
  const [taken] = await takeToolCalls(
    store,
    definition,
    [{ vendorId: '', name: toolName, argumentsText }],
    { idPrefix: input.callIdPrefix, iteration: input.iteration, isAsked: true },
  );
  if (taken === undefined) return 'its call could not be read';
  const { error } = taken.proposed;
  if (error !== undefined) return `its parameters do not fit ${toolName}: ${error.message}`;
  return { action: await shownAction(action, argumentsText, taken.proposed), call: taken.proposed };
}

/** The action for history and people: if its call contains a secret and travels by reference, so do its parameters. */
async function shownAction(
  action: RecoveryAction,
  argumentsText: string,
  { input }: ProposedToolCall,
): Promise<RecoveryAction> {
  if (input !== undefined) return action;
  return {
    ...action,
    action: { ...action.action, parameters: await redactedInput(argumentsText) },
  };
}

/** A learned fix that may be tried. */
async function learned(place: Place): Promise<LearnedAction | undefined> {
  const { deps, store, definition, input, messages } = place;
  if (!definition.agent.learns) return undefined;
  const { config } = definition;
  const { trouble } = input.context;
  return deps.learning?.suggest(store, { config, trouble, messages });
}

/** The transcript with the results that are not in it yet. */
async function messagesOf(store: Store, input: PlanRecoveryInput): Promise<readonly Message[]> {
  const results = await Promise.all(
    (input.pendingResults ?? []).map((pending) => resultBlock(store, pending)),
  );
  const messages = await store.loadTranscript(input.head);
  return results.length === 0 ? messages : [...messages, { role: 'tool', results }];
}

async function ask<Answer>(place: Place, wanted: WantedAnswer<Answer>): Promise<JsonReply<Answer>> {
  const { deps, store, definition, input } = place;
  const { config } = definition;
  const route = input.routeIndex === undefined ? undefined : config.chain[input.routeIndex];
  if (route === undefined) return { problem: 'every route of the chain is cooling down' };
  const provider = deps.catalog.providers.get(route.provider);
  if (provider === undefined) return { problem: `no provider "${route.provider}" on this worker` };
  const { limits } = config;
  return askForJson({
    ...wanted,
    store,
    provider,
    route,
    limits,
    capped: cappedTenant(deps.tenantCaps, config.tenant),
    prompt: plannerPrompt(input, config, place.messages),
    maxOutputTokens: answerTokens,
    timeoutMs: limits.recoveryPlanTimeoutMs,
    retries: input.probe === true ? 0 : limits.streamRetries,
    unstructured: input.unstructured,
    holder: `${input.idPrefix}/${input.iteration}/recovery`,
    attempting: place.attempting,
  });
}

function resultOf(
  { attempting }: Place,
  plan: CheckedPlan,
  source: RecoverySource,
  more: Pick<PlanRecoveryResult, 'patternId' | 'problem' | 'estimate'> = {},
): PlanRecoveryResult {
  const digest = contentHash(canonicalJson(plan.action));
  return { ...plan, source, digest, ...more, ...attempting.meter.spent() };
}

function shownProblem(problem: string): string {
  return boundText(sanitizeText(problem, { maxChars: failureMessageChars }), 300);
}

/** Whether a path that a rule took from an earlier call is no longer in that call's result, or no longer the only one that fits. */
async function isOutdated(
  { store, messages, definition }: Place,
  { origin, action }: RecoveryAction,
): Promise<boolean> {
  if (origin === undefined) return false;
  const value = action.parameters?.[origin.parameter];
  const { workspace } = definition.config;
  return (
    typeof value !== 'string' || !(await stillNames(store, messages, origin, value, workspace))
  );
}

/** The action without the path that was not found again. */
function doubted({ origin, action, ...rest }: RecoveryAction): RecoveryAction {
  const { toolName } = action;
  return {
    ...rest,
    reasoning: `${toolName} failed, and it is not certain which path "${origin?.parameter ?? ''}" means. Look for the file first.`,
    action: { toolName },
    expectedOutcome: `${toolName} is called with a path that a result names.`,
  };
}

async function fallBack(place: Place, problem: string): Promise<PlanRecoveryResult> {
  const planned = place.input.fallback;
  const fallback = (await isOutdated(place, planned)) ? doubted(planned) : planned;
  const checked = await check(place, fallback);
  const { parameters: _unusable, ...inWords } = fallback.action;
  const plan = typeof checked === 'string' ? { action: { ...fallback, action: inWords } } : checked;
  return resultOf(place, plan, 'heuristic', { problem: shownProblem(problem) });
}

async function plan(place: Place): Promise<PlanRecoveryResult> {
  const known = await learned(place);
  const fitting = known && (await check(place, known));
  if (known !== undefined && typeof fitting === 'object')
    return resultOf(place, fitting, 'pattern', { patternId: known.patternId });
  const { thresholds, context } = place.input;
  const reply = await ask(place, wantedPlan(thresholds, mayRetry(context)));
  if ('problem' in reply) return fallBack(place, reply.problem);
  const checked = await check(place, reply.answer);
  return typeof checked === 'string'
    ? fallBack(place, `the plan cannot be used: ${checked}`)
    : resultOf(place, checked, 'model');
}

async function estimate(place: Place): Promise<PlanRecoveryResult> {
  const reply = await ask(place, wantedEstimate);
  const said =
    'answer' in reply ? { estimate: reply.answer } : { problem: shownProblem(reply.problem) };
  return resultOf(place, { action: place.input.fallback }, 'model', said);
}

/** Writes to the worker's log what was planned or estimated, and for which trouble. */
function logged({ input }: Place, planned: PlanRecoveryResult): PlanRecoveryResult {
  const { source, problem, estimate: estimated, action } = planned;
  const { tool, code, message } = input.context.trouble;
  const { strategy, confidence, reasoning } = action;
  if (estimated !== undefined) log.info('The progress of a run was estimated', { ...estimated });
  else
    log.info('A recovery was planned', {
      trouble: `${code}: ${message}`,
      troubledTool: tool,
      strategy,
      tool: action.action.toolName,
      confidence: Number(confidence.toFixed(2)),
      source,
      reasoning,
      ...defined({ problem }),
    });
  return planned;
}

/**
 * Plans a recovery of a stuck run, or estimates the progress.
 *
 * Contract: resolves with the fallback if the planner's provider fails or its answer is unusable.
 * Errors: ApplicationFailure such as `store_unavailable`; the core then uses its heuristic.
 */
function planRecovery(deps: ActivityDeps, input: PlanRecoveryInput): Promise<PlanRecoveryResult> {
  return withAttempts(
    input.allowance,
    async (attempting) => {
      const store = storeOf(deps, input.storeId);
      const messages = await messagesOf(store, input);
      const definition = offered(await loadDefinition(deps, input.definition), messages);
      const place: Place = { deps, store, definition, input, messages, attempting };
      if (input.purpose === 'estimate') return logged(place, await estimate(place));
      return logged(place, await plan(place));
    },
    input.routeIndex === undefined ? 'never' : 'always',
  );
}

/** The feature recovery planner. Without it the core's own heuristic plans recoveries. */
export const recoveryPlanner: Feature = {
  activities: (deps) => ({
    planRecovery: (input) => withQueueTime(deps.clock, () => planRecovery(deps, input)),
  }),
};
