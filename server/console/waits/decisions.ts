/** Decides what waits, and says truly how it was decided: by this person, or by somebody else meanwhile. */
import type { ConsoleWorld } from '../api/console-context';
import type { PendingItem, Problem, Run, RunSummary } from '../api/gateway';
import { dataOf, problemOf } from '../api/gateway';

/** One thing that waits, and its run. */
export interface Wait {
  readonly run: Pick<RunSummary, 'runId' | 'agent' | 'startedAtMs' | 'tenant'>;
  readonly item: PendingItem;
}

/** What a person wants. */
export type Decision =
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly input: Readonly<Record<string, unknown>> }
  | { readonly type: 'reject'; readonly reason: string }
  | { readonly type: 'answer'; readonly answer: string };

/** How it went. */
export type Result =
  /** It no longer waits; `text` says why. */
  | { readonly type: 'settled'; readonly text: string }
  /** It waits still, and the decision does not count. */
  | { readonly type: 'refused'; readonly problem: Problem };

/** Identifies what waits in a run. */
export function itemId(item: PendingItem): string {
  return item.type === 'approval' ? item.approvalId : item.questionId;
}

function send(
  { api, session }: ConsoleWorld,
  runId: string,
  item: PendingItem,
  decision: Decision,
): Promise<unknown> {
  const by = session.by === '' ? {} : { by: session.by };
  if (item.type === 'question') {
    const params = { path: { runId, questionId: item.questionId } };
    const answer = decision.type === 'answer' ? decision.answer : '';
    return dataOf(
      api.POST('/v1/runs/{runId}/questions/{questionId}/answer', {
        params,
        body: { answer, ...by },
      }),
    );
  }
  // The digest that the person saw: whatever waits now under the same id, nothing else is decided.
  const { approvalId, digest } = item;
  const params = { path: { runId, approvalId } };
  switch (decision.type) {
    case 'edit':
      return dataOf(
        api.POST('/v1/runs/{runId}/approvals/{approvalId}/edit', {
          params,
          body: { digest, input: decision.input, ...by },
        }),
      );
    case 'reject':
      return dataOf(
        api.POST('/v1/runs/{runId}/approvals/{approvalId}/reject', {
          params,
          body: { digest, reason: decision.reason, ...by },
        }),
      );
    case 'approve':
    case 'answer':
      return dataOf(
        api.POST('/v1/runs/{runId}/approvals/{approvalId}/approve', {
          params,
          body: { digest, ...by },
        }),
      );
  }
}

function loadRun({ api }: ConsoleWorld, runId: string): Promise<Run> {
  return dataOf(api.GET('/v1/runs/{runId}', { params: { path: { runId } } }));
}

/** How what waited was settled, as the run has it; undefined while it waits. Errors: `Problem`. */
export async function settledText(
  world: ConsoleWorld,
  runId: string,
  item: PendingItem,
): Promise<string | undefined> {
  const run = await loadRun(world, runId);
  const isSame = (other: PendingItem): boolean =>
    itemId(other) === itemId(item) &&
    (item.type === 'question' || (other.type === 'approval' && other.digest === item.digest));
  if (run.pending.some(isSame)) return undefined;
  const made = run.decisions?.findLast(({ id }) => id === itemId(item));
  if (made !== undefined) return `It was ${made.what}.`;
  return run.closedAtMs === undefined
    ? 'It no longer waits: the run went on.'
    : `It no longer waits: the run is ${run.status}.`;
}

/** Sends the decision. Contract: never rejects. */
export async function decide(
  world: ConsoleWorld,
  runId: string,
  item: PendingItem,
  decision: Decision,
): Promise<Result> {
  let problem: Problem | undefined;
  try {
    await send(world, runId, item, decision);
  } catch (thrown) {
    problem = problemOf(thrown);
    if (problem.status === 401) world.signOut(problem.message);
  }
  if (problem !== undefined && problem.status !== 409 && problem.status !== 404)
    return { type: 'refused', problem };
  const text = await settledText(world, runId, item).catch(() => undefined);
  if (problem === undefined) return { type: 'settled', text: text ?? 'Sent.' };
  if (text === undefined) return { type: 'refused', problem };
  return { type: 'settled', text: `Your decision was not needed. ${text}` };
}
