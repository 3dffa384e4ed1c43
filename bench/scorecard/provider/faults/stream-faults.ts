/** Faults inside a 200 stream: the vendor's error events, cut connections, and what is no stream at all. */
import type { StreamFaultOptions } from '../../../../testing/emulator/script';
import { fault, reply } from '../../../../testing/emulator/script';
import type { WireName } from '../../../../testing/emulator/wire';
import { asking, failedOver, retried, spent } from '../fault-builders';
import type { RowOptions } from '../fault-builders';
import type { ProviderFault } from '../provider-fault';
import { rawSse } from '../recorded-answer';

const wires: readonly WireName[] = ['anthropic', 'responses', 'chat'];

/** A moment in a reply that asks for the tool, and what is right about the tool then. */
interface Moment {
  readonly name: string;
  readonly at: StreamFaultOptions;
  readonly options: RowOptions;
}

const input = 'a text of some length';
/** Characters of the reply's text and of the call's name: then come the arguments. */
const charactersBeforeArguments = 'I note it.'.length + 'note'.length;

const start: Moment = { name: 'at the start', at: {}, options: {} };
const midText: Moment = {
  name: 'in mid-text',
  at: { afterText: 'The answer is' },
  options: {},
};
const midArguments: Moment = {
  name: 'in mid-arguments',
  at: { during: asking(input), afterCharacters: charactersBeforeArguments + 6 },
  options: { asksTool: input },
};
const beforeClosing: Moment = {
  name: 'before the closing',
  at: { during: asking(input), beforeClosing: true },
  options: { asksTool: input },
};
const moments: readonly Moment[] = [start, midText, midArguments, beforeClosing];

/** The vendor's own error events. */
function reported(): readonly ProviderFault[] {
  return wires.flatMap((wire) => [
    ...moments.map(({ name, at, options }) =>
      retried(`200, overloaded ${name}`, wire, fault.overloadedInStream(at), 'overloaded', options),
    ),
    retried(
      '200, overloaded as first event',
      wire,
      fault.overloadedInStream({ afterEvents: 0 }),
      'overloaded',
    ),
    retried(
      '200, rate limit in mid-text',
      wire,
      fault.errorInStream({ status: 429, message: 'Slow down.' }, midText.at),
      'rate_limit',
    ),
    spent(
      '200, server error in mid-arguments',
      wire,
      fault.errorInStream({ status: 500 }, midArguments.at),
      'overloaded',
      midArguments.options,
    ),
    failedOver(
      '200, no credit in mid-text',
      wire,
      fault.errorInStream({ status: 402 }, midText.at),
      'billing',
    ),
    failedOver('200, wrong key at the start', wire, fault.errorInStream({ status: 401 }), 'auth'),
  ]);
}

/** The Responses wire says a failure in three shapes. */
function responsesShapes(): readonly ProviderFault[] {
  const shapes = ['flat', 'failed'] as const;
  const overflow = {
    status: 400,
    code: 'context_length_exceeded',
    message: 'Your input exceeds the context window of this model.',
  };
  return shapes.flatMap((eventShape) => [
    retried(
      `200, overloaded in the ${eventShape} shape`,
      'responses',
      fault.errorInStream({ status: 503, eventShape }, midText.at),
      'overloaded',
    ),
    retried(
      `200, server_error in the ${eventShape} shape`,
      'responses',
      fault.errorInStream({ status: 500, eventShape }, midArguments.at),
      'overloaded',
      midArguments.options,
    ),
    failedOver(
      `200, no quota in the ${eventShape} shape`,
      'responses',
      fault.errorInStream({ status: 402, eventShape }),
      'billing',
    ),
    failedOver(
      `200, overflow in the ${eventShape} shape`,
      'responses',
      fault.errorInStream({ ...overflow, eventShape }),
      'context_overflow',
    ),
  ]);
}

/** Connections that break. */
function cut(): readonly ProviderFault[] {
  const ways = ['reset', 'fin', 'eof'] as const;
  return wires.flatMap((wire) => [
    ...ways.flatMap((how) =>
      [midText, midArguments].map(({ name, at, options }) =>
        retried(`200, ${how} ${name}`, wire, fault.cutStream({ ...at, how }), 'network', options),
      ),
    ),
    retried('200, reset at the start', wire, fault.cutStream(start.at), 'network'),
    retried(
      '200, no closing event',
      wire,
      fault.missingEnd(asking(input)),
      'network',
      beforeClosing.options,
    ),
    spent(
      '200, reset in mid-arguments stays',
      wire,
      fault.cutStream(midArguments.at),
      'network',
      midArguments.options,
    ),
  ]);
}

/** A 200 that is no stream, or holds what cannot be read. */
function unreadable(): readonly ProviderFault[] {
  const page = '<!doctype html><html><head><title>Sign in</title></head></html>';
  return wires.flatMap((wire) => [
    retried('200 without events', wire, fault.emptyBody(), 'network'),
    retried('200 with a web page', wire, fault.notSse(page), 'network'),
    retried('200 with foreign JSON', wire, fault.notSse({ hello: 'world' }), 'network'),
    failedOver(
      '200 with a JSON error',
      wire,
      fault.notSse({ error: { type: 'insufficient_quota', message: 'You have no quota left.' } }),
      'billing',
    ),
    retried('200, malformed data', wire, fault.malformedData(midText.at), 'network'),
    retried(
      '200, malformed data after a tool ran',
      wire,
      fault.malformedData(midText.at),
      'network',
      { afterTool: 'first' },
    ),
  ]);
}

/** A stream that contradicts itself: a piece of a block that never began. */
function contradictory(): readonly ProviderFault[] {
  const during = reply.text('all of it');
  return [
    retried(
      '200, a delta before its block',
      'anthropic',
      fault.wrongOrder({ during, afterEvents: 2 }),
      'network',
    ),
    retried('200, nothing but [DONE]', 'chat', rawSse({ events: ['data: [DONE]'] }), 'network'),
  ];
}

/** Rows of this kind. */
export function streamFaults(): readonly ProviderFault[] {
  return [...reported(), ...responsesShapes(), ...cut(), ...unreadable(), ...contradictory()];
}
