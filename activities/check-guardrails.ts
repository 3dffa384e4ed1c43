/** The activity `checkGuardrails`: an author's own checks, side by side. Without a verdict of each, nothing passes (ADR 0060). */
import { once } from 'node:events';
import { inspect } from 'node:util';
import { Context } from '@temporalio/activity';
import { z } from 'zod';
import type {
  CheckGuardrailsInput,
  CheckGuardrailsResult,
  GuardrailVerdict,
} from '../workflows/core/guardrails/ports';
import { failureMessageChars } from '../workflows/core/limits';
import { shortened } from '../workflows/core/shortened';
import { completeTaskTool } from '../workflows/core/tools/ports';
import type { ActivityDeps } from './definitions/activity-deps';
import { agentNamed, currentRunId, loadConfig, storeOf } from './definitions/activity-deps';
import type { ResolvedAgent } from './definitions/agent-catalog';
import type { AnyGuardrail, CheckedAnswer, GuardrailContext } from './definitions/guardrail';
import { guardrailsOf, guardrailTimeoutMs } from './definitions/guardrail';
import type { RunConfig } from './definitions/run-config';
import { interruption, withHeartbeat } from './lifecycle/activity-lifecycle';
import { applicationFailure } from './lifecycle/error-mapping';
import { InfraException } from './lifecycle/infra-exception';
import { formedAnswer } from './model-call/formed-answer';
import type { Store } from './stores/store';
import { runContextOf } from './tool-call/tool-of-run';
import { sanitizeText } from './untrusted/sanitizer';

const words = z.string().regex(/\S/);
const answerSchema = z.union([
  z.null(),
  z.strictObject({ stop: words }),
  z.strictObject({ correct: words }),
]);

/** Tries of checks that fail, by attempts of the activity; 1 s, 2 s, and 4 s lie between them. */
const mostTries = 4;
const firstPauseMs = 1_000;

function failed(name: string, why: string): InfraException {
  return new InfraException({
    code: 'guardrail_failed',
    message: `The guardrail "${name}" gave no verdict, so nothing passed: ${why}. Correct the check, or what it depends on, and start the run again.`,
  });
}

function verdictOf(name: string, given: unknown): GuardrailVerdict {
  const parsed = answerSchema.safeParse(given);
  if (!parsed.success)
    throw failed(
      name,
      `it returned ${shortened(inspect(given), 100)}; return null to pass, { stop: reason } or { correct: hint }`,
    );
  const answer = parsed.data;
  if (answer === null) return { name, verdict: 'passed' };
  const [verdict, text] =
    'stop' in answer
      ? (['stopped', answer.stop] as const)
      : (['corrected', answer.correct] as const);
  return { name, verdict, message: sanitizeText(text, { maxChars: failureMessageChars }) };
}

/** Rejects once the signal is aborted: a check that ignores it must not hold the activity. */
async function aborted(signal: AbortSignal, done: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort', { signal: done });
  throw signal.reason;
}

async function runCheck(
  guardrail: AnyGuardrail,
  checked: unknown,
  run: Omit<GuardrailContext, 'signal'>,
): Promise<GuardrailVerdict> {
  const { name } = guardrail;
  const timeoutMs = guardrailTimeoutMs(guardrail);
  const limit = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([limit, Context.current().cancellationSignal]);
  const done = new AbortController();
  try {
    const checking = Promise.resolve().then(() => guardrail.check(checked, { ...run, signal }));
    return verdictOf(name, await Promise.race([checking, aborted(signal, done.signal)]));
  } catch (thrown) {
    const stopped = interruption();
    if (stopped !== undefined) throw stopped;
    if (thrown instanceof InfraException) throw thrown;
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw failed(name, limit.aborted ? `it took longer than ${timeoutMs} ms` : why);
  } finally {
    done.abort();
  }
}

/** The answer with which the transcript ends. */
async function answerAt(
  store: Store,
  agent: ResolvedAgent,
  { head }: CheckGuardrailsInput,
): Promise<CheckedAnswer> {
  const last = (await store.loadTranscript(head)).at(-1);
  const blocks = last?.role === 'assistant' ? last.blocks : [];
  const call = blocks.find((block) => block.type === 'tool-call');
  if (call === undefined) {
    const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));
    const text = texts.join('');
    if (agent.answer === undefined) return { text, output: undefined };
    const formed = formedAnswer(text, { agent });
    if (formed.ok) return { text, output: formed.value };
    throw answerOutdated(agent);
  }
  const parsed = agent.coreTools.find(({ name }) => name === completeTaskTool)?.parse(call.input);
  if (parsed?.ok === true) {
    const { summary, result } = parsed.value as { summary: string; result?: unknown };
    return { text: summary, output: result };
  }
  throw answerOutdated(agent);
}

function answerOutdated(agent: ResolvedAgent): InfraException {
  return new InfraException({
    code: 'config_invalid',
    message: `The answer does not fit the output schema of agent "${agent.name}" any more: the schema has changed since the model answered. Deploy one that takes the older output.`,
  });
}

/** Whose checks they are, what they check, and the context that they read. */
async function subjectOf(
  deps: ActivityDeps,
  config: RunConfig,
  input: CheckGuardrailsInput,
): Promise<{
  readonly agent: ResolvedAgent;
  readonly context: RunConfig['context'];
  readonly checked: unknown;
}> {
  const { startedAs = config } = config;
  const store = storeOf(deps, input.storeId);
  if (input.stage === 'input')
    return {
      agent: agentNamed(deps, config.agent),
      context: config.context,
      checked: config.input ?? '',
    };
  const agent = agentNamed(deps, startedAs.agent);
  return { agent, context: startedAs.context, checked: await answerAt(store, agent, input) };
}

/**
 * Checks what the agent is asked, or what the run answers.
 *
 * Errors: `guardrail_failed` for a check that throws, takes too long, or returns anything else than a verdict, after four tries;
 * an `InfraException` of the author's as it is; those of the store; `worker_mismatch`.
 */
export function checkGuardrails(
  deps: ActivityDeps,
  input: CheckGuardrailsInput,
): Promise<CheckGuardrailsResult> {
  return withHeartbeat(
    () => undefined,
    async () => {
      const config = await loadConfig(deps, input.definition);
      const { agent, context, checked } = await subjectOf(deps, config, input);
      const run = runContextOf({ agent, config: { ...config, context }, runId: currentRunId() });
      const guardrails = guardrailsOf(agent.guardrails, input.stage);
      try {
        const checks = guardrails.map((guardrail) => runCheck(guardrail, checked, run));
        return { verdicts: await Promise.all(checks) };
      } catch (thrown) {
        const { attempt } = Context.current().info;
        const isFinal = attempt >= mostTries;
        if (!(thrown instanceof InfraException) || thrown.failure.code !== 'guardrail_failed')
          throw thrown;
        const delayMs = firstPauseMs * 2 ** (attempt - 1);
        throw applicationFailure(thrown.failure, isFinal ? undefined : { delayMs });
      }
    },
  );
}
