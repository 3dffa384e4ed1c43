/** Summarizes a record with a model: part by part. Each part is stored, so that a retry resumes. */
import { Context } from '@temporalio/activity';
import { z } from 'zod';
import type { CompactInput } from '../../workflows/core/context/ports';
import type { RouteConfig } from '../../workflows/core/failover/state';
import { routeName } from '../../workflows/core/failover/provider-health';
import { defined } from '../../workflows/core/json';
import { weighTextTokens } from '../../workflows/core/context/token-factors';
import type { ActivityDeps, RunDefinition } from '../definitions/activity-deps';
import { spendSchema } from '../model-call/attempt-memory';
import type { ModelReply, ModelRequest, Provider } from '../providers/provider';
import type { Attempt, Attempting } from '../model-call/route-attempt';
import { providerOf, routeOf, sendAttempt, serverClock } from '../model-call/route-attempt';
import type { RouteCall } from '../model-call/shared-health';
import { admitted, reportAnsweredCall } from '../model-call/shared-health';
import { CallMeter } from '../model-call/call-meter';
import type { Store } from '../stores/store';
import { contentHash } from '../stores/content-hash';
import { countTextTokens } from '../measure/count-tokens';
import { measureCall, tokenFactorsOf } from '../measure/measure-request';
import { recordChunks } from './record-chunks';
import type { PartSummary } from './summary-reply';
import { readPartSummary, summaryProblem, summaryPrompt, summarySystem } from './summary-reply';

/** What a model made of a record. */
export type RecordSummary =
  | { readonly type: 'summary'; readonly parts: readonly PartSummary[] }
  /** A reply that cannot be used, and why. */
  | { readonly type: 'unusable'; readonly route: string; readonly problem: string };

/** Tokens of one part's summary; a small window leaves less. */
const summaryTokens = 2_048;
/** Most tokens of one part: a longer one is summarized too coarsely (ADR 0024). */
const mostPartTokens = 32_000;
/** Tokens for system prompt and frame, with some to spare. */
const frameTokens = 900;
/** Share of the window that a part's request may fill; estimates are right within 5 %. */
const filledShare = 0.9;

/** Input of a compaction that asks a model. */
export type SummaryInput = CompactInput & {
  readonly summary: NonNullable<CompactInput['summary']>;
};

interface Summarizer {
  readonly store: Store;
  readonly provider: Provider;
  readonly call: RouteCall;
  readonly route: RouteConfig;
  readonly input: SummaryInput;
  readonly maxOutputTokens: number;
  readonly clock: () => number;
  readonly retries: number;
}

/**
 * Summarizes the lines of a record.
 *
 * Contract: every request fits the window of its route. A part that was summarized before is not paid for again.
 * Errors: as `callModel`: ApplicationFailure with a failover reason.
 */
export async function summarizeRecord(
  deps: ActivityDeps,
  definition: RunDefinition,
  store: Store,
  input: SummaryInput,
  lines: readonly string[],
  attempting: Attempting,
): Promise<RecordSummary> {
  const { windowTokens } = input.summary;
  const route = routeOf(definition, input.summary);
  const provider = providerOf(deps, route.provider);
  const factors = tokenFactorsOf(provider.wire, route.model, input.summary.tokenFactors);
  const maxOutputTokens = Math.max(256, Math.min(summaryTokens, Math.floor(windowTokens / 8)));
  const room = Math.floor(windowTokens * filledShare) - maxOutputTokens - frameTokens;
  const budget = Math.max(200, Math.min(mostPartTokens, room));
  const chunks = recordChunks(lines, budget, (text) =>
    Math.ceil(weighTextTokens(countTextTokens(text), factors)),
  );
  const clock = serverClock(deps);
  const { limits } = definition.config;
  const call: RouteCall = {
    route: routeName(route),
    holder: `${input.holder}/summary`,
    limits,
    startedAtMs: clock(),
  };
  return admitted(store, call, async (admission) => {
    const summarizer: Summarizer = {
      store,
      provider,
      call,
      route,
      input,
      maxOutputTokens,
      clock,
      retries: admission === 'probe' ? 0 : limits.streamRetries,
    };
    const made = await summarizeParts(summarizer, chunks, attempting);
    await reportAnsweredCall(store, call, clock());
    return made;
  });
}

async function summarizeParts(
  summarizer: Summarizer,
  chunks: readonly string[],
  attempting: Attempting,
): Promise<RecordSummary> {
  const parts: PartSummary[] = [];
  for (const [index, chunk] of chunks.entries()) {
    const prompt = summaryPrompt(chunk, index + 1, chunks.length);
    const made = await summarizePart(summarizer, prompt, attempting);
    if ('problem' in made) return { type: 'unusable', route: summarizer.call.route, ...made };
    parts.push(made);
  }
  return { type: 'summary', parts };
}

const texts = z.array(z.string());
const partSchema = z.object({ progress: z.string(), facts: texts, decisions: texts });
/** A stored part, with what its activity had consumed by then: a worker may die before it reports. */
const keptPartSchema = z.object({
  part: partSchema,
  activityId: z.string(),
  spend: spendSchema,
});

async function summarizePart(
  summarizer: Summarizer,
  prompt: string,
  attempting: Attempting,
): Promise<PartSummary | { readonly problem: string }> {
  const { store, call } = summarizer;
  const key = `summary/${contentHash(`${call.holder}\n${call.route}\n${prompt}`)}`;
  const known = await store.beginTool({
    key,
    tool: 'summary',
    inputDigest: contentHash(prompt),
    startedAtMs: summarizer.clock(),
  });
  const { activityId } = Context.current().info;
  const kept =
    known.type === 'finished' ? keptPartSchema.safeParse(JSON.parse(known.outcome)) : undefined;
  if (kept?.success === true) {
    if (kept.data.activityId === activityId) attempting.meter.resume(kept.data.spend);
    return kept.data.part;
  }
  const reply = await sendPart(summarizer, prompt, attempting);
  const problem = summaryProblem(reply);
  if (problem !== undefined) return { problem };
  const part = readPartSummary(reply);
  const { spend } = attempting.meter;
  await store.finishTool(key, JSON.stringify({ part, activityId, spend }));
  return part;
}

/** Sends one part. What earlier parts and attempts consumed counts against the allowance, lost attempts once. */
async function sendPart(
  { store, provider, call, route, input, maxOutputTokens, clock, retries }: Summarizer,
  prompt: string,
  attempting: Attempting,
): Promise<ModelReply> {
  const wanted: ModelRequest = {
    model: route.model,
    system: summarySystem,
    messages: [{ role: 'user', blocks: [{ type: 'text', text: prompt }] }],
    tools: [],
    maxOutputTokens,
  };
  const { memory } = attempting;
  if (attempting.meter.hasAdmitted) {
    const { spend } = attempting.meter;
    attempting.meter = new CallMeter({ allowance: input.allowance, spend, lostAttempts: 0 });
    attempting.memory = { ...memory, failures: [], partialText: '', spend };
  }
  const { meter } = attempting;
  const { tokenFactors } = input.summary;
  const measure = measureCall({
    request: wanted,
    route: call.route,
    provider,
    input: defined({ tokenFactors }),
  });
  const { price } = route;
  const request = { ...wanted, maxOutputTokens: meter.admit({ measure, price, maxOutputTokens }) };
  const attempt: Attempt = {
    store,
    provider,
    call,
    retries,
    clock,
    meter,
    partialText: '',
    memory: attempting.memory,
  };
  attempting.attempt = attempt;
  const reply = await sendAttempt(attempt, request);
  meter.chargeReply(reply);
  return reply;
}
