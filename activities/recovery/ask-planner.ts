/** One question to a planner's model: with stream retries, without failover, never longer than its deadline. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { InfraError } from '../../workflows/core/failure';
import type { Limits } from '../../workflows/core/limits';
import type { RouteConfig } from '../../workflows/core/failover/state';
import { routeName } from '../../workflows/core/failover/provider-health';
import { decideRetry } from '../../workflows/core/failover/stream-recovery';
import { InfraException } from '../lifecycle/infra-exception';
import type { ModelReply, ModelRequest, OutputSchema, Provider } from '../providers/provider';
import type { RouteCall } from '../model-call/shared-health';
import { admitted, reportAnsweredCall, reportFailedCall } from '../model-call/shared-health';
import type { PaidRequest } from '../model-call/allowance';
import { textRequest } from '../model-call/call-meter';
import type { Attempting } from '../model-call/route-attempt';
import { beat } from '../model-call/route-attempt';
import { replyText } from '../model-call/reply-text';
import type { Store } from '../stores/store';

/** Token limit and temperature of a plan (R-REC-3). */
const planTokens = 600;
const planTemperature = 0.2;

/** What to ask, and where. */
export interface PlannerQuestion {
  readonly store: Store;
  readonly provider: Provider;
  readonly route: RouteConfig;
  readonly limits: Limits;
  readonly system: string;
  readonly prompt: string;
  readonly output: OutputSchema;
  readonly isProbe: boolean;
  /** Counts each request, and reports it in heartbeats. */
  readonly attempting: Attempting;
  /** Stable over attempts: who probes a recovering route. */
  readonly holder: string;
  readonly clock: () => number;
}

/** The reply: a text, or why there is none. */
export interface PlannerReply {
  readonly text?: string;
  readonly problem?: string;
}

function requestOf(question: PlannerQuestion, isStructured: boolean): ModelRequest {
  const { route, system, prompt, output } = question;
  return {
    model: route.model,
    system,
    messages: [{ role: 'user', blocks: [{ type: 'text', text: prompt }] }],
    tools: [],
    maxOutputTokens: planTokens,
    temperature: planTemperature,
    ...(isStructured ? { output } : {}),
  };
}

function paidRequest({ system, prompt, output, route }: PlannerQuestion): PaidRequest {
  const asked = [system, prompt, JSON.stringify(output.schema)].join('\n');
  return textRequest(asked, route.price, planTokens);
}

/** Sends until there is an answer, or retries or the budget are exhausted. The meter counts each request. */
async function sendWithRetries(
  question: PlannerQuestion,
  signal: AbortSignal,
  retries: number,
): Promise<ModelReply | { readonly problem: string }> {
  const { provider, limits, route, attempting } = question;
  const { meter } = attempting;
  let isStructured = route.toolProtocol === 'native';
  for (let failures = 0; ; failures += 1) {
    if (!meter.affords(paidRequest(question)))
      return { problem: 'the budget leaves too little for a plan' };
    beat(attempting);
    try {
      const reply = await provider.send(requestOf(question, isStructured), {
        signal,
        firstByteMs: limits.firstByteMs,
        betweenBytesMs: limits.betweenBytesMs,
        thinkingMs: limits.thinkingMs,
        onText: () => undefined,
        onSending: (progress) => {
          meter.sending(progress);
        },
      });
      meter.chargeReply(reply);
      return reply;
    } catch (thrown) {
      const failure = failureOf(provider, thrown);
      meter.chargeBroken(signal.aborted ? undefined : failure);
      // Older models and servers do not know the format; the prompt asks for it too.
      const isUnknownFormat = failure.code === 'format' && isStructured;
      if (isUnknownFormat) isStructured = false;
      const decision = isUnknownFormat
        ? ({ type: 'retry', delayMs: 0 } as const)
        : decideRetry(failure, failures, { ...limits, streamRetries: retries });
      if (signal.aborted || decision.type === 'give-up') throw thrown;
      await sleep(decision.delayMs, undefined, { signal });
    }
  }
}

/** Sends, and reports the route's health, before another run may probe. */
async function sendReported(
  question: PlannerQuestion,
  signal: AbortSignal,
  { call, isProbe }: { readonly call: RouteCall; readonly isProbe: boolean },
): Promise<ModelReply | { readonly problem: string }> {
  const { store, provider, limits, clock } = question;
  const retries = isProbe || question.isProbe ? 0 : limits.streamRetries;
  try {
    const reply = await sendWithRetries(question, signal, retries);
    if (!('problem' in reply)) await reportAnsweredCall(store, call, clock());
    return reply;
  } catch (thrown) {
    if (!signal.aborted) await reportFailedCall(store, call, failureOf(provider, thrown), clock());
    throw thrown;
  }
}

function failureOf(provider: Provider, thrown: unknown): InfraError {
  return thrown instanceof InfraException ? thrown.failure : provider.classifyError(thrown);
}

/**
 * Asks once.
 *
 * Contract: resolves even if the provider fails; rejects only when the activity is cancelled or the worker shuts down. Requests
 * that failed, and those of workers that died, are charged to the meter.
 * Source: R-REC-3. The adapter omits the temperature if its API refuses one.
 */
export async function askPlanner(question: PlannerQuestion): Promise<PlannerReply> {
  const { store, provider, route, limits, clock, attempting } = question;
  const { cancellationSignal } = Context.current();
  attempting.meter.chargeLost(paidRequest(question));
  const call: RouteCall = {
    route: routeName(route),
    holder: question.holder,
    limits,
    startedAtMs: clock(),
  };
  const deadline = AbortSignal.timeout(limits.recoveryPlanTimeoutMs);
  const signal = AbortSignal.any([cancellationSignal, deadline]);
  try {
    const reply = await admitted(store, call, (admission) =>
      sendReported(question, signal, { call, isProbe: admission === 'probe' }),
    );
    if ('problem' in reply) return reply;
    if (reply.stopReason !== 'end')
      return { problem: `the planner's reply ended as ${reply.stopReason}` };
    return { text: replyText(reply) };
  } catch (thrown) {
    if (cancellationSignal.aborted) throw thrown;
    if (deadline.aborted) return { problem: `no plan within ${limits.recoveryPlanTimeoutMs} ms` };
    const failure = failureOf(provider, thrown);
    return { problem: `${failure.code}: ${failure.message}` };
  }
}
