/** What people decide about a pattern, by command and over the gateway. */
import { judged } from '../../activities/learning/evidence';
import type { Pattern } from '../../activities/stores/patterns/pattern-shape';
import type { Store } from '../../activities/stores/store';

/** `disable`: nothing uses it again until `enable`, by which its evidence decides again. */
export type PatternSwitch = 'disable' | 'enable';

const switched = {
  disable: (pattern: Pattern, nowMs: number): Pattern => ({
    ...pattern,
    status: 'disabled',
    statusAtMs: nowMs,
  }),
  enable: (pattern: Pattern, nowMs: number): Pattern =>
    pattern.status === 'active'
      ? pattern
      : judged({ ...pattern, status: 'candidate', statusAtMs: nowMs, lastUses: [] }, nowMs),
};

/** Switches a pattern at the store's own time. Returns the pattern after it; undefined for one that is not there. */
export async function switchPattern(
  store: Pick<Store, 'patterns' | 'now'>,
  id: string,
  how: PatternSwitch,
): Promise<{ readonly pattern: Pattern | undefined; readonly nowMs: number }> {
  const nowMs = await store.now();
  const change = (known: Pattern | undefined): Pattern | undefined =>
    known && switched[how](known, nowMs);
  return { pattern: await store.patterns.updatePattern(id, change), nowMs };
}
