/** Summarizes a record with a model: part by part. Each part is stored, so that a retry resumes. */
import { Context } from '@temporalio/activity';
import { z } from 'zod';
import type { CompactInput } from '../../workflows/core/context/ports';
import type { InfraError } from '../../workflows/core/failure';
import { defined } from '../../workflows/core/json';
import { weighTextTokens } from '../../workflows/core/context/token-factors';
import type { ActivityDeps, RunDefinition } from '../definitions/activity-deps';
import { spendSchema } from '../model-call/attempt-memory';
import type { ModelRequest } from '../providers/provider';
import type { Attempting, MeasuredRequest, OpenRoute } from '../model-call/route-attempt';
import { onRoute, providerOf, routeOf, sendAttempt } from '../model-call/route-attempt';
import { CallMeter } from '../model-call/call-meter';
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
  const { provider, model } = routeOf(definition, summary);
  const factors = tokenFactors ?? initialTokenFactors(providerOf(deps, provider).wire, model);
  const maxOutputTokens = Math.max(256, Math.min(summaryTokens, Math.floor(windowTokens / 8)));
  const room = Math.floor(windowTokens * filledShare) - maxOutputTokens - frameTokens;
  const budget = Math.max(200, Math.min(mostPartTokens, room));
  const chunks = recordChunks(lines, budget, (text) =>
    Math.ceil(weighTextTokens(countTextTokens(text), factors)),
  );
  const holder = `${input.holder}/summary`;
  return onRoute(deps, { store, definition, routeIndex, holder }, async (open) => {
    const parts: PartSummary[] = [];
    for (const [index, chunk] of chunks.entries()) {
      const prompt = summaryPrompt(chunk, index + 1, chunks.length);
      const request: ModelRequest = {
        model,
        system: summarySystem,
        messages: [{ role: 'user', blocks: [{ type: 'text', text: prompt }] }],
        tools: [],
        maxOutputTokens,
      };
      const call = { request, route: open.call.route, provider: open.provider };
      const measure = measureCall({ ...call, input: defined({ tokenFactors }) });
      const part = await summarizePart(open, { prompt, request, measure }, attempting, input);
      if ('kind' in part) return part;
      parts.push(part);
    }
    return parts;
  });
}

const texts = z.array(z.string());
const partSchema = z.object({ progress: z.string(), facts: texts, decisions: texts });
/** A stored part, with what its activity had consumed by then: a worker may die before it reports. */
const keptPartSchema = z.object({
  part: partSchema,
  activityId: z.string(),
  spend: spendSchema,
});

/** Summarizes one part, unless that was done before. What earlier parts and attempts consumed counts against the allowance. */
async function summarizePart(
  open: OpenRoute,
  { prompt, ...asked }: MeasuredRequest & { readonly prompt: string },
  attempting: Attempting,
  { allowance }: CompactInput,
): Promise<PartSummary | InfraError> {
  const { store, call, clock } = open;
  const key = `summary/${contentHash(`${call.holder}\n${call.route}\n${prompt}`)}`;
  const inputDigest = contentHash(prompt);
  const known = await store.beginTool({ key, tool: 'summary', inputDigest, startedAtMs: clock() });
  const { activityId } = Context.current().info;
  const kept =
    known.type === 'finished' ? keptPartSchema.safeParse(JSON.parse(known.outcome)) : undefined;
  if (kept?.success === true) {
    if (kept.data.activityId === activityId) attempting.meter.resume(kept.data.spend);
    return kept.data.part;
  }
  if (attempting.meter.hasAdmitted) {
    // The first part that was sent has charged the lost attempts.
    const { spend } = attempting.meter;
    attempting.meter = new CallMeter({ allowance, spend, lostAttempts: 0 });
    attempting.memory = { ...attempting.memory, failures: [], partialText: '', spend };
    attempting.partialText = '';
  }
  const reply = await sendAttempt(open, attempting, asked);
  const problem = summaryProblem(reply);
  if (problem !== undefined) {
    const message = `${call.route} gave no usable summary of the conversation: ${problem}.`;
    return { kind: 'infra', code: 'format', message, route: call.route };
  }
  const part = readPartSummary(reply);
  const { spend } = attempting.meter;
  await store.finishTool(key, JSON.stringify({ part, activityId, spend }));
  return part;
}
