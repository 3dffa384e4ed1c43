/** The activity `compact`: replaces a transcript that does not fit the model's window by a smaller one. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { CompactionConfig } from '../workflows/core/context/compaction-thresholds';
import { summaryShare } from '../workflows/core/context/compaction-policy';
import type { ContextMeasure } from '../workflows/core/context/measure';
import { fitsBounds, scaledMeasure } from '../workflows/core/context/measure';
import { hashesIn } from '../workflows/core/context/content-references';
import type { Head, Message } from '../workflows/core/message';
import type { CompactInput, CompactResult } from '../workflows/core/context/ports';
import { readOutputTool } from '../workflows/core/tools/ports';
import type { InfraError } from '../workflows/core/failure';
import { routeName } from '../workflows/core/failover/provider-health';
import { defined } from '../workflows/core/json';
import type { ActivityDeps } from './definitions/activity-deps';
import { loadDefinition, storeOf } from './definitions/activity-deps';
import { appendPending } from './model-call/pending-results';
import type { Attempting } from './model-call/route-attempt';
import { providerOf, routeOf, tooManyLost, withAttempts } from './model-call/route-attempt';
import type { Store } from './stores/store';
import { mediaOf } from './providers/request/sendable-media';
import { storedOutputs } from './tool-output/stored-outputs';
import { measureCall } from './measure/call-measure';
import type { ContextSummary } from './context/context-summary';
import { mergeSummaries, renderSummary, summaryJson } from './context/context-summary';
import { earlierSummaries, provenSummary } from './context/conversation-facts';
import type { RefOf } from './context/stripped-messages';
import {
  cutBefore,
  placeholderRef,
  restoredMessages,
  strippedMessage,
  tailStart,
  trimmedMessage,
  withoutReasoning,
} from './context/stripped-messages';
import { probableTokens } from './measure/measure-request';
import { measureParts } from './context/request-check';
import { plainDescription, recordLines } from './context/record-text';
import type { SummaryWork } from './context/summarize';
import { summarizeRecord } from './context/summarize';

/** One compaction: what it works on. */
interface Work extends SummaryWork {
  readonly config: CompactionConfig;
  readonly messages: readonly Message[];
}

/**
 * Compacts a conversation by the tier of its input.
 *
 * Contract: the old chain is kept; the result is a new one. The kept tail and every call with its results stay together. A
 * retry resumes and gives the same result. If there is no usable summary, `failure` says why.
 * Errors: ApplicationFailure whose type is a failover reason of the summarizing route, or a system failure code.
 */
export async function compact(deps: ActivityDeps, input: CompactInput): Promise<CompactResult> {
  return withAttempts(
    input.allowance,
    (attempting) => compactTranscript(deps, input, attempting),
    input.summary === undefined ? 'never' : 'always',
  );
}

async function compactTranscript(
  deps: ActivityDeps,
  input: CompactInput,
  attempting: Attempting,
): Promise<CompactResult> {
  const store = storeOf(deps, input.storeId);
  const definition = await loadDefinition(deps, input.definition);
  const headBefore = await appendPending(store, input);
  const messages = await store.loadTranscript(headBefore);
  const config = definition.config.compaction;
  const work: Work = { deps, store, definition, input, config, messages, attempting };
  const before = await measure(work, messages, input.counted);
  const unchanged = {
    headBefore,
    head: headBefore,
    tier: input.tier,
    tokensBefore: before.tokens,
    messagesBefore: messages.length,
    measure: before,
  };
  if (input.isDue !== true && fitsBounds(before, input.bounds))
    return { ...unchanged, isNeedless: true, ...attempting.meter.spent() };
  const made = input.tier === 1 ? { messages: await stripped(work) } : await summarized(work);
  const spent = attempting.meter.spent();
  if ('failure' in made) return { ...unchanged, ...spent, ...made };
  if (isDeepStrictEqual(messages, made.messages)) return { ...unchanged, ...spent };
  const after = await measureLike(work, before, made.messages);
  const head = await storeChain(store, made.messages);
  return {
    ...unchanged,
    ...spent,
    head,
    ...(input.trimTail === true ? { trimmedTail: true } : {}),
    measure: after,
  };
}

