/** Model calls and replies as history has them: without what the store has, and what is empty or follows from the rest (ADR 0052). */
import type { CallSpend, Usage } from '../budget/spend';
import { noUsage, totalTokens } from '../budget/spend';
import { shortHash } from '../errors/fingerprint';
import type { RunFacts } from '../run/ports';
import { toolCallIdOf } from '../tools/lineage';
import type {
  CallModelInput,
  CallModelResult,
  SentModelCall,
  SentReply,
  SentSpend,
  SentUsage,
  StopReason,
} from './ports';

/** The fields of `value` that are not as in `usual`. */
function unusual<Value extends object>(value: Value, usual: Partial<Value>): Partial<Value> {
  const kept = Object.entries(value).filter(
    ([name, field]) => field !== usual[name as keyof Value],
  );
  return Object.fromEntries(kept) as Partial<Value>;
}

/** A model call as history has it; whole where the run's facts are not in the store. */
export function sentModelCall(input: CallModelInput): CallModelInput | SentModelCall {
  const { run, storeId: _store, definition: _definition, idPrefix: _prefix, ...rest } = input;
  if (run === undefined) return input;
  const { routeIndex, pendingResults, ...call } = rest;
  return {
    run,
    ...call,
    ...(routeIndex === 0 ? {} : { routeIndex }),
    ...(pendingResults === undefined
      ? {}
      : {
          pendingResults: pendingResults.map(({ isError, toolCallId, ...pending }, index) => ({
            ...(toolCallId === idsOfLast(input)(index) ? {} : { toolCallId }),
            ...pending,
            ...(isError ? { isError } : {}),
          })),
        }),
  };
}

/** The whole model call. */
export function wholeModelCall(
  { routeIndex = 0, pendingResults, ...call }: SentModelCall,
  { storeId, definition, runKey }: RunFacts,
): CallModelInput {
  const idPrefix = idPrefixOf(runKey);
  const idOf = idsOfLast({ idPrefix, iteration: call.iteration });
  return {
    ...call,
    storeId,
    definition,
    routeIndex,
    idPrefix,
    ...(pendingResults === undefined
      ? {}
      : {
          pendingResults: pendingResults.map((each, index) => ({
            toolCallId: idOf(index),
            isError: false,
            ...each,
          })),
        }),
  };
}

/** What the ids of tool calls are made of. */
type CallIds = Pick<CallModelInput, 'idPrefix' | 'iteration'>;

/** Ids of the tool calls of the iteration before this one. */
function idsOfLast({ idPrefix, iteration }: CallIds): (index: number) => string {
  return (index) => toolCallIdOf({ idPrefix, iteration: iteration - 1 }, index);
}

/** Prefix of the ids of a run's tool calls. */
export function idPrefixOf(runKey: string): string {
  return shortHash(runKey);
}

function usualStop(toolCalls: readonly unknown[]): StopReason {
  return toolCalls.length > 0 ? 'tool-use' : 'end';
}

function sentUsage(usage: Usage): SentUsage {
  return unusual(usage, noUsage);
}

function isSame(left: Usage, right: Usage): boolean {
  return Object.keys(unusual(left, right)).length === 0;
}

function sentSpend({ usage, estimated, ...spend }: CallSpend, ofReply: Usage): SentSpend {
  const none = { tokens: totalTokens(usage), nanoUsd: 0, mostNanoUsd: 0 };
  return {
    ...spend,
    ...(isSame(usage, ofReply) ? {} : { usage: sentUsage(usage) }),
    ...(estimated === undefined ? {} : { estimated: unusual(estimated, none) }),
  };
}

function wholeSpend({ usage: sent, estimated, ...spend }: SentSpend, ofReply: Usage): CallSpend {
  const usage = sent === undefined ? ofReply : { ...noUsage, ...sent };
  const none = { tokens: totalTokens(usage), nanoUsd: 0, mostNanoUsd: 0, mostTokens: 0 };
  return {
    ...spend,
    usage,
    ...(estimated === undefined ? {} : { estimated: { ...none, ...estimated } }),
  };
}

/** Tokens of the request of a reply with this usage. */
function requestTokens(usage: Usage): number {
  return totalTokens(usage) - usage.outputTokens;
}

/** A reply as history has it; `ids` of its call. */
export function sentReply(reply: CallModelResult, ids: CallIds): SentReply {
  const { stopReason, toolCalls, textPreview, usage, spend, contextTokens, ...rest } = reply;
  const { estimatedTokens, ...others } = rest;
  return {
    ...others,
    ...(stopReason === usualStop(toolCalls) ? {} : { stopReason }),
    ...(toolCalls.length === 0
      ? {}
      : {
          toolCalls: toolCalls.map(({ toolCallId, ...call }, index) =>
            toolCallId === toolCallIdOf(ids, index) ? call : { toolCallId, ...call },
          ),
        }),
    ...(textPreview === '' ? {} : { textPreview }),
    usage: sentUsage(usage),
    ...(contextTokens === requestTokens(usage) ? {} : { contextTokens }),
    ...(estimatedTokens === undefined || estimatedTokens === contextTokens
      ? {}
      : { estimatedTokens }),
    ...(spend === undefined ? {} : { spend: sentSpend(spend, usage) }),
  };
}

/** The whole reply; `estimatedTokens` stays left out where it says nothing new. */
export function wholeReply(reply: SentReply, ids: CallIds): CallModelResult {
  const { usage: sent, spend, toolCalls: sentCalls = [], textPreview = '', ...rest } = reply;
  const toolCalls = sentCalls.map((call, index) => ({
    toolCallId: toolCallIdOf(ids, index),
    ...call,
  }));
  const usage = { ...noUsage, ...sent };
  const {
    stopReason = usualStop(toolCalls),
    contextTokens = requestTokens(usage),
    ...others
  } = rest;
  return {
    ...others,
    stopReason,
    toolCalls,
    textPreview,
    usage,
    contextTokens,
    ...(spend === undefined ? {} : { spend: wholeSpend(spend, usage) }),
  };
}
