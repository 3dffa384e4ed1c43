/** Why a run ended as it did, and how its work goes on. */
import { totalTokens } from '../../workflows/core/budget/spend';
import type { FailureReason, RunOutcome, RunReport } from '../../workflows/core/run/outcome';
import { shortened } from '../../workflows/core/shortened';
import { shellWord } from '../../workflows/core/view/shell-word';
import type { Diagnosis, NextStep, WhyCause, WhyFacts } from './explanation';
import { command, continueStep, forkStep, sentence, utcTime, workerStep } from './next-steps';
import { reasonOfRoutes, routesFreeAtMs, routeSteps, routeTexts } from './route-causes';

type Failed = Extract<RunOutcome, { status: 'failed' }>;
type FailedCause = (facts: WhyFacts, outcome: Failed) => Diagnosis;

/** Words for the model after an end that it caused; what it had read stays in its transcript. */
const otherWay = 'That way led nowhere. Find another one.';
const goOn = 'Go on.';
/** Characters of an error that a message to the model repeats. */
const repeatedChars = 200;
/** How much more a continued run may take than the one that reached its limit. */
const raise = 2;

/** The sentence of a forced stop that says what was reached. */
function reached({ message }: Failed): string {
  const [first = ''] = message.split('\n');
  return sentence(first.replace(/^Forced stop: /, 'The run was stopped: '));
}

/** Continues the run behind the last iteration that brought something. */
function again(text: string, facts: WhyFacts, message?: string): NextStep {
  return forkStep(text, facts, facts.story.lastSuccess, message);
}

/** The same where the transcript is complete: behind the last reply. */
function resumed(text: string, facts: WhyFacts): NextStep {
  const { state, story } = facts;
  return state.head === undefined
    ? {
        text: 'Then start it again: it had not begun.',
        command: `holdfast run GOAL --agent ${shellWord(state.request.agent)} --detach`,
      }
    : forkStep(text, facts, story.lastReply);
}

/** An MCP server that a failure names: Holdfast's own words, with the server's name in quotes. */
function lostMcpServer({ story }: WhyFacts): string | undefined {
  const { lastFailure } = story;
  if (lastFailure?.kind !== 'agent') return undefined;
  return /MCP server "([^"]+)" cannot be reached/.exec(lastFailure.message)?.[1];
}

const circuitBreaker: FailedCause = (facts) => {
  const { lastFailure } = facts.story;
  const { lastError = '', request } = facts.state;
  const tool = lastFailure?.kind === 'agent' ? lastFailure.toolName : undefined;
  const server = lostMcpServer(facts);
  const says = `The same error came five times in a row with no success between, although the model was told each time: ${sentence(lastError)}`;
  if (server !== undefined)
    return {
      cause: 'mcp_server',
      says,
      next: [
        { text: `Start MCP server "${server}" again, or correct its address in connectMcp.` },
        again('Then go on where it was:', facts),
      ],
    };
  const isTools =
    lastFailure?.code === 'tool_execution_failed' || lastFailure?.code === 'tool_timeout';
  const remedy =
    tool === undefined
      ? `Make the instructions of agent "${request.agent}" say what a reply must look like, or use a stronger model.`
      : isTools
        ? `Repair what the tool ${tool} works with, or make it tell the model what to do instead.`
        : `Make the description and the schema of the tool ${tool} say what the model got wrong, or use a stronger model.`;
  const advice = `This failed again and again, do not repeat it: ${shortened(lastError.replace(/\s+/g, ' '), repeatedChars)}`;
  return {
    cause: 'circuit_breaker',
    says,
    next: [{ text: remedy }, again('Then go on behind the last success:', facts, advice)],
  };
};

const budget: FailedCause = (facts, outcome) => {
  const { cost, usage } = outcome.report;
  const tokens =
    cost.budgetTokens === undefined
      ? []
      : [`--budget-tokens ${Math.max(cost.budgetTokens, totalTokens(usage)) * raise}`];
  const usd = cost.budgetUsd === undefined ? [] : [`--budget-usd ${cost.budgetUsd * raise}`];
  return {
    cause: 'guard_budget',
    says: reached(outcome),
    next: [
      continueStep('Go on with a larger budget:', facts, goOn, ...tokens, ...usd),
      { text: 'Or choose a cheaper model, or a smaller goal.' },
    ],
  };
};

/** A limit that only the agent's definition or the start raises. */
const limit =
  (cause: WhyCause, name: string, more = ''): FailedCause =>
  (facts, outcome) => ({
    cause,
    says: reached(outcome),
    next: [
      {
        text: `If the work needs it: raise ${name} of agent "${facts.state.request.agent}".${more}`,
      },
      continueStep('Then go on where it ended:', facts, more === '' ? goOn : otherWay),
    ],
  });

const iterations: FailedCause = (facts, outcome) => {
  const { maxIterations = 0 } = facts.state.snapshot?.limits ?? {};
  const more = `--max-iterations ${maxIterations * raise}`;
  return {
    cause: 'max_iterations',
    says: reached(outcome),
    next: [
      continueStep('Go on with more iterations:', facts, goOn, more),
      { text: 'Or give it a smaller goal.' },
    ],
  };
};

const declined =
  (cause: WhyCause, who: string): FailedCause =>
  (facts, { message }) => ({
    cause,
    says: `${who}: ${sentence(message)}`,
    next: [
      {
        text: 'Ask in other words, change the instructions, or add a route of another provider:',
        command: `holdfast run 'GOAL IN OTHER WORDS' --agent ${shellWord(facts.state.request.agent)} --detach`,
      },
    ],
  });

