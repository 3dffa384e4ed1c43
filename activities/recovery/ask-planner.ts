/** One question to a planner's model: layer 2 retries, no failover, and never longer than its deadline. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { InfraError } from '../../workflows/core/failure';
import type { Limits } from '../../workflows/core/limits';
import { totalTokens, worstPromptNanoUsd, pricesFor } from '../../workflows/core/model-price';
import type { RouteConfig } from '../../workflows/core/ports';
import { routeName } from '../../workflows/core/provider-health';
import type { Allowance, CallSpend } from '../../workflows/core/spend';
import { spendOf } from '../../workflows/core/spend';
import { decideRetry } from '../../workflows/core/stream-recovery';
import { InfraException } from '../infra-exception';
import type { ModelReply, ModelRequest, OutputSchema, Provider } from '../providers/provider';
import { admitCall, reportAnsweredCall, reportFailedCall } from '../shared-health';
import type { RouteCall } from '../shared-health';
import type { Store } from '../store';

/** Tokens of a plan and its variance (seed 003). */
const planTokens = 600;
const planTemperature = 0.2;

/** Characters per token at the least, for what a prompt may cost. */
const charsPerToken = 2;

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
  readonly allowance?: Allowance;
  /** Stable over attempts: who probes a recovering route. */
  readonly holder: string;
  readonly clock: () => number;
}

/** What came back: a text, or why there is none. */
export interface PlannerReply {
  readonly text?: string;
  readonly problem?: string;
  readonly spend?: CallSpend;
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

/** Whether the budget leaves enough for one question. */
function isAffordable({ route, system, prompt, allowance }: PlannerQuestion): boolean {
  if (allowance === undefined) return true;
  const promptTokens = Math.ceil((system.length + prompt.length) / charsPerToken);
  if ((allowance.tokens ?? Infinity) < promptTokens + planTokens) return false;
  if (allowance.nanoUsd === undefined || route.price === undefined) return true;
  const output = planTokens * pricesFor(route.price, promptTokens).output * 1_000;
  return allowance.nanoUsd >= worstPromptNanoUsd(route.price, promptTokens) + output;
}

function textOf(reply: ModelReply): string {
  return reply.blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** Sends until an answer comes, or the retries are spent. */
async function sendWithRetries(
  question: PlannerQuestion,
  signal: AbortSignal,
  retries: number,
): Promise<ModelReply> {
  const { provider, limits, route } = question;
  let isStructured = route.toolProtocol === 'native';
  for (let failures = 0; ; failures += 1) {
    try {
      return await provider.send(requestOf(question, isStructured), {
        signal,
        firstByteMs: limits.firstByteMs,
        betweenBytesMs: limits.betweenBytesMs,
        onText: () => undefined,
      });
    } catch (thrown) {
      const failure = failureOf(provider, thrown);
      // Older models and servers do not know the format: the words of the prompt ask for it too.
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

function failureOf(provider: Provider, thrown: unknown): InfraError {
  return thrown instanceof InfraException ? thrown.failure : provider.classifyError(thrown);
}

/**
 * Asks once.
 *
 * Contract: resolves whatever the provider does; rejects only when the activity is cancelled or the worker shuts down.
 * Source: seed 003 (temperature 0.2, 600 tokens); the adapter leaves the temperature out where its API refuses one.
 */
export async function askPlanner(question: PlannerQuestion): Promise<PlannerReply> {
  const { store, provider, route, limits, clock } = question;
  if (!isAffordable(question)) return { problem: 'the budget leaves too little for a plan' };
  const call: RouteCall = {
    route: routeName(route),
    holder: question.holder,
    limits,
    startedAtMs: clock(),
  };
  const { cancellationSignal } = Context.current();
  const deadline = AbortSignal.timeout(limits.recoveryPlanTimeoutMs);
  try {
    const isProbe = (await admitCall(store, call)) === 'probe' || question.isProbe;
    const signal = AbortSignal.any([cancellationSignal, deadline]);
    const reply = await sendWithRetries(question, signal, isProbe ? 0 : limits.streamRetries);
    await reportAnsweredCall(store, call, clock());
    const spend =
      totalTokens(reply.usage) === 0 ? {} : { spend: spendOf(reply.usage, route.price) };
    if (reply.stopReason !== 'end')
      return { problem: `the planner's reply ended as ${reply.stopReason}`, ...spend };
    return { text: textOf(reply), ...spend };
  } catch (thrown) {
    if (cancellationSignal.aborted) throw thrown;
    if (deadline.aborted) return { problem: `no plan within ${limits.recoveryPlanTimeoutMs} ms` };
    const failure = failureOf(provider, thrown);
    if (failure.spared !== true) await reportFailedCall(store, call, failure, clock());
    return { problem: `${failure.code}: ${failure.message}` };
  }
}
