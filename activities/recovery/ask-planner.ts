/** One question to a planner's model: with stream retries, without failover, never longer than its deadline. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { InfraError } from '../../workflows/core/failure';
import type { Limits } from '../../workflows/core/limits';
import type { Allowance, CallSpend } from '../../workflows/core/budget/spend';
import { noSpend, totalTokens } from '../../workflows/core/budget/spend';
import type { RouteConfig } from '../../workflows/core/failover/state';
import { routeName } from '../../workflows/core/failover/provider-health';
import { decideRetry } from '../../workflows/core/failover/stream-recovery';
import { InfraException } from '../lifecycle/infra-exception';
import type { BrokenReply, ModelReply, ModelRequest, Provider } from '../providers/provider';
import type { RouteCall } from '../model-call/shared-health';
import { admitted, reportAnsweredCall, reportFailedCall } from '../model-call/shared-health';
import { countAllTokens } from '../measure/count-tokens';
import { CallMeter } from '../model-call/call-meter';
import { replyText } from '../model-call/reply-text';
import type { Store } from '../stores/store';
import { actionFormat } from './planner-answer';

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
  readonly isProbe: boolean;
  readonly allowance?: Allowance;
  /** Stable over attempts: who probes a recovering route. */
  readonly holder: string;
  readonly clock: () => number;
}

/** The reply: a text, or why there is none. */
type PlannerAnswer = { readonly text: string } | { readonly problem: string };

/** The answer, and what asking consumed, if anything. */
export type PlannerReply = PlannerAnswer & { readonly spend?: CallSpend };

/** Sends until there is an answer, or retries or the budget are exhausted. The meter counts each request. */
async function sendWithRetries(
  question: PlannerQuestion,
  meter: CallMeter,
  signal: AbortSignal,
  retries: number,
): Promise<ModelReply> {
  const { provider, limits, route, system, prompt } = question;
  const { price } = route;
  const asked = [system, prompt, JSON.stringify(actionFormat.schema)].join('\n');
  const measure = { tokens: countAllTokens(asked), countedTokens: 0 };
  let isStructured = route.toolProtocol === 'native';
  for (let failures = 0; ; failures += 1) {
    let broken: BrokenReply | undefined;
    const request: ModelRequest = {
      model: route.model,
      system,
      messages: [{ role: 'user', blocks: [{ type: 'text', text: prompt }] }],
      tools: [],
      maxOutputTokens: meter.admit({ measure, price, maxOutputTokens: planTokens }),
      temperature: planTemperature,
      ...(isStructured ? { output: actionFormat } : {}),
    };
    try {
      const reply = await provider.send(request, {
        signal,
        firstByteMs: limits.firstByteMs,
        betweenBytesMs: limits.betweenBytesMs,
        thinkingMs: limits.thinkingMs,
        onText: () => undefined,
        onBroken: (what) => {
          broken = what;
        },
      });
      meter.chargeReply(reply);
      return reply;
    } catch (thrown) {
      const failure = failureOf(provider, thrown);
      meter.chargeBroken(broken, signal.aborted ? undefined : failure);
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
  meter: CallMeter,
  signal: AbortSignal,
  { call, isProbe }: { readonly call: RouteCall; readonly isProbe: boolean },
): Promise<ModelReply> {
  const { store, provider, limits, clock } = question;
  const retries = isProbe || question.isProbe ? 0 : limits.streamRetries;
  try {
    const reply = await sendWithRetries(question, meter, signal, retries);
    await reportAnsweredCall(store, call, clock());
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
 * that failed, and those of workers that died, are part of `spend`.
 * Source: R-REC-3. The adapter omits the temperature if its API refuses one.
 */
export async function askPlanner(question: PlannerQuestion): Promise<PlannerReply> {
  const { store, provider, route, limits, clock, allowance } = question;
  const { cancellationSignal, info } = Context.current();
  const meter = new CallMeter({ allowance, spend: noSpend, lostAttempts: info.attempt - 1 });
  const call: RouteCall = {
    route: routeName(route),
    holder: question.holder,
    limits,
    startedAtMs: clock(),
  };
  const deadline = AbortSignal.timeout(limits.recoveryPlanTimeoutMs);
  const signal = AbortSignal.any([cancellationSignal, deadline]);
  const answer = async (): Promise<PlannerAnswer> => {
    try {
      const reply = await admitted(store, call, (admission) =>
        sendReported(question, meter, signal, { call, isProbe: admission === 'probe' }),
      );
      return reply.stopReason === 'end'
        ? { text: replyText(reply) }
        : { problem: `the planner's reply ended as ${reply.stopReason}` };
    } catch (thrown) {
      if (cancellationSignal.aborted) throw thrown;
      if (deadline.aborted) return { problem: `no plan within ${limits.recoveryPlanTimeoutMs} ms` };
      const failure = failureOf(provider, thrown);
      return { problem: `${failure.code}: ${failure.message}` };
    }
  };
  const answered = await answer();
  return totalTokens(meter.spend.usage) === 0 ? answered : { ...answered, spend: meter.spend };
}
