/** Asks a model for one JSON object, apart from the conversation: with stream retries, without failover, within a deadline. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { z } from 'zod';
import type { InfraError } from '../../workflows/core/failure';
import type { Limits } from '../../workflows/core/limits';
import { routeName } from '../../workflows/core/failover/provider-health';
import { decideRetry } from '../../workflows/core/failover/stream-recovery';
import type { ResolvedRoute } from '../definitions/resolve-route';
import type { CappedTenant } from '../definitions/tenant-caps';
import { interruption } from '../lifecycle/activity-lifecycle';
import { InfraException } from '../lifecycle/infra-exception';
import { measureText } from '../measure/measure-request';
import type { ModelReply, ModelRequest, OutputSchema, Provider } from '../providers/provider';
import { isReasoningModel } from '../models/model-traits';
import { accountSettings } from '../providers/settings/model-settings';
import type { Store } from '../stores/store';
import { objectsInText } from '../untrusted/json-in-text';
import type { PaidRequest } from './allowance';
import { replyText } from './reply-text';
import type { Attempting } from './route-attempt';
import { beat, thinkingMsOn, tooManyLost } from './route-attempt';
import type { Admission, RouteCall } from './shared-health';
import { admitted, reportAnsweredCall, reportFailedCall, sharedClock } from './shared-health';
import type { Payer } from './tenant-spend';
import { withinTenantCaps } from './tenant-spend';

/** Temperature of every such request (R-REC-3). */
const temperature = 0.2;

/** The answer that is wanted. */
export interface WantedAnswer<Answer> {
  readonly system: string;
  readonly schema: z.ZodType<Answer>;
  /** Its form for vendors that enforce one; the system prompt must describe it too. */
  readonly output?: OutputSchema;
}

/** What to ask, and where. */
export interface JsonQuestion<Answer> extends WantedAnswer<Answer> {
  readonly store: Store;
  readonly provider: Provider;
  readonly route: ResolvedRoute;
  readonly limits: Limits;
  readonly prompt: string;
  readonly maxOutputTokens: number;
  readonly timeoutMs: number;
  readonly retries: number;
  /** The route has refused to enforce the form of a reply. */
  readonly unstructured?: true | undefined;
  /** The answer, if it is there already: then nothing is sent. */
  readonly known?: () => Promise<Answer | undefined>;
  /** Whose request it is. */
  readonly capped: CappedTenant;
  /** Meters each request, and reports it in heartbeats. */
  readonly attempting: Attempting;
  /** Stable over attempts: who probes a recovering route. */
  readonly holder: string;
}

/** The answer, or why there is none. */
export type JsonReply<Answer> = { readonly answer: Answer } | { readonly problem: string };

/** Tokens for the thoughts before an answer of a fixed form: on OpenAI's APIs the output limit counts them too (ADR 0026). */
const thinkingRoomTokens = 2_000;

function paidRequest(question: JsonQuestion<unknown>): PaidRequest {
  const { provider, route, system, prompt, output } = question;
  const isOpenAi = provider.wire === 'responses' || provider.wire === 'chat';
  const mayThink = isOpenAi && isReasoningModel(route.model);
  const room = output !== undefined && mayThink ? thinkingRoomTokens : 0;
  const asked = [system, prompt, JSON.stringify(output?.schema)].join('\n');
  return {
    measure: measureText(asked),
    price: route.price,
    maxOutputTokens: Math.min(question.maxOutputTokens + room, route.maxOutputTokens),
  };
}

function requestOf(
  { route, system, prompt, output }: JsonQuestion<unknown>,
  maxOutputTokens: number,
  isStructured: boolean,
): ModelRequest {
  return {
    model: route.model,
    system,
    messages: [{ role: 'user', blocks: [{ type: 'text', text: prompt }] }],
    tools: [],
    maxOutputTokens,
    settings: { ...accountSettings(route.settings ?? {}), temperature },
    ...(isStructured && output !== undefined ? { output } : {}),
  };
}

/** Sends one request within the caps of its tenant. The meter counts it, however it ends. */
function sendOnce(
  question: JsonQuestion<unknown>,
  { signal, payer }: Sending,
  isStructured: boolean,
): Promise<ModelReply> {
  const { provider, limits, route, attempting } = question;
  const { meter } = attempting;
  return withinTenantCaps(payer, meter, paidRequest(question), async (paid) => {
    const request = requestOf(question, meter.admit(paid), isStructured);
    beat(attempting);
    try {
      const reply = await provider.send(request, {
        signal,
        firstByteMs: limits.firstByteMs,
        betweenBytesMs: limits.betweenBytesMs,
        thinkingMs: thinkingMsOn(route, limits),
        onText: () => undefined,
        onSending: (progress) => {
          meter.sending(progress);
        },
      });
      meter.chargeReply(reply);
      return reply;
    } catch (thrown) {
      meter.chargeBroken(signal.aborted ? undefined : failureOf(provider, thrown));
      throw thrown;
    }
  });
}