const overflow: FailedCause = (facts, { message, report }) => {
  const { compactions = 0 } = report;
  const how =
    compactions === 0 ? 'there was nothing to compact' : `it was compacted ${compactions} times`;
  return {
    cause: 'context_overflow',
    says: `The conversation does not fit the model's window, and ${how}: ${sentence(message.replace(/^System error: /, ''))}`,
    next: [
      {
        text: `Give agent "${facts.state.request.agent}" a route with a larger window (or its right windowTokens), fewer tools, or tools with smaller outputs.`,
      },
      again('Then go on behind the last success:', facts),
    ],
  };
};

const routes: FailedCause = (facts, { message }) => {
  const texts = routeTexts(facts);
  const freeAtMs = routesFreeAtMs(facts);
  const when =
    freeAtMs === undefined
      ? 'Then go on where it was:'
      : `Then, from ${utcTime(freeAtMs, facts.nowMs)} on (its cooldown), go on where it was:`;
  const steps = routeSteps(facts);
  const waited = `Waiting for them reached limits.maxProviderWaitMs: raise it, or add a route of another provider.`;
  return {
    cause: reasonOfRoutes(facts) ?? 'chain_exhausted',
    says:
      texts.length === 0
        ? sentence(message)
        : `No provider of its chain can answer, and waiting cannot cure it: ${texts.join('; ')}.`,
    next: [...(steps.length === 0 ? [{ text: waited }] : steps), resumed(when, facts)],
  };
};

const infra: FailedCause = (facts, { message, failure }) => {
  const code = failure?.code ?? 'infra';
  const isWorkers = code === 'agent_unknown' || code === 'worker_mismatch';
  return {
    cause: code,
    says: `What it runs on failed: ${sentence(message)}`,
    next: [
      isWorkers
        ? workerStep('Start workers that have the agent and its tools:', facts)
        : { text: 'Do what the message says.' },
      resumed('Then go on where it was:', facts),
    ],
  };
};

const repetition = ' If not, its tool or its instructions mislead the model.';

const failedCauses: { readonly [Reason in FailureReason]: FailedCause } = {
  circuit_breaker: circuitBreaker,
  max_iterations: iterations,
  guard_events: limit('guard_events', 'limits.maxEvents'),
  guard_tool_calls: limit('guard_tool_calls', 'limits.maxToolCalls'),
  guard_active_time: limit('guard_active_time', 'limits.maxActiveMs'),
  guard_budget: budget,
  guard_tenant_cap: (facts, outcome) => ({
    cause: 'guard_tenant_cap',
    says: reached(outcome),
    next: [
      {
        text: 'Wait as it says, or raise the cap of the tenant: tenantCaps, HOLDFAST_TENANT_CAPS.',
      },
      { text: 'See what each tenant has used today:', command: 'holdfast providers --tenants' },
      resumed('Then go on where it was:', facts),
    ],
  }),
  guard_tool_cap: limit('guard_tool_cap', 'maxCalls of the tool', repetition),
  guard_file_edits: limit('guard_file_edits', 'limits.maxEditsPerFile', repetition),
  guard_loop: limit('guard_loop', 'limits.maxSameCalls', repetition),
  gave_up: (facts, { message }) => ({
    cause: 'gave_up',
    says: `Recovery found no way out: ${sentence(message)}`,
    next: [continueStep('Give it what was missing, and go on:', facts, 'WHAT WAS MISSING')],
  }),
  infra,
  chain_exhausted: routes,
  refusal: declined('refusal', 'The model declined'),
  guardrail: declined('guardrail', "A guardrail of the agent's own stopped it"),
  content_filter: declined('content_filter', 'The filters of its providers refused the request'),
  context_overflow: overflow,
};

function stopped(facts: WhyFacts, reason: string): Diagnosis {
  const { stoppedBy } = facts;
  return {
    cause: 'stopped',
    says: `${stoppedBy ?? 'Somebody'} stopped it: ${sentence(reason)}`,
    next: [
      facts.state.head === undefined
        ? resumed('', facts)
        : continueStep('Nothing, unless it was a mistake. To go on:', facts, goOn),
    ],
  };
}

function cancelled(facts: WhyFacts, reason: string): Diagnosis {
  const how = facts.isTerminated
    ? `It was terminated in Temporal, which the run itself cannot notice (${reason}). Calls in flight may have taken effect.`
    : `It was cancelled: ${sentence(reason)}`;
  return {
    cause: facts.isTerminated ? 'terminated' : 'cancelled',
    says: how,
    next: [resumed('Nothing, unless it was a mistake. To go on where it was:', facts)],
  };
}

function completed(facts: WhyFacts, { subagents = [] }: RunReport): Diagnosis {
  const failed = subagents.findLast(({ status }) => status !== 'completed');
  if (failed === undefined)
    return {
      cause: 'completed',
      says: 'It reached its goal.',
      next: [{ text: 'Nothing. To read its answer:', command: command('show', facts) }],
    };
  const { agent, runId, status, reason = '' } = failed;
  const how = reason === '' ? status : `${status} (${reason})`;
  return {
    cause: 'subagent_failed',
    says: `It answered, but its subagent ${agent} (run ${runId}) did not complete: ${how}.`,
    next: [{ text: 'See why the subagent failed:', command: command('why', { ...facts, runId }) }],
  };
}

/** Why a run that has ended did so. */
export function causeOfEnd(facts: WhyFacts, outcome: RunOutcome): Diagnosis {
  switch (outcome.status) {
    case 'completed':
      return completed(facts, outcome.report);
    case 'stopped':
      return stopped(facts, outcome.reason);
    case 'cancelled':
      return cancelled(facts, outcome.reason);
    case 'failed':
      return failedCauses[outcome.reason](facts, outcome);
  }
}
