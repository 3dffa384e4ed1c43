/** Why a run that has not ended is where it is: what the server says of it first, then what it waits for. */
import { infraPolicies } from '../../workflows/core/errors/failure-policy';
import { routeName } from '../../workflows/core/failover/provider-health';
import type { FailoverReason } from '../../workflows/core/limits';
import { askUserTool } from '../../workflows/core/tools/ports';
import { callsOf, callSummary } from '../../workflows/core/tools/state';
import type { PendingItem } from '../../workflows/core/view/pending';
import { pendingItems } from '../../workflows/core/view/pending';
import { shellWord } from '../../workflows/core/view/shell-word';
import { statusView } from '../../workflows/core/view/status';
import { waitingPhase } from '../../workflows/core/run/waiting';
import type { Diagnosis, NextStep, WhyCause, WhyFacts } from './explanation';
import { command, sentence, spanText, utcTime, workerStep } from './next-steps';
import { routeSteps, routeTexts } from './route-causes';

/** A cause, where it is one. */
type Cause = (facts: WhyFacts) => Diagnosis | undefined;

/** Milliseconds after which an idle worker asks again at the latest (a poll ends after 60 s), with some for a busy machine. */
const pollMs = 90_000;
/** Milliseconds that a task may wait for a worker that polls, before it is told. */
const queuedMs = 30_000;

const changedCode = /TMPRL1100|nondeterminism/i;

/** Workflow code that fails: each try fails again until other code is deployed. */
const failingTask: Cause = ({ surroundings, ...facts }) => {
  const { openTask } = surroundings;
  if (openTask?.failure === undefined || openTask.attempt < 2) return undefined;
  const isChanged = changedCode.test(openTask.failure);
  const why = isChanged
    ? 'The workflow code of its workers does not replay its history, as after a deploy of changed code'
    : 'Its workflow code throws, which is a bug and no failure of the run';
  const replay: NextStep = {
    text: 'See which command of the history differs, with the code that is deployed.',
    command: `holdfast replay --run-id ${shellWord(facts.runId)}`,
  };
  const deploy = isChanged
    ? 'Deploy the earlier workers again, or code that has the change behind a flag.'
    : 'Deploy workers with a fix.';
  return {
    cause: 'workflow_task_failed',
    says: `${why}; attempt ${openTask.attempt} of its workflow task failed: ${sentence(openTask.failure)} Nothing is lost, and the server tries again by itself.`,
    next: [...(isChanged ? [replay] : []), { text: `${deploy} The run then goes on by itself.` }],
  };
};

/** Work that no worker takes. */
const missingWorker: Cause = (facts) => {
  const { surroundings, nowMs } = facts;
  const { openTask, activities, taskQueue, lastPollAtMs, knowsPollers } = surroundings;
  const due = activities.flatMap(({ isStarted, dueAtMs }) =>
    isStarted || dueAtMs === undefined || dueAtMs > nowMs ? [] : [dueAtMs],
  );
  const waiting = openTask?.isStarted === false ? [...due, openTask.scheduledAtMs] : due;
  if (waiting.length === 0) return undefined;
  const sinceMs = nowMs - Math.min(...waiting);
  const polls = lastPollAtMs === undefined ? !knowsPollers : nowMs - lastPollAtMs <= pollMs;
  if (polls && sinceMs < queuedMs) return undefined;
  const queue = `task queue "${taskQueue}"`;
  const gone = `No worker polls ${queue}, and work of the run has waited there for ${spanText(sinceMs)}.`;
  const busy = `Work of the run has waited on ${queue} for ${spanText(sinceMs)}: its workers are gone, or have no free slot (maxConcurrentActivities).`;
  return {
    cause: 'no_worker',
    says: `${polls ? busy : gone} Nothing is lost: it goes on as soon as a worker takes it.`,
    next: [workerStep('Start a worker that has the agent, with the same store.', facts)],
  };
};

/** An activity that Temporal tries again: a worker died, or none of them can serve it. */
const retriedActivity: Cause = (facts) => {
  const [activity] = facts.surroundings.activities.filter(
    ({ lastFailure }) => lastFailure !== undefined,
  );
  if (activity?.lastFailure === undefined) return undefined;
  const { type, attempt, isStarted, dueAtMs = facts.nowMs, lastFailure } = activity;
  const isLost = lastFailure.type === 'timeout';
  const when = isStarted ? 'runs now' : `follows at ${utcTime(dueAtMs, facts.nowMs)}`;
  const known = Object.hasOwn(infraPolicies, lastFailure.type);
  const cause = isLost ? 'worker_lost' : known ? (lastFailure.type as WhyCause) : 'retrying';
  const advice = isLost
    ? 'Look at the logs and the memory of its workers: a call may end its process.'
    : 'Do what the message says; Temporal tries again by itself.';
  const step =
    cause === 'worker_mismatch'
      ? workerStep('Start a worker that has what is missing.', facts)
      : { text: advice };
  return {
    cause,
    says: `The activity ${type} failed${isLost ? ' because its worker was lost' : ''}, and attempt ${attempt} ${when}: ${sentence(lastFailure.message)}`,
    next: [step, giveUpStep(facts)],
  };
};

function giveUpStep(facts: WhyFacts): NextStep {
  return { text: 'To end it instead:', command: `${command('stop', facts)} --reason TEXT` };
}

/** What the expiry of a wait leads to. */
const expiries = {
  reject: 'is then rejected',
  escalate: 'is then escalated',
  wait: 'goes on, and people are reminded then',
  'give-up': 'then ends the run as given up',
  continue: 'then ends, and the run goes on without it',
} as const;