/** What the requests of a question have in common. */
interface Sending {
  readonly signal: AbortSignal;
  readonly payer: Payer;
  readonly retries: number;
}

/** Sends until there is a reply, or retries or the budget are exhausted. */
async function sendWithRetries(
  question: JsonQuestion<unknown>,
  sending: Sending,
): Promise<ModelReply> {
  const { provider, limits, route } = question;
  const { signal, retries: streamRetries } = sending;
  let isStructured = question.unstructured !== true && route.toolProtocol === 'native';
  for (let failures = 0; ; failures += 1) {
    try {
      return await sendOnce(question, sending, isStructured);
    } catch (thrown) {
      const failure = failureOf(provider, thrown);
      // Older models and servers do not know the format; the prompt asks for it too.
      const isUnknownFormat = failure.structure !== undefined && isStructured;
      if (isUnknownFormat) isStructured = false;
      const decision = isUnknownFormat
        ? ({ type: 'retry', delayMs: 0 } as const)
        : decideRetry(failure, failures, { ...limits, streamRetries });
      if (signal.aborted || decision.type === 'give-up') throw thrown;
      await sleep(decision.delayMs, undefined, { signal });
    }
  }
}

/** Sends, and reports the route's health, before another run may probe. */
async function sendReported(
  question: JsonQuestion<unknown>,
  signal: AbortSignal,
  {
    call,
    admission,
    clock,
  }: { readonly call: RouteCall; readonly admission: Admission; readonly clock: () => number },
): Promise<ModelReply> {
  const { store, provider, capped, timeoutMs } = question;
  const payer = { store, capped, clock, timeoutMs };
  const retries = admission.isProbe ? 0 : question.retries;
  try {
    const reply = await sendWithRetries(question, { signal, payer, retries });
    await reportAnsweredCall(store, call, admission, clock());
    return reply;
  } catch (thrown) {
    if (!signal.aborted) await reportFailedCall(store, call, failureOf(provider, thrown), clock());
    throw thrown;
  }
}

function failureOf(provider: Provider, thrown: unknown): InfraError {
  return thrown instanceof InfraException ? thrown.failure : provider.classifyError(thrown);
}

/** The first object of the reply that has the wanted shape. */
function readAnswer<Answer>(schema: z.ZodType<Answer>, reply: ModelReply): JsonReply<Answer> {
  if (reply.stopReason !== 'end') return { problem: `the reply ended as ${reply.stopReason}` };
  for (const value of objectsInText(replyText(reply))) {
    const read = schema.safeParse(value);
    if (read.success) return { answer: read.data };
  }
  return { problem: 'the reply contains no valid answer' };
}

/**
 * Asks once.
 *
 * Contract: called in an activity. Resolves even if the provider fails; rejects only when the activity is cancelled or the
 * worker shuts down. Requests that failed, and those of workers that died, are charged to the meter.
 * Source: R-REC-3. The adapter omits the temperature if its API refuses one.
 */
export async function askForJson<Answer>(
  question: JsonQuestion<Answer>,
): Promise<JsonReply<Answer>> {
  const { store, provider, route, limits, timeoutMs, attempting } = question;
  const { cancellationSignal } = Context.current();
  // However this attempt ends, even with an answer that a dead worker kept: the lost attempts before it have sent the same request.
  attempting.meter.chargeLost(paidRequest(question));
  const name = routeName(route);
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([cancellationSignal, deadline]);
  try {
    const known = await question.known?.();
    if (known !== undefined) return { answer: known };
    const givenUp = tooManyLost(attempting, name, limits);
    if (givenUp !== undefined) return { problem: givenUp.message };
    const clock = await sharedClock(store);
    const { holder } = question;
    const call: RouteCall = { route: name, holder, limits, startedAtMs: clock() };
    const reply = await admitted(store, call, (admission) =>
      sendReported(question, signal, { call, admission, clock }),
    );
    return readAnswer(question.schema, reply);
  } catch (thrown) {
    if (cancellationSignal.aborted) throw interruption() ?? thrown;
    if (deadline.aborted) return { problem: `no answer within ${timeoutMs} ms` };
    const failure = failureOf(provider, thrown);
    return { problem: `${failure.code}: ${failure.message}` };
  }
}
