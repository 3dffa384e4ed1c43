/** The outcome of a subagent, as its parent run reads it (ADR 0021). */
import type { AgentError } from '../failure';
import { agentError } from '../failure';
import { defined } from '../json';
import { failureMessageChars, previewChars } from '../limits';
import { unknownEffect } from '../tools/unknown-outcome';
import { nanoUsdOf, totalTokens } from '../budget/spend';
import type { RunOutcome, RunReport, SubagentConsumption, SubagentEnd } from '../run/outcome';
import { shortened } from '../shortened';

/** Characters of an answer that a subagent's outcome carries; the parent run reads the whole from the store (ADR 0021). */
const outcomeAnswerChars = 2_000;
/** Lines of what worked, and of what did not, that the outcome carries. */
const outcomeLines = 5;

/** Lines about unsettled calls that the outcome carries beside them (ADR 0032). */
const unsettledLines = 20;

function unsettledOf({ didNotWork }: RunReport): readonly string[] {
  return didNotWork.filter((line) => line.endsWith(unknownEffect)).slice(-unsettledLines);
}

function shortReport(report: RunReport): RunReport {
  const didNotWork = report.didNotWork.filter((line) => !line.endsWith(unknownEffect));
  return {
    ...report,
    worked: report.worked.slice(-outcomeLines),
    didNotWork: [...didNotWork.slice(-outcomeLines), ...unsettledOf(report)],
    lastText: shortened(report.lastText, previewChars),
    ...defined({ subagents: report.subagents?.slice(-outcomeLines) }),
  };
}

function answerForParent(answer: string): string {
  if (answer.length <= outcomeAnswerChars) return answer;
  const note = `\n[Cut here: the answer has ${answer.length} characters. The parent run read the whole; holdfast transcript shows it.]`;
  return shortened(answer, outcomeAnswerChars - note.length) + note;
}

/** The outcome of a subagent for its parent run's history, bounded. */
export function outcomeForParent(outcome: RunOutcome): RunOutcome {
  const report = shortReport(outcome.report);
  if (outcome.status !== 'completed') return { ...outcome, report };
  const { output: _inTheStore, ...rest } = outcome;
  return { ...rest, answer: answerForParent(outcome.answer), report };
}

function consumptionOf({ cost, ...report }: RunReport): SubagentConsumption {
  const nanoUsd = nanoUsdOf(cost.usd ?? cost.pricedUsd ?? 0);
  const { estimatedUsd, mostUsd = 0, estimatedTokens = 0, mostTokens = 0 } = cost;
  return {
    spend: {
      usage: report.usage,
      nanoUsd,
      ...(estimatedUsd === undefined
        ? {}
        : {
            estimated: {
              nanoUsd: nanoUsdOf(estimatedUsd),
              tokens: estimatedTokens,
              mostNanoUsd: nanoUsdOf(mostUsd) - nanoUsd + nanoUsdOf(estimatedUsd),
              mostTokens: mostTokens - totalTokens(report.usage) + estimatedTokens,
            },
          }),
    },
    unpricedCalls: cost.unpricedCalls ?? 0,
    toolCalls: report.toolCallsSucceeded + report.toolCallsFailed,
    events: report.events,
    activeMs: report.activeMs,
    guard: report.guard ?? { toolRuns: {}, fileEdits: {} },
  };
}

function oneLine(text: string): string {
  return shortened(text.replace(/\s+/g, ' ').trim(), failureMessageChars);
}

/** Reads the outcome of a subagent. */
export function endOfSubagent(outcome: RunOutcome): SubagentEnd {
  const { report, status } = outcome;
  const unsettled = unsettledOf(report);
  return {
    type: 'ended',
    status,
    ...(outcome.status === 'failed' ? { reason: outcome.reason } : {}),
    message: oneLine(messageOf(outcome)),
    worked: report.worked.slice(-outcomeLines),
    ...defined({ unsettled: unsettled.length === 0 ? undefined : unsettled }),
    ...(report.head === undefined ? {} : { head: report.head }),
    consumed: consumptionOf(report),
  };
}

function messageOf(outcome: RunOutcome): string {
  switch (outcome.status) {
    case 'completed':
      return shortened(outcome.answer, previewChars);
    case 'failed':
      return outcome.message;
    case 'stopped':
    case 'cancelled':
      return outcome.reason;
  }
}

/** What the model may do about each reason. */
const hints: Readonly<Record<string, string>> = {
  guard_budget: 'Too little was left to spend. Give it a smaller task, or do the work yourself.',
  guard_tenant_cap: 'Nothing more may be spent today, nor by you. Say what was done.',
  guard_events: 'Give it a smaller task.',
  guard_tool_calls: 'Give it a smaller task.',
  guard_active_time: 'Give it a smaller task.',
  max_iterations: 'Give it a smaller task.',
  refusal: 'Phrase the task differently, or do the work yourself.',
  content_filter: 'Phrase the task differently, or do the work yourself.',
  stopped: 'A person stopped it. Do not start it again for the same task.',
  cancelled: 'A person cancelled it. Do not start it again for the same task.',
};

/** What the model reads instead where the subagent left calls unsettled: started again, it could repeat them. */
const unsettledHint = 'Find out what took effect before you start it again.';

/** Characters of what worked, or is unsettled, that the model reads. */
const workedChars = 160;

/** The error of a subagent that gave no answer. */
export function subagentError(
  toolName: string,
  end: Exclude<SubagentEnd, { status: 'completed' }>,
): AgentError {
  const why = end.type === 'ended' ? (end.reason ?? end.status) : end.type;
  const worked = end.type === 'ended' ? shortened(oneLine(end.worked.join('; ')), workedChars) : '';
  const open = end.type === 'ended' ? (end.unsettled ?? []) : [];
  const notSettled =
    open.length === 0
      ? ''
      : ` ${open.length} not settled: ${shortened(oneLine(open.join('; ')), workedChars)}.`;
  const done = (worked === '' ? '' : ` What it had done: ${worked}.`) + notSettled;
  const room = failureMessageChars - done.length;
  const said = shortened(`The subagent gave no answer (${why}): ${end.message}`, room);
  const usual =
    hints[why] ?? 'The same task may fail again. Find another way, or do the work yourself.';
  const hint = open.length === 0 ? usual : unsettledHint;
  return agentError('subagent_failed', said + done, { hint, toolName });
}
