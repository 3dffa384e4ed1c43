/** The activity `recordObservations`: what the end of a run leaves for learning. */
import type { RecordObservationsInput } from '../workflows/core/learning/ports';
import type { ActivityDeps } from './definitions/activity-deps';
import { loadDefinition, storeOf } from './definitions/activity-deps';
import { recordErrors } from './learning/record-errors';

/** Records the errors that were still open at a run's end. Errors: as `recordErrors`. */
export async function recordObservations(
  deps: ActivityDeps,
  { storeId, definition, head, observations }: RecordObservationsInput,
): Promise<void> {
  const store = storeOf(deps, storeId);
  const { config } = await loadDefinition(deps, definition);
  await recordErrors(store, config, await store.loadTranscript(head), observations);
}
