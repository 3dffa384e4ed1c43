/** The facts of a run that are the same in each of its calls: stored once, and named by their hash in each input (ADR 0052). */
import { z } from 'zod';
import type { CallModelInput, SentModelCall } from '../../workflows/core/model-call/ports';
import { wholeModelCall } from '../../workflows/core/model-call/sent-call';
import type { PrepareRunInput, RunFacts } from '../../workflows/core/run/ports';
import { defined } from '../../workflows/core/json';
import type { ContentHash } from '../../workflows/core/message';
import { wholeToolCall } from '../../workflows/core/tools/lineage';
import type { RunToolInput, SentToolCall } from '../../workflows/core/tools/ports';
import { InfraException } from '../lifecycle/infra-exception';
import { canonicalJson } from '../stores/content-hash';
import type { Store } from '../stores/store';
import type { ActivityDeps } from './activity-deps';

const callPlace = z.object({ key: z.string(), iteration: z.number() });

const factsSchema = z.object({
  storeId: z.string(),
  definition: z.string(),
  runKey: z.string(),
  callers: z.array(callPlace).exactOptional(),
  origins: z
    .array(
      z.object({
        runKey: z.string(),
        treeKey: z.string().exactOptional(),
        iteration: z.number(),
        known: z.array(z.string()).exactOptional(),
      }),
    )
    .exactOptional(),
  repeatEffects: z.array(z.string()).exactOptional(),
});

/** Stores the facts of a run that begins; undefined if its key is not known. */
export async function storeRunFacts(
  store: Store,
  { runKey, parent, origins, repeatEffects }: PrepareRunInput,
  definition: ContentHash,
): Promise<ContentHash | undefined> {
  if (runKey === undefined) return undefined;
  const optional = defined({ callers: parent?.callers, origins, repeatEffects });
  const facts: RunFacts = { storeId: store.id, definition, runKey, ...optional };
  return store.putBlob(canonicalJson(facts));
}

/** Runs whose facts are kept in memory per worker. */
const keptRuns = 2_000;

async function loadFacts({ store, runs }: ActivityDeps, hash: ContentHash): Promise<RunFacts> {
  const known = runs.get(hash);
  if (known !== undefined) return known;
  if (!(await store.hasBlob(hash)))
    throw new InfraException({
      code: 'store_mismatch',
      message: `This worker opened store ${store.id} (${store.label}), which does not have the run (blob ${hash}). Start a worker with HOLDFAST_STORE set to the run's store, or give each store its own task queue.`,
    });
  const parsed = factsSchema.safeParse(JSON.parse((await store.getBlob(hash)).toString('utf8')));
  if (!parsed.success)
    throw new InfraException({
      code: 'store_corrupt',
      message: `The blob ${hash} does not hold the facts of a run: ${parsed.error.issues[0]?.message ?? ''}`,
    });
  if (runs.size >= keptRuns) runs.clear();
  runs.set(hash, parsed.data);
  return parsed.data;
}

/**
 * A model call with the facts of its run.
 *
 * Errors: `store_mismatch` if the worker's store does not have the run; those of the store.
 */
export async function loadModelCall(
  deps: ActivityDeps,
  input: CallModelInput | SentModelCall,
): Promise<CallModelInput> {
  return 'storeId' in input ? input : wholeModelCall(input, await loadFacts(deps, input.run));
}

/** A tool call with the facts of its run. Errors: as `loadModelCall`. */
export async function loadToolCall(
  deps: ActivityDeps,
  input: RunToolInput | SentToolCall,
): Promise<RunToolInput> {
  return 'storeId' in input ? input : wholeToolCall(input, await loadFacts(deps, input.run));
}
