/** Sends one request: deadlines, the loop over events, and the classification of failures. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { noUsage } from '../../../workflows/core/budget/spend';
import { defined } from '../../../workflows/core/json';
import { InfraException } from '../../lifecycle/infra-exception';
import { withoutAccountIds } from '../failure/account-ids';
import { gatherEvidence } from '../failure/error-evidence';
import { unsentCodes } from '../failure/failure-codes';
import { observedFetch, type ObservedFetch } from './observed-fetch';
import type { BrokenReply, ModelReply, SendOptions } from '../provider';
import {
  adapterException,
  providerException,
  type FailureContext,
} from '../failure/provider-failure';
import { maxSaidCharacters, OversizeAnswer } from './answer-bounds';
import { StallError, withDeadlines, type StallWatch } from './stall-deadline';
import { BrokenStream, type StreamAssembly } from './stream-assembly';
import { asText, parsedJson, property } from '../untrusted-json';

/** What differs between vendors in one request. */
export interface WireCall {
  /** Sends the request through the vendor's SDK and returns its raw events. */
  readonly open: (
    fetch: ObservedFetch['fetch'],
    signal: AbortSignal,
  ) => Promise<AsyncIterable<unknown>>;
  readonly assembly: StreamAssembly;
  /** The SDK goes by the names of events. */
  readonly namesEvents?: boolean;
  /** Headers that override those of the SDK. */
  readonly headers: Readonly<Record<string, string>>;
  /** The SDK's own headers are sent too: the author's client signs the request. */
  readonly signsItself: boolean;
  readonly context: FailureContext;
}

/** What has arrived. */
interface Answer {
  seen?: ObservedFetch;
  hasEvents: boolean;
  isUnsent?: boolean;
}

/** Events after which the event loop turns: what has arrived at once would else be read without a pause. */
const eventsPerTurn = 500;

/** Characters of an unreadable call that are shown to the model. */
const shownCallChars = 200;

/**
 * Groq refuses a request with `tool_use_failed` if the model's tool call is malformed: the fault is the model's, not the
 * request's. Source: console.groq.com, tool use; routers pass it on.
 */
function malformedCall(thrown: unknown, seen: ObservedFetch | undefined): ModelReply['mistake'] {
  const { bodies } = gatherEvidence(thrown, seen?.seen());
  const body = bodies.find(({ codes }) => codes.includes('tool_use_failed'));
  if (body === undefined) return undefined;
  const said = asText(property(body.raw, 'failed_generation')).slice(0, shownCallChars);
  const message = `The provider could not read the tool call of your reply: ${withoutAccountIds(body.message)}`;
  return { code: 'invalid_json', message: said === '' ? message : `${message} It began: ${said}` };
}

/**
 * Sends one request and reads its stream to the closing event.
 *
 * Contract: one HTTP request. Errors: as `Provider.send`; the caller's abort rejects with its signal's reason.
 */
export async function sendOnce(call: WireCall, options: SendOptions): Promise<ModelReply> {
  const { assembly } = call;
  const answer: Answer = { hasEvents: false };
  options.onSending?.(() => ({ reach: reachOf(answer), ...assembly.partial() }));
  try {
    await withDeadlines(options, (watch) => readStream(call, options, watch, answer));
  } catch (thrown) {
    answer.isUnsent = isUnsent(thrown);
    if (options.signal.aborted) throw options.signal.reason;
    if (!assembly.isComplete) {
      const mistake = malformedCall(thrown, answer.seen);
      if (mistake === undefined) throw asInfraException(thrown, call, answer);
      return { ...withheldReply(call), mistake };
    }
  }
  if (!assembly.isComplete) takeWholeBody(call, answer, options);
  if (!assembly.isComplete) throw cutOff(call, answer);
  return { ...assembly.reply(), ...defined({ requestId: answer.seen?.requestId() }) };
}

/** Some servers answer a request for a stream with the whole reply as JSON. Errors: as `Provider.send`. */
function takeWholeBody(call: WireCall, answer: Answer, options: SendOptions): void {
  if (answer.hasEvents || reachOf(answer) !== 'accepted') return;
  try {
    const body = parsedJson((answer.seen?.seen().bodyText ?? '').replace(/^\ufeff/, ''));
    const { text = '' } = call.assembly.acceptWhole(body) ?? {};
    if (text !== '') options.onText(text);
  } catch (thrown) {
    throw asInfraException(thrown, call, answer);
  }
}

