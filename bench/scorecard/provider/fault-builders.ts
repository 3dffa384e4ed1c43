/** Builds rows: a fault, the moment at which it strikes, and what is right for its kind. */
import type { ChatDialect } from '../../../activities/providers/openai/chat-dialect';
import type { ReplyStep, Step } from '../../../testing/emulator/script';
import { reply } from '../../../testing/emulator/script';
import type { ChatServerName } from '../../../testing/emulator/step';
import type { WireName } from '../../../testing/emulator/wire';
import type { FailoverReason, Limits } from '../../../workflows/core/limits';
import type { FailureReason } from '../../../workflows/core/run/outcome';
import type { FaultyAddress, NeededCalls, ProviderFault, RightEnd } from './provider-fault';
import { goodAnswer, remedies, streamRetries } from './provider-fault';

/** What a row may change. */
export interface RowOptions {
  readonly limits?: Partial<Limits>;
  /** Tokens of a reply that the faulty route is asked for. */
  readonly maxOutputTokens?: number;
  /** The fault strikes after the tool has run with this input. */
  readonly afterTool?: string;
  /** The reply that the fault breaks asks for the tool with this input; it must run once, when it has come whole. */
  readonly asksTool?: string;
  readonly gapMs?: number;
  readonly forbids?: readonly string[];
  /** What the end says of the cause; default the reason's remedy. */
  readonly says?: RegExp;
  readonly address?: FaultyAddress;
  readonly landedWords?: RegExp;
  readonly server?: ChatServerName;
  readonly dialect?: ChatDialect;
}

/** The answer that ends a run well. */
export const done: ReplyStep = reply.text(goodAnswer);

/** A reply that asks for the agent's tool, after some text. */
export function asking(input: string): ReplyStep {
  return reply.toolCalls([{ name: 'note', input: { text: input } }], { text: 'I note it.' });
}

/** Tries of one model call on one route. */
const allTries = 1 + streamRetries;

function repeated(step: Step, times: number): readonly Step[] {
  return Array.from({ length: times }, () => step);
}

/** What comes once the fault is over. */
function goodEnd({ asksTool }: RowOptions): readonly Step[] {
  return asksTool === undefined ? [done] : [asking(asksTool), done];
}

function present(texts: readonly (string | undefined)[]): readonly string[] {
  return texts.filter((text) => text !== undefined);
}

interface RowParts {
  readonly faults: readonly Step[];
  readonly after?: readonly Step[];
  readonly second?: readonly Step[];
  readonly right: RightEnd;
  /** Where it differs from the number of scripted answers. */
  readonly needed?: NeededCalls;
}

function row(id: string, wire: WireName, options: RowOptions, parts: RowParts): ProviderFault {
  const { faults, after = [], second, right } = parts;
  const { limits = {}, afterTool, asksTool, address = 'emulator', says: _, ...proof } = options;
  const before = afterTool === undefined ? [] : [asking(afterTool)];
  const recovers = right.type === 'recovers';
  const scripted = {
    faulty: before.length + faults.length + after.length,
    second: recovers ? (second ?? []).length : 0,
  };
  return {
    id: `${wire}/${id}`,
    wire,
    address,
    before,
    faults,
    after,
    ...(second === undefined ? {} : { second }),
    limits,
    right,
    needed: parts.needed ?? scripted,
    toolRuns: present([afterTool, recovers ? asksTool : undefined]),
    ...proof,
  };
}

/** Makes a row of one fault on one wire, which the run counts under `code`. */
type RowBuilder = (
  id: string,
  wire: WireName,
  fault: Step,
  code: FailoverReason,
  options?: RowOptions,
) => ProviderFault;

/** One fault, then a good answer of the same route: one retry, no second route needed. */
export const retried: RowBuilder = (id, wire, fault, code, options = {}) =>
  row(id, wire, options, {
    faults: [fault],
    after: goodEnd(options),
    right: { type: 'recovers', by: 'retry', healed: { [code]: 1 } },
  });

/** A transient fault that stays: all tries of the route are spent, then the second one answers. */
export const spent: RowBuilder = (id, wire, fault, code, options = {}) =>
  row(id, wire, options, {
    faults: repeated(fault, allTries),
    second: goodEnd(options),
    right: { type: 'recovers', by: 'failover', healed: { [code]: 1 } },
  });

/** A fault that no retry cures on this route: exactly one request, then the second route answers. */
export const failedOver: RowBuilder = (id, wire, fault, code, options = {}) =>
  row(id, wire, options, {
    faults: [fault],
    second: goodEnd(options),
    right: { type: 'recovers', by: 'failover', healed: { [code]: 1 } },
  });

/** A transient fault on the only route that may rest: its tries are spent, the run waits, the route answers. */
export const waited: RowBuilder = (id, wire, fault, code, options = {}) =>
  row(id, wire, options, {
    faults: repeated(fault, allTries),
    after: goodEnd(options),
    right: { type: 'recovers', by: 'wait', healed: { [code]: 1 } },
  });

/** An oddity that costs nothing: the only request answers. `fault` ends with the good answer. */
export function unhurt(
  id: string,
  wire: WireName,
  fault: Step,
  options: RowOptions = {},
): ProviderFault {
  return row(id, wire, options, {
    faults: [fault],
    right: { type: 'recovers', by: 'itself', healed: {} },
  });
}