function limitSays({ expiresAtMs, onExpiry, escalated }: PendingItem, nowMs: number): string {
  if (escalated === true) return ' It was escalated: nobody decided in time, and it waits on.';
  if (expiresAtMs === undefined) return ' It waits without a limit.';
  const then = onExpiry === undefined ? 'then expires' : expiries[onExpiry];
  return ` It waits until ${utcTime(expiresAtMs, nowMs)} (${spanText(expiresAtMs - nowMs)} from now), and ${then}.`;
}

function approvalOf(item: Extract<PendingItem, { type: 'approval' }>, facts: WhyFacts): Diagnosis {
  const { tool, label, approvalId } = item;
  const what = label === undefined ? tool : `${tool} (${label})`;
  const id = shellWord(approvalId);
  return {
    cause: 'approval',
    says: `It waits for a person to approve or reject ${what}.${limitSays(item, facts.nowMs)}`,
    next: [
      { text: 'See what it would do:', command: command('show', facts, '--arguments', id) },
      { text: `Yes: ${item.ifApproved}`, command: command('approve', facts, id) },
      { text: `No: ${item.ifRejected}`, command: command('reject', facts, id, '--reason TEXT') },
    ],
  };
}

/** The call whose outcome nobody knows, if the question is about one. */
function unknownCall({ state }: WhyFacts, questionId: string): string | undefined {
  const asked = callsOf(state).find(({ call }) => call.toolCallId === questionId);
  return asked === undefined || asked.call.name === askUserTool
    ? undefined
    : callSummary(asked.call);
}

function questionOf(item: Extract<PendingItem, { type: 'question' }>, facts: WhyFacts): Diagnosis {
  const { questionId, question } = item;
  const call = unknownCall(facts, questionId);
  const waits = waitingPhase(facts.state)?.on === 'person';
  const isEscalated = waits || questionId.startsWith('recovery-');
  const answer = command('answer', facts, '--question', shellWord(questionId), 'TEXT');
  const about =
    call === undefined ? '' : `Nobody knows whether ${call} took effect: its worker was lost. `;
  const remedy =
    call === undefined
      ? 'Answer, and the run goes on.'
      : 'Find out whether it took effect, and say so; it is not called again before.';
  return {
    cause: call !== undefined ? 'unknown_outcome' : isEscalated ? 'escalated' : 'question',
    says: `${about}It waits for a person's answer: ${sentence(question)}${limitSays(item, facts.nowMs)}`,
    next: [{ text: remedy, command: answer }, giveUpStep(facts)],
  };
}

const person: Cause = (facts) => {
  const [item] = pendingItems(facts.state);
  if (item === undefined) return undefined;
  return item.type === 'approval' ? approvalOf(item, facts) : questionOf(item, facts);
};

/** The reason of a wait that waiting cures first, else the first one. */
function causeOfRoutes({ state }: WhyFacts): FailoverReason | 'unknown' {
  const reasons = (state.snapshot?.chain ?? []).flatMap(
    (route) => state.health.routes[routeName(route)]?.lastErrorReason ?? [],
  );
  return reasons.find((reason) => infraPolicies[reason].healsByWaiting) ?? reasons[0] ?? 'unknown';
}

const provider: Cause = (facts) => {
  const wait = waitingPhase(facts.state);
  if (wait?.on !== 'provider') return undefined;
  const { untilMs = facts.nowMs } = wait;
  const at = utcTime(untilMs, facts.nowMs);
  return {
    cause: causeOfRoutes(facts),
    says: `No provider of its chain can answer now: ${routeTexts(facts).join('; ')}. It waits durably, and asks again at ${at} (${spanText(untilMs - facts.nowMs)} from now).`,
    next: [
      { text: `Nothing: it asks again at ${at} by itself.` },
      ...routeSteps(facts),
      giveUpStep(facts),
    ],
  };
};

/** A wait for the store, of the run or of calls. */
const store: Cause = (facts) => {
  const wait = waitingPhase(facts.state);
  const paused = callsOf(facts.state).flatMap(({ status }) =>
    status.type === 'paused' ? [status] : [],
  );
  const [{ untilMs = facts.nowMs, reason } = { reason: '' }] =
    wait?.on === 'store' ? [wait] : paused;
  if (reason === '') return undefined;
  const at = utcTime(untilMs, facts.nowMs);
  return {
    cause: 'store_unavailable',
    says: `Its store does not answer: ${sentence(reason)} The run waits, and asks again at ${at}.`,
    next: [
      {
        text: `Make the store reachable for the workers (their HOLDFAST_STORE). The run asks again at ${at}, then at most every 60 s, and goes on by itself.`,
      },
    ],
  };
};

/** Whatever else it does. */
function work(facts: WhyFacts): Diagnosis {
  const { state } = facts;
  const { doing, status } = statusView(state);
  return {
    cause: status === 'waiting' ? 'recovering' : 'at_work',
    says: `Nothing holds it up: it is ${doing}.`,
    next: [{ text: 'Nothing. To follow it:', command: command('watch', facts) }],
  };
}

const causes: readonly Cause[] = [
  failingTask,
  missingWorker,
  person,
  provider,
  store,
  retriedActivity,
];

/** Why a run in progress is where it is. */
export function causeOfOpenRun(facts: WhyFacts): Diagnosis {
  for (const cause of causes) {
    const diagnosis = cause(facts);
    if (diagnosis !== undefined) return diagnosis;
  }
  return work(facts);
}