/** Contract: yields to the event loop first, because measuring a large conversation takes tens of milliseconds. */
async function measure(
  { deps, definition, input, config }: Work,
  messages: readonly Message[],
  counted: CompactInput['counted'],
): Promise<ContextMeasure> {
  await nextTurn();
  const route = routeOf(definition, input);
  const provider = providerOf(deps, route.provider);
  const { system, tools } = definition.config;
  const { tokenFactors } = input;
  const call = {
    request: {
      model: route.model,
      system,
      tools,
      messages,
      maxOutputTokens: route.maxOutputTokens,
      ...defined({ media: route.media }),
    },
    route: routeName(route),
    provider,
    input: defined({ counted, tokenFactors }),
  };
  return measureParts(call, measureCall(call), config);
}

/** The vendor's count of the old transcript corrects our own count of the new one. */
async function measureLike(
  work: Work,
  before: ContextMeasure,
  messages: readonly Message[],
): Promise<ContextMeasure> {
  const after = await measure(work, messages, undefined);
  const { tokens: guessed } = await measure(work, work.messages, undefined);
  const ratio = guessed > 0 ? before.tokens / guessed : 1;
  return scaledMeasure(after, Math.ceil(after.tokens * ratio));
}

/** Messages of one node: small nodes keep reads and writes from blocking the event loop. */
const nodeMessages = 64;

async function storeChain(store: Store, messages: readonly Message[]): Promise<Head> {
  let head: Head | undefined;
  for (let first = 0; first < messages.length; first += nodeMessages)
    head = await store.appendNode(head, messages.slice(first, first + nodeMessages));
  return head ?? store.appendNode(undefined, []);
}

/** Makes a change that moves texts out of the messages; each is stored first, so that it has a ref. */
async function withRefs<Result>(store: Store, change: (refOf: RefOf) => Result): Promise<Result> {
  const refs = new Map<string, string>();
  change((text, blob) => {
    if (blob === undefined) refs.set(text, '');
    return placeholderRef(text, blob);
  });
  for (const text of refs.keys()) refs.set(text, await store.putBlob(text));
  return change((text, blob) => blob ?? refs.get(text) ?? placeholderRef(text, blob));
}

async function stripped(work: Work): Promise<readonly Message[]> {
  const { store, messages, config, input } = work;
  const start = tailStart(messages, config.keptTail);
  const old = await withRefs(store, (refOf) => stripAll(messages.slice(0, start), config, refOf));
  const tail = messages.slice(start).map(withoutReasoning);
  if (input.trimTail !== true) return [...old, ...tail];
  const chars = await charsThatFit(work, old, tail);
  const trimmed = await withRefs(store, (refOf) =>
    tail.map((message) => trimmedMessage(message, chars, refOf)),
  );
  return [...old, ...trimmed];
}

function stripAll(
  messages: readonly Message[],
  { stripChars }: CompactionConfig,
  refOf: RefOf,
): readonly Message[] {
  return messages.map((message) => withoutReasoning(strippedMessage(message, stripChars, refOf)));
}

/** Lengths to try for texts of the tail, the longest first. */
const tailChars = [8_000, 4_000, 2_000, 1_000, 500, 250];

async function charsThatFit(
  work: Work,
  old: readonly Message[],
  tail: readonly Message[],
): Promise<number> {
  for (const chars of tailChars) {
    const trimmed = tail.map((message) => trimmedMessage(message, chars, placeholderRef));
    const measured = await measure(work, [...old, ...trimmed], undefined);
    if (fitsBounds(measured, work.input.bounds)) return chars;
  }
  return tailChars.at(-1) ?? 0;
}

type Summarized = { readonly messages: readonly Message[] } | { readonly failure: InfraError };

/** Index up to which messages are summarized: everything before the tail, or the oldest half of it by size. */
function summaryEnd({ messages, config, input, definition, deps }: Work): number {
  const start = tailStart(messages, config.keptTail);
  if (input.tier !== 3) return start;
  const route = routeOf(definition, input);
  const { wire } = providerOf(deps, route.provider);
  const known = wire === undefined ? {} : { wire };
  const sizes = messages
    .slice(0, start)
    .map((message) => probableTokens([message], known, route.model));
  const half = sizes.reduce((sum, size) => sum + size, 0) / 2;
  let sum = 0;
  const middle = sizes.findIndex((size) => (sum += size) >= half);
  return Math.max(1, cutBefore(messages, middle + 1));
}

