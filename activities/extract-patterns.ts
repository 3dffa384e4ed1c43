/** Extracts patterns from observations: groups errors by tenant, tool, and kind, and counts for each fix how often it worked. */
import type { ExtractionReport } from '../workflows/core/learning/ports';
import { canonicalJson, contentHash } from './stores/content-hash';
import { judged, lowerBound, noEvidence, rehabilitated, weightAt } from './learning/evidence';
import type { Evidence, Fix, Observation, Pattern } from './stores/patterns/pattern-shape';
import type { PatternStore } from './stores/patterns/pattern-store';

/** Patterns kept per tenant; new ones beyond it are not added (ADR 0027). */
const keptPatterns = 500;

/** Successes since its demotion that give a demoted pattern another chance (ADR 0027). */
const rehabilitatingSuccesses = 3;

/** Errors that no fix may be learned for: denied calls and unknown outcomes. */
const unlearnable: ReadonlySet<string> = new Set(['tool_denied', 'outcome_unknown']);

/** A person's answer is what helped, regardless of the call that followed it. */
function fixOf({ fix, fixedBy, tool }: Observation): Fix | undefined {
  return fixedBy === 'person' ? { strategy: 'escalate', toolName: tool, changes: [] } : fix;
}

/** Identity of a pattern. */
function patternId(of: Pick<Pattern, 'tenant' | 'tool' | 'errorFingerprint' | 'fix'>): string {
  const { tenant, tool, errorFingerprint, fix } = of;
  return contentHash(canonicalJson([tenant, tool, errorFingerprint, fix])).slice(0, 16);
}

/** The observations of one fix of one kind of error. */
interface FixEvidence {
  readonly fix: Fix;
  readonly observations: readonly Observation[];
}

/**
 * The fixes in the observations of one tenant.
 *
 * Contract: pure; equal observations in any order give equal evidence. Uses of patterns are not counted here.
 */
function gatherFixes(observations: readonly Observation[]): ReadonlyMap<string, FixEvidence> {
  const byId = new Map<string, { fix: Fix; observations: Observation[] }>();
  for (const observation of observations) {
    const fix = fixOf(observation);
    if (fix === undefined || observation.patternId !== undefined) continue;
    if (unlearnable.has(observation.errorCode)) continue;
    const id = patternId({ ...observation, fix });
    const known = byId.get(id);
    if (known === undefined) byId.set(id, { fix, observations: [observation] });
    else known.observations.push(observation);
  }
  return byId;
}

function evidenceOf({ observations }: FixEvidence, nowMs: number): Evidence {
  const evidence = { ...noEvidence(nowMs) };
  for (const { fixedBy, atMs } of observations)
    evidence[fixedBy === 'none' ? 'failures' : 'successes'] += weightAt(nowMs - atMs);
  return evidence;
}

/** A pattern with its current evidence; a demoted one gets another chance if runs without it keep proving it. */
function renewed(known: Pattern, found: FixEvidence, nowMs: number): Pattern {
  const pattern = judged({ ...known, observed: evidenceOf(found, nowMs) }, nowMs);
  const since = found.observations.filter(
    ({ atMs, fixedBy }) => atMs > pattern.statusAtMs && fixedBy !== 'none',
  ).length;
  return pattern.status === 'demoted' && since >= rehabilitatingSuccesses
    ? rehabilitated(pattern, nowMs)
    : pattern;
}

function newPattern(id: string, found: FixEvidence, nowMs: number): Pattern | undefined {
  const [first] = found.observations;
  const observed = evidenceOf(found, nowMs);
  if (first === undefined || observed.successes === 0) return undefined;
  const { tenant, tool, errorCode, errorFingerprint, errorText } = first;
  const pattern: Pattern = {
    id,
    tenant,
    tool,
    errorCode,
    errorFingerprint,
    errorText,
    fix: found.fix,
    observed,
    used: noEvidence(nowMs),
    lastUses: [],
    status: 'candidate',
    statusAtMs: nowMs,
    createdAtMs: nowMs,
  };
  return judged(pattern, nowMs);
}

/** A pattern with what its tenant's observations say now; undefined if nothing is to be kept. */
function updated(
  id: string,
  known: Pattern | undefined,
  found: FixEvidence | undefined,
  nowMs: number,
): Pattern | undefined {
  if (found === undefined) return known && judged(known, nowMs);
  return known === undefined ? newPattern(id, found, nowMs) : renewed(known, found, nowMs);
}

async function extractForTenant(
  store: PatternStore,
  tenant: string,
  nowMs: number,
): Promise<{ observations: number; patterns: readonly Pattern[] }> {
  const observations = await store.observations(tenant);
  const fixes = gatherFixes(observations);
  const known = new Set((await store.patterns(tenant)).map(({ id }) => id));
  const boundOf = (found: FixEvidence): number => lowerBound(evidenceOf(found, nowMs));
  const bestFirst = [...fixes]
    .filter(([id]) => !known.has(id))
    .sort(([, left], [, right]) => boundOf(right) - boundOf(left))
    .slice(0, Math.max(keptPatterns - known.size, 0));
  const patterns: Pattern[] = [];
  for (const id of [...known, ...bestFirst.map(([id]) => id)]) {
    const change = (pattern: Pattern | undefined) => updated(id, pattern, fixes.get(id), nowMs);
    const kept = await store.updatePattern(id, change);
    if (kept !== undefined) patterns.push(kept);
  }
  return { observations: observations.length, patterns };
}

/**
 * Updates every tenant's patterns from its observations.
 *
 * Contract: deterministic and idempotent: the same observations at the same moment give the same patterns.
 * Errors: `store_unavailable`.
 */
export async function extractPatterns(
  store: PatternStore,
  nowMs: number,
): Promise<ExtractionReport> {
  const tenants = await store.tenants();
  let observations = 0;
  let patterns = 0;
  let active = 0;
  for (const tenant of tenants) {
    const extracted = await extractForTenant(store, tenant, nowMs);
    observations += extracted.observations;
    patterns += extracted.patterns.length;
    active += extracted.patterns.filter(({ status }) => status === 'active').length;
  }
  return { tenants: tenants.length, observations, patterns, active };
}
