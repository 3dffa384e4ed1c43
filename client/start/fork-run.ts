/** A new run whose transcript begins with that of another one, which is not changed. */
import { z } from 'zod';
import { check } from '../check-input';
import { defined } from '../../workflows/core/json';
import { ClientError } from '../client-error';
import type { RunAccess } from '../run-access';
import { foldToEnd } from '../history/read-history';
import { statusOf } from '../run-status';
import { readingHistory } from '../temporal-failure';
import type { StoredStart } from './start-run';
import { checkSameStore } from './start-run';
import { transcriptPoint } from '../history/transcript-point';
import type { Origin, PendingResult, RuntimeResult } from '../../workflows/core/tools/ports';

const iterationSchema = z
  .number({ error: 'The iteration must be a number' })
  .int({ error: 'The iteration must be a whole number' })
  .min(0, { error: 'The iteration must not be negative' });

/**
 * What starts a fork of a run after an iteration.
 *
 * Contract: fields that are absent in `options` stay the same; the model gets a new `goal` or a `message`; without either it simply continues.
 * Errors: `invalid-input`.
 */
export async function forkStart(
  access: RunAccess,
  iteration: number,
  options: Partial<StoredStart>,
): Promise<StoredStart> {
  const at = check(iterationSchema, iteration);
  const { head, storeId, request, origins, contextOf, actingAgent } = await transcriptPoint(
    access,
    at,
  );
  if (options.attachments !== undefined) checkSameStore(options.storeId ?? '', storeId);
  const { goal, message = goal ?? '' } = options;
  // The forked run's initial results are in its transcript; its repeatEffects are not inherited.
  const { pendingResults: _read, runtimeResults: _too, repeatEffects: _its, ...earlier } = request;
  const {
    parent: _not,
    context: _stored,
    contextOf: _older,
    actingAgent: _then,
    attachments: _said,
    ...asked
  } = earlier;
  const begin = { goal: goal ?? request.goal, message, head, storeId, origins };
  const acting = options.agent === undefined ? { actingAgent } : {};
  return { ...asked, ...options, ...begin, ...defined({ contextOf, ...acting }) };
}

/** The result of a call that the runtime made itself. */
function own({ pending }: RuntimeResult): PendingResult {
  return pending;
}

/** The origins of a run that also reads these results of the last origin; an error may leave its call's outcome open. */
function withKnown(
  origins: readonly Origin[],
  results: readonly PendingResult[],
): readonly Origin[] {
  const known = results.flatMap(({ toolCallId, isError }) => (isError ? [] : [toolCallId]));
  return origins.map((origin, index) =>
    index === origins.length - 1 && known.length > 0 ? { ...origin, known } : origin,
  );
}

/**
 * Options of a run that continues where a finished one ended: its transcript, its store, and its workspace unless another is
 * given. The goal is what the model reads.
 *
 * Errors: `invalid-input` for a run that has not ended, or never had a transcript.
 */
export async function continuedStart(
  access: RunAccess,
  options: StoredStart,
): Promise<StoredStart> {
  const { continueFrom: _run, ...rest } = options;
  const { status } = await statusOf(access);
  if (status === 'running' || status === 'waiting')
    throw new ClientError(
      'invalid-input',
      `Run "${access.runId}" has not ended (${status}). Fork it (\`holdfast fork ${access.runId} --at N\`), or say it to the run itself (\`holdfast message\`).`,
    );
  const { head, storeId, request, origins, contextOf } = await transcriptPoint(access);
  if (options.attachments !== undefined) checkSameStore(options.storeId ?? '', storeId);
  const { state } = await foldToEnd(access.client, access.runId);
  // Results of a run that ended before a model call could bring them into its transcript.
  const { pendingResults = [], runtimeResults } = state?.next ?? {};
  return {
    ...defined({ workspace: request.workspace, contextOf }),
    ...rest,
    head,
    storeId,
    origins: readingHistory(access.runId, () =>
      withKnown(origins, [...pendingResults, ...(runtimeResults ?? []).map(own)]),
    ),
    ...(pendingResults.length === 0 ? {} : { pendingResults }),
    ...defined({ runtimeResults }),
  };
}
