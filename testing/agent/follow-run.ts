/** Follows one run to its end: skips time, does what people do by script, and ends a run that leaves its script. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { AgentClient } from '../../client/agent-client';
import type { RunHandle } from '../../client/run-handle';
import { defined } from '../../workflows/core/json';
import type { PendingItem } from '../../workflows/core/view/pending';
import { shownValue } from '../emulator/check-script';
import type { PersonStep } from './person';
import type { TestScript } from './test-script';
import { longStepMs, shortStepMs, VirtualTime } from './virtual-time';

/** Real milliseconds between two looks at a run. */
const lookMs = 25;

/** Where a run is followed. */
export interface RunPlace {
  readonly server: TestWorkflowEnvironment;
  readonly client: AgentClient;
  readonly script: TestScript;
  /** A request that has no step, in words. */
  readonly unplanned: () => string | undefined;
  /** Ends a run that does not end when it is told to. */
  readonly terminate: (runId: string, why: string) => Promise<unknown>;
  /** Whether agents call others as tools, whose runs wait for people too. */
  readonly hasSubagents: boolean;
}

function describeItem(item: PendingItem): string {
  return item.type === 'question'
    ? `an answer to ${JSON.stringify(item.question)}`
    : `an approval of ${item.tool} ${shownValue(item.input ?? item.shown.fields)}`;
}

/** What waits that an act is for: an approval, of the tool that it names, or a question. */
function itemFor(act: PersonStep['act'], items: readonly PendingItem[]): PendingItem | undefined {
  return items.find((item) => {
    if (act.does === 'wait') return true;
    if (act.does === 'answer' || act.does === 'say') return item.type === 'question';
    return item.type === 'approval' && (act.tool ?? item.tool) === item.tool;
  });
}

async function perform(
  { server }: RunPlace,
  run: RunHandle,
  act: PersonStep['act'],
  item: PendingItem,
): Promise<void> {
  const by = { by: 'testAgent' };
  if (act.does === 'wait') await server.sleep(act.ms);
  else if (item.type === 'question')
    await run.answer(item.questionId, act.does === 'answer' ? act.text : '', by);
  else if (act.does === 'reject') await run.reject(item.approvalId, act.reason, by);
  else if (act.does === 'approve')
    await run.approve(item.approvalId, { ...defined({ input: act.input }), ...by });
}

/** Lets a person act. Returns what is wrong, if the script has nobody who acts so. */
async function decide(
  place: RunPlace,
  run: RunHandle,
  items: readonly PendingItem[],
): Promise<string | undefined> {
  const { script } = place;
  const waits = `Run "${run.runId}" waits for ${items.map(describeItem).join(' and ')}, but ${script.expected}`;
  const { due } = script;
  const remedy = items.some(({ type }) => type === 'question')
    ? "person.answer('…')"
    : "person.approve() or person.reject('…')";
  if (due?.type !== 'person') return `${waits}. Add ${remedy} to the script at this place.`;
  const item = itemFor(due.act, items);
  if (item === undefined) return `${waits}. Give ${remedy} at this place.`;
  const act = script.takeAct();
  if (act !== undefined) await perform(place, run, act, item);
  return undefined;
}

/** The run and, where there can be any, the runs that it has called. */
async function runsIn(place: RunPlace, run: RunHandle): Promise<readonly RunHandle[]> {
  if (!place.hasSubagents) return [run];
  const called: RunHandle[] = [];
  for await (const entry of run.events()) {
    if (entry.type === 'SubagentStartedEvent') called.push(place.client.run(entry.runId));
    if (entry.type === 'SubagentEndedEvent')
      called.splice(0, called.length, ...called.filter(({ runId }) => runId !== entry.runId));
  }
  const below = await Promise.all(called.map((each) => runsIn(place, each)));
  return [run, ...below.flat()];
}

/** One look at a run: lets time pass or a person act. Returns what is wrong. */
async function look(
  place: RunPlace,
  run: RunHandle,
  time: VirtualTime,
): Promise<string | undefined> {
  let waiting = 0;
  const runs = await runsIn(place, run);
  for (const each of runs) {
    const { status } = await each.status();
    if (status !== 'waiting') continue;
    waiting += 1;
    const items = (await each.pending()).filter(
      (item) => item.type === 'question' || item.checkingEdit !== true,
    );
    if (items.length === 0) continue;
    time.pass(0);
    return decide(place, each, items);
  }
  time.pass(waiting === 0 ? shortStepMs : longStepMs);
  return undefined;
}

/** Real milliseconds that a run gets to end by itself, and then when it is told to stop. */
const endMs = { alone: 5_000, stopped: 10_000 } as const;

/**
 * Ends a run that has left its script. A request without a step ends it by its own rules; another one is told to stop, so that its
 * calls end: the server's time stands still for good once it has lost a run with a call in it.
 */
async function endRun(
  place: RunPlace,
  run: RunHandle,
  time: VirtualTime,
  ended: Promise<unknown>,
): Promise<void> {
  const why = 'It has left its script.';
  const over = ended.then(
    () => true,
    () => true,
  );
  const isOverIn = (ms: number): Promise<boolean> =>
    Promise.race([over, delay(ms, false, { ref: false })]);
  time.pass(shortStepMs);
  if (place.unplanned() !== undefined && (await isOverIn(endMs.alone))) return;
  // One that has just ended takes no signal.
  await run.stop(why).catch(() => undefined);
  if (await isOverIn(endMs.stopped)) return;
  await place.terminate(run.runId, why).catch(() => undefined);
  await over;
}

/** Follows the run to its end, or ends it. Returns why, if it has left its script; nothing is asked of the server any more. */
export async function followRun(place: RunPlace, run: RunHandle): Promise<string | undefined> {
  const time = new VirtualTime(place.server);
  let hasEnded = false;
  const ended = run.outcome().finally(() => {
    hasEnded = true;
  });
  const isEnded = (): boolean => hasEnded;
  try {
    for (;;) {
      await Promise.race([ended, delay(lookMs)]);
      if (isEnded()) return undefined;
      const problem = place.unplanned() ?? (await lookUnlessEnded(place, run, time, isEnded));
      if (problem !== undefined) return problem;
    }
  } finally {
    if (!isEnded()) await endRun(place, run, time, ended);
    await time.end();
  }
}

/** A run that ends during a look refuses what the look wanted. */
async function lookUnlessEnded(
  place: RunPlace,
  run: RunHandle,
  time: VirtualTime,
  isEnded: () => boolean,
): Promise<string | undefined> {
  try {
    return await look(place, run, time);
  } catch (thrown) {
    await delay(lookMs);
    if (isEnded()) return undefined;
    throw thrown;
  }
}