/** Tiers 2, 3 and 4: replaces old messages by a summary. */
async function summarized(work: Work): Promise<Summarized> {
  const { store, messages, input, config, definition } = work;
  const end = summaryEnd(work);
  const old = messages.slice(0, end);
  const matters = input.matters ?? { goal: '', approvals: [], errors: [] };
  const whole = await restoredMessages(store, old);
  const proven = await provenSummary(store, whole, matters, definition.agent.policies);
  const fromModel = await modelPartOf(work, old, whole);
  if ('kind' in fromModel) return { failure: fromModel };
  const decisions = [...proven.decisions, ...fromModel.decisions];
  const facts = [...mediaFacts(work, old), ...fromModel.facts];
  const latest = { ...proven, ...fromModel, decisions, facts };
  const summary = mergeSummaries(await earlierSummaries(store, old), latest);
  const start = tailStart(messages, config.keptTail);
  const between = await withRefs(store, (refOf) =>
    stripAll(messages.slice(end, Math.max(start, end)), config, refOf),
  );
  const tail = messages.slice(Math.max(start, end)).map(withoutReasoning);
  return {
    messages: [await summaryMessage(work, summary), ...between, ...tail],
  };
}

/** Characters per token of a summary's text, so that it stays within its share. */
const charactersPerToken = 3;
/** Longest summary in characters (ADR 0024). */
const mostSummaryChars = 24_000;

/** Images and documents that a summary names, the newest. */
const namedMedia = 20;

/** How the model sees the images and documents of summarized messages again. */
function mediaFacts({ definition }: Work, old: readonly Message[]): readonly string[] {
  if (!definition.config.tools.some(({ name }) => name === readOutputTool)) return [];
  return old
    .flatMap(mediaOf)
    .slice(-namedMedia)
    .map(({ type, name, mediaType, ref }) => {
      const what = type === 'image' ? 'An image' : 'A document';
      return `${what} was given (${name ?? mediaType}): ${readOutputTool}, ref "${ref}"`;
    });
}

async function summaryMessage(
  { store, input, messages }: Work,
  summary: ContextSummary,
): Promise<Message> {
  const ref = await store.putBlob(summaryJson(summary));
  const room = Math.floor(input.bounds.compactTokens * summaryShare * charactersPerToken);
  const text = renderSummary(summary, Math.max(1_000, Math.min(mostSummaryChars, room)), ref);
  // Of what models and tools said in it, only what the conversation could read before.
  const media = messages.flatMap(mediaOf).map(({ ref: shown }) => shown);
  const known = new Set([...storedOutputs(messages).keys(), ...media]);
  const named = hashesIn(text).filter((hash) => known.has(hash));
  const refs = [ref, ...(summary.goalRef === undefined ? [] : [summary.goalRef]), ...named];
  return { role: 'user', summary: ref, refs, blocks: [{ type: 'text', text }] };
}

/** A model's summary of old messages; a plain description if no model is asked. */
async function modelPartOf(
  work: Work,
  old: readonly Message[],
  whole: readonly Message[],
): Promise<Pick<ContextSummary, 'facts' | 'decisions' | 'progress'> | InfraError> {
  const { summary } = work.input;
  if (summary === undefined) return { facts: [], decisions: [], progress: [plainDescription(old)] };
  const { config } = work.definition;
  const name = routeName(routeOf(work.definition, summary));
  const givenUp = tooManyLost(work.attempting, name, config.limits);
  if (givenUp !== undefined) return givenUp.failure;
  const lines = recordLines(whole);
  const parts = lines.length === 0 ? [] : await summarizeRecord(work, summary, lines);
  if ('kind' in parts) return parts;
  const progress = parts.map((part) => part.progress).join(' ');
  return {
    facts: parts.flatMap(({ facts }) => facts),
    decisions: parts.flatMap(({ decisions }) => decisions),
    progress: [progress.trim()].filter(Boolean),
  };
}