/** The reply that the vendor withheld. */
function withheldReply({ assembly, context }: WireCall): ModelReply {
  return {
    model: context.route.slice(context.route.indexOf('/') + 1),
    blocks: [],
    toolCalls: [],
    stopReason: 'tool-use',
    usage: assembly.partial().usage ?? noUsage,
  };
}

function reachOf({ seen, isUnsent = false }: Answer): BrokenReply['reach'] {
  const status = seen?.seen().status;
  if (status === undefined) return seen === undefined || isUnsent ? 'unsent' : 'unanswered';
  return status >= 200 && status < 300 ? 'accepted' : 'refused';
}

/** Whether an error shows that no connection was made, so the vendor never saw the request. */
function isUnsent(thrown: unknown): boolean {
  return gatherEvidence(thrown).chain.some(
    // A proxy without a server behind it accepts, and resets before the connection is used.
    ({ code, syscall }) => unsentCodes.test(code) || syscall === 'connect',
  );
}

async function readStream(
  { headers, signsItself, namesEvents = false, open, assembly }: WireCall,
  options: SendOptions,
  watch: StallWatch,
  answer: Answer,
): Promise<void> {
  const seen = observedFetch({ headers, signsItself, namesEvents, onBytes: watch.bytes });
  answer.seen = seen;
  const boundSaid = saidBound(assembly, seen);
  let events = 0;
  for await (const event of await open(seen.fetch, watch.signal)) {
    answer.hasEvents = true;
    events += 1;
    if (events % eventsPerTurn === 0) await nextTurn();
    const { text = '', isContent, isThinking } = assembly.accept(event);
    boundSaid();
    if (text !== '') options.onText(text);
    if (assembly.isComplete) watch.closing();
    else if (isContent) watch.content(isThinking);
  }
}

/** Bytes of a stream between two looks at how much the model has said. */
const lookEveryBytes = 1024 * 1024;

/** Throws `OversizeAnswer` once the model has said too much. */
function saidBound(assembly: StreamAssembly, seen: ObservedFetch): () => void {
  let lookAtBytes = lookEveryBytes;
  return () => {
    if (seen.bytes() < lookAtBytes) return;
    lookAtBytes = seen.bytes() + lookEveryBytes;
    if (assembly.partial().said.length > maxSaidCharacters)
      throw new OversizeAnswer(`more than ${maxSaidCharacters} characters of a reply`);
  };
}

/** What an answer is too large in; undefined for any other error. Node refuses headers above 16 KB before we see them. */
function oversize(thrown: unknown): string | undefined {
  if (thrown instanceof OversizeAnswer) return thrown.message;
  const isHeaders = gatherEvidence(thrown).chain.some(
    ({ code }) => code === 'UND_ERR_HEADERS_OVERFLOW',
  );
  return isHeaders ? 'more than 16 KB of headers' : undefined;
}

/** A failure of which a repeat on the same route would wait or read as long again: the next route is asked. */
function withoutRepeat(exception: InfraException): InfraException {
  return new InfraException({ ...exception.failure, refusesRetry: true }, { cause: exception });
}

function asInfraException(
  thrown: unknown,
  { context }: WireCall,
  { seen, hasEvents }: Answer,
): InfraException {
  if (thrown instanceof InfraException) return thrown;
  if (thrown instanceof StallError) {
    const stalled = adapterException('timeout', thrown.message, context);
    return thrown.phase === 'content' ? withoutRepeat(stalled) : stalled;
  }
  const tooLarge = oversize(thrown);
  if (tooLarge !== undefined) {
    const message = `${context.route} sent ${tooLarge}, so its answer was dropped. Check what stands behind this base URL; no sound answer is that large.`;
    return withoutRepeat(new InfraException({ code: 'network', message, route: context.route }));
  }
  if (thrown instanceof BrokenStream) return adapterException('network', thrown.message, context);
  const { bodyText, ...inStream } = seen?.seen() ?? {};
  return providerException(thrown, context, {
    ...inStream,
    ...(hasEvents ? {} : defined({ bodyText })),
  });
}

/** The body ended normally, but the reply did not: nothing of it counts. */
function cutOff({ context }: WireCall, { seen, hasEvents }: Answer): InfraException {
  if (hasEvents)
    return adapterException('network', 'the stream ended without its closing event', context);
  const answer = seen?.seen() ?? {};
  const found = `HTTP ${answer.status ?? 0} without a single event`;
  return answer.bodyText === undefined
    ? adapterException('network', found, context)
    : providerException(new BrokenStream(found), context, answer);
}
