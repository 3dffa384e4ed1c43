/** What spoils a model call, and what cures it. */
import type { ReplyStep, Step } from '../../../testing/emulator/script';
import { fault, reply } from '../../../testing/emulator/script';
import type { CallFaultName, DrawnFault, RightOfFault, Strike } from './drawn-fault';

/** What is left to do about it. */
type Cure =
  /** The same request again, on the same route (R-STREAM-1). */
  | 'retry'
  /** Another route (R-FAIL-4). */
  | 'other route'
  /** The model is told, and does better (R-ERR-1). */
  | 'the model'
  /** Nothing: it is the model's own word. */
  | 'none';

interface CallFault {
  readonly cure: Cure;
  /** The answer in the place of the reply `during`. */
  readonly step: (during: ReplyStep) => Step;
  /** Words of the end if it stops the run. */
  readonly says: RegExp;
}

/** In mid-reply: after the first characters of whatever the model says. */
const midReply = { afterCharacters: 2 };

const transient = (step: CallFault['step'], says: RegExp): CallFault => ({
  cure: 'retry',
  step,
  says,
});
const permanent = (step: CallFault['step'], says: RegExp): CallFault => ({
  cure: 'other route',
  step,
  says,
});
const slip = (step: CallFault['step']): CallFault => ({ cure: 'the model', step, says: /./ });

/** Every fault of a model call. */
const callFaults: Readonly<Record<CallFaultName, CallFault>> = {
  'rate limit': transient(() => fault.http(429), /rate_limit/),
  'server error': transient(() => fault.http(500), /overloaded/),
  'bad gateway': transient(
    () => fault.http(502, { bodyText: '<html><title>502 Bad Gateway</title></html>' }),
    /overloaded/,
  ),
  overloaded: transient(() => fault.http(529), /overloaded/),
  'gateway timeout': transient(() => fault.http(504), /timeout/),
  'request timeout': transient(() => fault.http(408), /timeout/),
  'overloaded in the stream': transient(
    (during) => fault.overloadedInStream({ during, ...midReply }),
    /overloaded/,
  ),
  'server error in the stream': transient(
    (during) => fault.errorInStream({ status: 500 }, { during, ...midReply }),
    /overloaded/,
  ),
  'rate limit in the stream': transient(
    (during) => fault.errorInStream({ status: 429, message: 'Slow down.' }, { during }),
    /rate_limit/,
  ),
  'reset in the stream': transient(
    (during) => fault.cutStream({ during, ...midReply, how: 'reset' }),
    /network/,
  ),
  'end without a sign': transient(
    (during) => fault.cutStream({ during, ...midReply, how: 'eof' }),
    /network/,
  ),
  'closed socket in the stream': transient(
    (during) => fault.cutStream({ during, ...midReply, how: 'fin' }),
    /network/,
  ),
  'no closing event': transient((during) => fault.missingEnd(during), /network/),
  'reset before the answer': transient(
    (during) => fault.connection('reset', 'before-headers', during),
    /network/,
  ),
  'reset after the head': transient(
    (during) => fault.connection('reset', 'after-headers', during),
    /network/,
  ),
  'empty answer': transient(() => fault.emptyBody(), /network/),
  'web page': transient(() => fault.notSse('<html><title>Sign in</title></html>'), /network/),
  'malformed event': transient((during) => fault.malformedData({ during, ...midReply }), /network/),
  silence: transient((during) => fault.stall({ during, ...midReply }), /timeout/),
  'wrong key': permanent(() => fault.http(401), /auth/),
  'no credit': permanent(() => fault.http(402), /billing/),
  'unknown model': permanent(
    () =>
      fault.http(404, {
        error: {
          message: 'The model does not exist or you do not have access to it.',
          type: 'not_found_error',
          code: 'model_not_found',
        },
      }),
    /model_not_found/,
  ),
  'malformed request': permanent(() => fault.http(422), /must change/i),
  'filtered request': permanent(
    () =>
      fault.http(400, {
        error: {
          message: 'Output blocked by content filtering policy',
          code: 'content_filter',
        },
      }),
    /must change|another (?:vendor|provider)/i,
  ),
  'cut arguments': slip(() =>
    reply.rawToolArguments('book', '{"items": ["half a na', { stop: 'max-tokens' }),
  ),
  'invalid arguments': slip(() => reply.rawToolArguments('book', '{"item": 1}{"item": 1}')),
  'missing parameter': slip(() => reply.rawToolArguments('book', '{"thing": 1}')),
  'unknown tool': slip(() => reply.toolCalls([{ name: 'remember', input: { item: 1 } }])),
  'empty reply': slip(() => reply.empty()),
  refusal: { cure: 'none', step: () => reply.refusal(), says: /declined to answer/ },
};

/** Names of all, for the dice. */
export const callFaultNames = Object.keys(callFaults) as readonly CallFaultName[];

/** Whether a retry may cure it: only such faults can stay for all tries. */
export function isTransient(name: CallFaultName): boolean {
  return callFaults[name].cure === 'retry';
}

/** The vendor's answer. */
export function callFaultStep(name: CallFaultName, during: ReplyStep): Step {
  return callFaults[name].step(during);
}

/** Requests of one model call on one route that fails each time: the first and two retries (R-STREAM-2). */
export const allTries = 3;

/** What is right. */
export function rightOfCall(
  { name, stays }: Extract<Strike, { type: 'call' }>,
  { chain }: DrawnFault,
): RightOfFault {
  const { cure, says } = callFaults[name];
  const calls = stays === 'once' ? 1 : allTries;
  switch (cure) {
    case 'the model':
      return { type: 'recovers', calls };
    case 'none':
      return { type: 'stops', calls, says };
    case 'other route':
      return chain === 'two routes' ? { type: 'recovers', calls } : { type: 'stops', calls, says };
    case 'retry':
      return stays === 'once' || chain !== 'one route'
        ? { type: 'recovers', calls }
        : { type: 'stops', calls, says };
  }
}
