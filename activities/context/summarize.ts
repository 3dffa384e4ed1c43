/** Summarizes a record with a model: part by part. Each part is stored, so that a retry resumes. */
import { Context } from '@temporalio/activity';
import { z } from 'zod';
import type { CompactInput } from '../../workflows/core/context/ports';
import type { InfraError } from '../../workflows/core/failure';
import { routeName } from '../../workflows/core/failover/provider-health';
import { defined } from '../../workflows/core/json';
import { weighTextTokens } from '../../workflows/core/context/token-factors';
import type { ActivityDeps, RunDefinition } from '../definitions/activity-deps';
import { spendSchema } from '../model-call/attempt-memory';
import type { ModelRequest } from '../providers/provider';
import { accountSettings } from '../providers/settings/model-settings';
import type { Attempting, MeasuredRequest, OpenRoute } from '../model-call/route-attempt';
import { onRoute, providerOf, routeOf, sendAttempt } from '../model-call/route-attempt';
import type { Store } from '../stores/store';
import { contentHash } from '../stores/content-hash';
import { measureCall } from '../measure/call-measure';
import { countTextTokens } from '../measure/count-tokens';
import { initialTokenFactors } from '../measure/measure-request';
import { recordChunks } from './record-chunks';
import type { PartSummary } from './summary-reply';
import { readPartSummary, summaryProblem, summaryPrompt, summarySystem } from './summary-reply';

/** Tokens of one part's summary; a small window leaves less. */
const summaryTokens = 2_048;
/** Most tokens of one part: a longer one is summarized too coarsely (ADR 0024). */
const mostPartTokens = 32_000;
/** Tokens for system prompt and frame, with some to spare. */
const frameTokens = 900;
/** Share of the window that a part's request may fill; estimates are right within 5 %. */
const filledShare = 0.9;

/** A compaction that asks a model. */
export interface SummaryWork {
  readonly deps: ActivityDeps;
  readonly store: Store;
  readonly definition: RunDefinition;
  readonly input: CompactInput;
  readonly attempting: Attempting;
}

/**
 * Summarizes the lines of a record, part by part.
 *
 * Contract: every request fits the window of its route. A part that was summarized before is not paid for again.
 * Errors: as `callModel`: ApplicationFailure with a failover reason.
 */
export async function summarizeRecord(
  { deps, store, definition, input, attempting }: SummaryWork,
  summary: NonNullable<CompactInput['summary']>,
  lines: readonly string[],
): Promise<readonly PartSummary[] | InfraError> {
  const { windowTokens, tokenFactors, routeIndex } = summary;
  const route = routeOf(definition, summary);
  const { provider, model } = route;
  const settings = accountSettings(route.settings ?? {});
  const factors = tokenFactors ?? initialTokenFactors(providerOf(deps, provider).wire, model);
  const maxOutputTokens = Math.max(256, Math.min(summaryTokens, Math.floor(windowTokens / 8)));
  const room = Math.floor(windowTokens * filledShare) - maxOutputTokens - frameTokens;
  const budget = Math.max(200, Math.min(mostPartTokens, room));
  const chunks = recordChunks(lines, budget, (text) =>
    Math.ceil(weighTextTokens(countTextTokens(text), factors)),
  );
  const holder = `${input.holder}/summary`;
  const place = { route: routeName(route), provider: providerOf(deps, route.provider) };
  const asked = chunks.map((chunk, index): AskedPart => {
    const prompt = summaryPrompt(chunk, index + 1, chunks.length);
    const request: ModelRequest = {
      model,
      system: summarySystem,
      messages: [{ role: 'user', blocks: [{ type: 'text', text: prompt }] }],
      tools: [],
      maxOutputTokens,
      settings,
    };
    const measure = measureCall({ request, ...place, input: defined({ tokenFactors }) });
    return { prompt, key: partKey(holder, place.route, prompt), request, measure };
  });
  const parts: PartSummary[] = [];
  for (const { key } of asked) {
    const part = await keptPart(store, key, attempting);
    if (part === undefined) break;
    parts.push(part);
  }
  const [next] = asked.slice(parts.length);
  if (next === undefined) return parts;
  // However this attempt ends, the lost attempts before it have sent the first part that is not kept.
  attempting.meter.chargeLost({ measure: next.measure, price: route.price, maxOutputTokens });
  return onRoute(deps, { store, definition, routeIndex, holder }, async (open) => {
    for (const missing of asked.slice(parts.length)) {
      const part = await summarizePart(open, missing, attempting);
      if ('kind' in part) return part;
      parts.push(part);
    }
    return parts;
  });
}

/** A part before it is sent. */
interface AskedPart extends MeasuredRequest {
  readonly prompt: string;
  readonly key: string;
}

const texts = z.array(z.string());
const partSchema = z.object({ progress: z.string(), facts: texts, decisions: texts });
/** A stored part, with what its activity had consumed by then: a worker may die before it reports. */
const keptPartSchema = z.object({
  part: partSchema,
  activityId: z.string(),
  spend: spendSchema,
  sent: z.number(),
});

function partKey(holder: string, route: string, prompt: string): string {
  return `summary/${contentHash(`${holder}\n${route}\n${prompt}`)}`;
}

/** The summary of a part that was made before. What this activity had consumed by then counts. */
async function keptPart(
  store: Store,
  key: string,
  attempting: Attempting,
): Promise<PartSummary | undefined> {
  const known = await store.getTool(key);
  if (known.type !== 'finished') return undefined;
  const kept = keptPartSchema.safeParse(JSON.parse(known.outcome)).data;
  if (kept?.activityId === Context.current().info.activityId) attempting.meter.resume(kept);
  return kept?.part;
}

/** Summarizes one part, and keeps the summary. */
async function summarizePart(
  open: OpenRoute,
  { prompt, key, ...asked }: AskedPart,
  attempting: Attempting,
): Promise<PartSummary | InfraError> {
  const { store, call, clock } = open;
  const inputDigest = contentHash(prompt);
  await store.beginTool({ key, tool: 'summary', inputDigest, startedAtMs: clock() });
  const reply = await sendAttempt(open, attempting, asked);
  attempting.memory = { ...attempting.memory, failures: [], partialText: '' };
  attempting.partialText = '';
  const problem = summaryProblem(reply);
  if (problem !== undefined) {
    const message = `${call.route} gave no usable summary of the conversation: ${problem}.`;
    return { kind: 'infra', code: 'format', message, route: call.route };
  }
  const part = readPartSummary(reply);
  const { activityId } = Context.current().info;
  await store.finishTool(key, JSON.stringify({ part, activityId, ...attempting.meter.reading() }));
  return part;
}
