/** Compares what a drawn fault did, by what was on the wire and at the service, with what is right. */
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import type { Usage } from '../../../workflows/core/budget/spend';
import type { RunOutcome } from '../../../workflows/core/run/outcome';
import { scorecardKey } from '../provider/judge-fault';
import { goodAnswer } from '../provider/provider-fault';
import type { AddedCost, JudgedRow } from '../section';
import { rightOfCall } from './call-faults';
import type { DrawnFault, RightOfFault } from './drawn-fault';
import type { StagedDrawn } from './stage-drawn';
import { isOutcomeUnknown, rightOfTool } from './tool-faults';

/** What was seen of it when nothing of the section runs any more. */
export interface SeenDrawn {
  /** Absent: it did not end in time. */
  readonly outcome: RunOutcome | undefined;
  readonly callsAtEnd: number;
  /** All requests of its run, in their order. */
  readonly requests: readonly RecordedRequest[];
}

/** Requests that an overflow may add: the refused one, parts of summaries, and what is sent again. */
const mostForOverflow = 10;

/** What is right, by kind, place, and what the run was given (R-SCORE-1). */
export function rightOf(drawn: DrawnFault): RightOfFault {
  const { strike } = drawn;
  switch (strike.type) {
    case 'call':
      return rightOfCall(strike, drawn);
    case 'tool':
      return rightOfTool(strike);
    case 'overflow':
      return { type: 'recovers', calls: mostForOverflow, atMost: true };
  }
}

/** Requests without the fault: one for each batch, and the answer; of a run that stops, those before the strike. */
function plainCalls({ batches, place, strike }: DrawnFault, right: RightOfFault): number {
  if (right.type === 'recovers') return batches.length + 1;
  return strike.type === 'tool' ? place + 1 : place;
}

function isStruck({ fault: { strike } }: StagedDrawn, { answer }: RecordedRequest): boolean {
  if (strike.type === 'overflow') return answer.type === 'refused';
  return answer.type === 'step' && answer.step.type === 'fault';
}

function tokensOf({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens;
}

/** Mistakes of the model are whole replies: the struck requests are then those at the place itself. */
function struckOf(staged: StagedDrawn, requests: readonly RecordedRequest[], extra: number) {
  const struck = requests.filter((request) => isStruck(staged, request));
  const { strike, place } = staged.fault;
  return struck.length > 0 || strike.type === 'tool'
    ? struck
    : requests.slice(place, place + Math.min(extra, 1));
}

function addedCost(staged: StagedDrawn, { requests }: SeenDrawn, extra: number): AddedCost {
  const struck = struckOf(staged, requests, extra);
  const [first, last] = [struck[0], struck.at(-1)];
  const next = requests.find(({ index }) => last !== undefined && index > last.index);
  const tokens = struck.map(({ progress: { usage } }) =>
    usage === undefined ? 0 : tokensOf(usage),
  );
  return {
    calls: extra,
    tokens: tokens.reduce((sum, each) => sum + each, 0),
    seconds: first === undefined || next === undefined ? 0 : (next.atMs - first.atMs) / 1_000,
  };
}

function endProblem(right: RightOfFault, outcome: RunOutcome | undefined): string | undefined {
  if (outcome === undefined) return 'did not end';
  if (JSON.stringify(outcome).includes(scorecardKey)) return 'the end holds the key';
  if (right.type === 'recovers')
    return outcome.status === 'completed' && outcome.answer === goodAnswer
      ? undefined
      : `ended as ${outcome.status}: ${'message' in outcome ? outcome.message.slice(0, 300) : ''}`;
  if (outcome.status !== 'failed') return `ended as ${outcome.status}`;
  return right.says?.test(outcome.message) === true
    ? undefined
    : `the message does not say ${String(right.says)}: ${outcome.message.slice(0, 300)}`;
}

/** Each item was applied once, except those that a stopped run did not come to. */
function effectProblems({ fault, ledger }: StagedDrawn, right: RightOfFault): readonly string[] {
  const items = fault.batches.reduce((sum, size) => sum + size, 0);
  const doubled = [...ledger].filter(([, keys]) => keys.size > 1 && fault.effect !== 'read');
  const missing = right.type === 'recovers' ? items - ledger.size : 0;
  return [
    ...doubled.map(([item, keys]) => `item ${item} was booked ${keys.size} times`),
    ...(missing === 0 ? [] : [`${missing} of ${items} items were not booked`]),
  ];
}

/** The model's last request holds one result for each item; compaction may have taken some out. */
function wireProblems(staged: StagedDrawn, { requests }: SeenDrawn): readonly string[] {
  const { strike, place, batches } = staged.fault;
  const refusals = requests.flatMap(({ answer }) =>
    answer.type === 'refused' && strike.type !== 'overflow'
      ? [`a request was refused: ${answer.error.message ?? answer.error.status}`]
      : [],
  );
  const last = requests.at(-1);
  if (last === undefined || strike.type === 'overflow' || rightOf(staged.fault).type === 'stops')
    return refusals;
  const unknown = strike.type === 'tool' && isOutcomeUnknown(strike) ? [place] : [];
  let item = 0;
  const counts = batches.flatMap((size, batch) =>
    Array.from({ length: size }, () => {
      item += 1;
      const head = `booked item ${item}.`;
      const results = last.toolResults.filter(({ content }) => content.includes(head)).length;
      return results === 1 || (unknown.includes(batch) && results === 0)
        ? []
        : [`the model has ${results} results for item ${item}`];
    }).flat(),
  );
  return [...refusals, ...counts];
}

function callProblems(
  right: RightOfFault,
  extra: number,
  { requests, callsAtEnd }: SeenDrawn,
): readonly string[] {
  const isRight =
    right.atMost === true ? extra >= 1 && extra <= right.calls : extra === right.calls;
  const late = requests.length - callsAtEnd;
  return [
    ...(isRight ? [] : [`${extra} added calls instead of ${right.calls}`]),
    ...(late === 0 ? [] : [`${late} calls after the end`]),
  ];
}

function landingProblem(staged: StagedDrawn, { requests }: SeenDrawn): readonly string[] {
  const { strike } = staged.fault;
  if (strike.type === 'tool') return [];
  const missed = requests.filter(
    (request) => isStruck(staged, request) && !request.progress.landed,
  );
  const struck = struckOf(staged, requests, 1);
  return missed.length > 0 || struck.length === 0 ? ['the fault did not land'] : [];
}

/** Judges it. Contract: pure; every way in which it is wrong is named. */
export function judgeDrawn(staged: StagedDrawn, seen: SeenDrawn): JudgedRow {
  const { fault } = staged;
  const right = rightOf(fault);
  const extra = seen.requests.length - plainCalls(fault, right);
  const end = endProblem(right, seen.outcome);
  const problems = [
    ...(end === undefined ? [] : [end]),
    ...effectProblems(staged, right),
    ...wireProblems(staged, seen),
    ...callProblems(right, extra, seen),
    ...landingProblem(staged, seen),
  ];
  const expected = `${right.type}, ${right.atMost === true ? 'at most ' : ''}${right.calls} added calls`;
  const added = right.type === 'recovers' ? { added: addedCost(staged, seen, extra) } : {};
  return {
    id: fault.id,
    expected,
    fault: { right: right.type, ...added },
    ...(problems.length === 0
      ? {}
      : { wrong: { id: fault.id, expected, got: problems.join('; ') } }),
  };
}
