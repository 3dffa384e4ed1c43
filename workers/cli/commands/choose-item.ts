/** Finds what a person means when the command names no id. */
import type { PendingItem } from '../../../workflows/core/view/pending';
import { ClientError } from '../../../client/client-error';
import type { RunHandle } from '../../../client/run-handle';

/**
 * The id that was given, else that of the only item of this kind that waits.
 *
 * Errors: `refused` if nothing of the kind waits, or more than one.
 */
export async function chooseItem(
  run: RunHandle,
  type: PendingItem['type'],
  given: string | undefined,
): Promise<string> {
  if (given !== undefined) return given;
  const ids = (await run.pending()).flatMap((item) => {
    if (item.type !== type) return [];
    return [item.type === 'approval' ? item.approvalId : item.questionId];
  });
  const [only] = ids;
  if (only !== undefined && ids.length === 1) return only;
  throw new ClientError(
    'refused',
    ids.length === 0
      ? `No ${type} waits in run "${run.runId}". See what it does: holdfast show ${run.runId}.`
      : `${ids.length} of them wait in run "${run.runId}"; name one: ${ids.join(', ')}.`,
  );
}