/** A whole reply of which nothing may run: the model is told, and does better in the next iteration. */
export function corrected(
  id: string,
  wire: WireName,
  fault: Step,
  healed: Readonly<Record<string, number>>,
  options: RowOptions = {},
): ProviderFault {
  return row(id, wire, options, {
    faults: [fault],
    after: goodEnd(options),
    right: { type: 'recovers', by: 'next iteration', healed },
  });
}

function exhausted(code: FailoverReason, says = remedies[code]): RightEnd {
  return {
    type: 'stops',
    reason: 'chain_exhausted',
    says: [new RegExp(`row\\d+-faulty/\\S+: ${code} \\(`), says],
  };
}

/** A fault that no retry cures, on the only route: exactly one request, then a readable end. */
export const stoppedAtOnce: RowBuilder = (id, wire, fault, code, options = {}) =>
  row(id, wire, options, { faults: [fault], right: exhausted(code, options.says) });

/** A transient fault that stays, on the only route: all tries, then a readable end. */
export const stoppedWhenSpent: RowBuilder = (id, wire, fault, code, options = {}) =>
  row(id, wire, options, { faults: repeated(fault, allTries), right: exhausted(code) });

/** Too long for every route, in the vendor's own numbers: exactly one request, a readable end, and not one to the second route. */
export function stoppedForAll(
  id: string,
  wire: WireName,
  fault: Step,
  code: 'context_overflow',
  options: RowOptions = {},
): ProviderFault {
  return row(id, wire, options, {
    faults: [fault],
    second: [done],
    right: { type: 'stops', reason: code, says: [/row\d+-faulty\/\S+ /, remedies[code]] },
  });
}

/** A refusal of the request itself. */
type RefusalCode = 'format' | 'content_filter';

const endOfRefusal = (code: RefusalCode): FailureReason => (code === 'format' ? 'infra' : code);

/** Both providers refuse the request itself: one request to each, and an end with both messages. */
export function refusedByBoth(
  id: string,
  wire: WireName,
  [first, firstCode]: readonly [Step, RefusalCode],
  [second, secondCode]: readonly [Step, RefusalCode],
): ProviderFault {
  return row(
    id,
    wire,
    {},
    {
      faults: [first],
      second: [second],
      right: {
        type: 'stops',
        reason: endOfRefusal(secondCode),
        says: [
          /row\d+-second\/\S+ /,
          remedies[secondCode],
          /no more are asked: row\d+-faulty\/\S+ /,
          remedies[firstCode],
        ],
      },
      needed: { faulty: 1, second: 1 },
    },
  );
}

/** A refusal on a route that keeps what it refuses to itself: exactly one request, and none to the second route. */
export function keptFromOthers(
  id: string,
  wire: WireName,
  fault: Step,
  code: RefusalCode,
): ProviderFault {
  const kept = row(
    id,
    wire,
    {},
    {
      faults: [fault],
      second: [done],
      right: {
        type: 'stops',
        reason: endOfRefusal(code),
        says: [/row\d+-faulty\/\S+ /, remedies[code], /onRefusedRequest is 'end-run'/],
      },
    },
  );
  return { ...kept, onRefusedRequest: 'end-run' };
}

/** The model's own end: exactly one request, and nobody else is asked in its place. */
export function declined(
  id: string,
  wire: WireName,
  fault: Step,
  reason: 'refusal',
  says: readonly RegExp[],
  options: RowOptions = {},
): ProviderFault {
  return row(id, wire, options, {
    faults: [fault],
    second: [done],
    right: { type: 'stops', reason, says },
  });
}

/** Faults of several kinds in one model call, then a good answer of the same route. */
export function retriedThrough(
  id: string,
  wire: WireName,
  faults: readonly (readonly [Step, FailoverReason])[],
  options: RowOptions = {},
): ProviderFault {
  const healed: Record<string, number> = {};
  for (const [, code] of faults) healed[code] = (healed[code] ?? 0) + 1;
  return row(id, wire, options, {
    faults: faults.map(([step]) => step),
    after: goodEnd(options),
    right: { type: 'recovers', by: 'retry', healed },
  });
}

/** Both routes refuse for good: one request to each, and an end that names both reasons. */
export function bothRefused(
  id: string,
  wire: WireName,
  [first, firstCode]: readonly [Step, FailoverReason],
  [second, secondCode]: readonly [Step, FailoverReason],
): ProviderFault {
  const says = (route: string, code: FailoverReason): RegExp =>
    new RegExp(`row\\d+-${route}/\\S+: ${code} \\(`);
  return row(
    id,
    wire,
    {},
    {
      faults: [first],
      second: [second],
      right: {
        type: 'stops',
        reason: 'chain_exhausted',
        says: [
          says('faulty', firstCode),
          says('second', secondCode),
          remedies[firstCode],
          remedies[secondCode],
        ],
      },
      needed: { faulty: 1, second: 1 },
    },
  );
}

/** The way to the vendor itself is broken, so no emulator can count: Temporal's history does. */
export function unreachable(
  id: string,
  wire: WireName,
  address: Exclude<FaultyAddress, 'emulator'>,
  landedWords: RegExp,
  second: 'second route' | 'only route',
): ProviderFault {
  const options = { address, landedWords };
  const faulty = allTries;
  return second === 'second route'
    ? row(id, wire, options, {
        faults: [],
        second: [done],
        right: { type: 'recovers', by: 'failover', healed: { network: 1 } },
        needed: { faulty, second: 1 },
      })
    : row(id, wire, options, {
        faults: [],
        right: exhausted('network'),
        needed: { faulty, second: 0 },
      });
}
