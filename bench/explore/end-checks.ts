/** What must hold of a run that has ended: nothing is lost, nothing is counted twice, nothing is said that is not true. */
import { isDeepStrictEqual } from 'node:util';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { RunState } from '../../workflows/core/run/state';
import type { PendingResult } from '../../workflows/core/tools/ports';
import type { KnownCall, World } from './world';
import { openCalls, report } from './world';

/** A run that ended, as its outcome and its transcript show it. */
interface Ending {
  readonly outcome: RunOutcome;
  /** The phase before. */
  readonly from: string;
  /** Every result that the transcript or the next request has, by call. */
  readonly results: ReadonlyMap<string, readonly PendingResult[]>;
  /** Everything that people read in the report. */
  readonly lines: string;
}

/** Checks the end of a run. */
export function checkEnd(world: World, before: RunState | undefined): void {
  const { state } = world;
  if (state.phase.type !== 'ended') return;
  const { outcome } = state.phase;
  const { report: told } = outcome;
  const ending: Ending = {
    outcome,
    from: before?.phase.type ?? 'start',
    results: resultsOf(world),
    lines: [...told.worked, ...told.didNotWork, JSON.stringify(told.subagents ?? [])].join('\n'),
  };
  const because = `${outcome.status} from ${ending.from}`;
  if (told.toolCallsSucceeded !== world.succeeded)
    report(world, 'counts other successes', `${told.toolCallsSucceeded}, not ${world.succeeded}`);
  const { escalation } = state;
  if (escalation !== undefined && !(told.unread ?? []).some((line) => line.includes(escalation)))
    report(world, 'forgets who wants to take over', because);
  if ([...world.notifications.values()].some((isCancelled) => !isCancelled))
    report(world, 'leaves a notification behind', because);
  for (const [id, call] of world.calls) checkCall(world, ending, id, call);
  checkPending(world, because);
  checkWords(world, outcome, because);
  checkStory(world, outcome);
}

function resultsOf({ state, store }: World): ReadonlyMap<string, readonly PendingResult[]> {
  const { pendingResults, runtimeResults = [] } = state.next;
  const all = [
    ...store
      .entries(state.head)
      .flatMap((entry) => (entry.type === 'results' ? entry.results : [])),
    ...pendingResults,
    ...runtimeResults.map(({ pending }) => pending),
  ];
  const byCall = new Map<string, readonly PendingResult[]>();
  for (const result of all)
    byCall.set(result.toolCallId, [...(byCall.get(result.toolCallId) ?? []), result]);
  return byCall;
}

function checkCall(world: World, ending: Ending, id: string, call: KnownCall): void {
  const { outcome, from, results } = ending;
  const found = results.get(id) ?? [];
  const where = `${call.isOwn === true ? 'own call' : 'call'} ${call.last ?? 'in flight'}; ${outcome.status} from ${from}`;
  if (found.length > 1) report(world, 'has a result twice', where);
  if (call.runs === 0) return;
  for (const problem of problemsOfCall(ending, id, call, found)) report(world, problem, where);
}

/** What is wrong with the results of a call that started. */
function problemsOfCall(
  { outcome, lines }: Ending,
  id: string,
  { label, last, result: given, isDelegated }: KnownCall,
  found: readonly PendingResult[],
): readonly string[] {
  const isReported = isDelegated === true || lines.includes(label) || lines.includes(id);
  const texts = found.map(({ text = '' }) => text);
  const isUnknown = last === 'unknown' && outcome.status !== 'completed';
  const saysUnknown =
    /not known/.test(lines) ||
    found.some(({ text = '', result }) => result !== undefined || /interrupted|unknown/.test(text));
  const checks: readonly (readonly [boolean, string])[] = [
    [found.length === 0 && !isReported, 'loses a call'],
    [found.length === 0 && last === 'subagent-ok', "loses a subagent's answer"],
    [given !== undefined && !found.some(({ result }) => result === given), 'loses a result'],
    [texts.some((text) => /was not run|not started/.test(text)), 'says that what ran was not run'],
    [isUnknown && !saysUnknown, 'hides that an outcome is unknown'],
  ];
  return checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []));
}

function checkPending(world: World, because: string): void {
  const { state, store, calls } = world;
  const open = openCalls(store.entries(state.head));
  const pending = state.next.pendingResults.map(({ toolCallId }) => toolCallId);
  const odd = pending.filter((id) => !open.includes(id));
  if (odd.length > 0)
    report(
      world,
      'keeps a result of no open call',
      odd.map((id) => calls.get(id)?.label ?? id).join(', '),
    );
  const inOrder = open.filter((id) => pending.includes(id));
  if (
    !isDeepStrictEqual(
      inOrder,
      pending.filter((id) => open.includes(id)),
    )
  )
    report(world, 'keeps results out of order', because);
}

/** What people said is in the transcript, was read, or is reported as unread. */
function checkWords(world: World, outcome: RunOutcome, because: string): void {
  const { state, store, accepted, carried } = world;
  const said = store
    .entries(state.head)
    .flatMap((entry) => (entry.type === 'said' ? [entry.text] : []));
  const { unread = [] } = outcome.report;
  for (const text of accepted) {
    const isKept = said.includes(text) || carried.includes(text);
    if (!isKept && !unread.includes(text)) report(world, "loses a person's words", because);
  }
}

function checkStory(world: World, outcome: RunOutcome): void {
  const { openWaits, oddEnd, started, ended } = world.story;
  if (oddEnd !== undefined) report(world, 'ends a wait that never began', oddEnd);
  for (const [id, times] of ended)
    if (times > 1) report(world, 'tells the end of a call twice', world.calls.get(id)?.label ?? id);
  if (outcome.status !== 'completed') return;
  for (const wait of openWaits) report(world, 'leaves a wait open in the timeline', wait);
  for (const id of started.keys())
    if (!ended.has(id))
      report(world, 'leaves a call open in the timeline', world.calls.get(id)?.label ?? id);
}
