/** Keeps what runs learn: checked on the way in and out, bounded per tenant. */
import { sanitizeObservation } from './sanitize-observation';
import type { Observation, Pattern } from './pattern-shape';
import { isObservation, isPattern } from './pattern-shape';
import type { PatternFilter, PatternStore } from './pattern-store';
import { contentHash } from '../content-hash';
import type { PatternRow, PatternRows } from '../sql/pattern-rows';
import type { RecordChange } from '../sql/record-row';
import { recordRow, valueIn } from '../sql/record-row';

/** Observations kept per tenant; the oldest are dropped first (ADR 0027). */
const keptObservations = 2_000;

/** Keeps learning in the rows of one database. */
export class CheckedPatternStore implements PatternStore {
  readonly rows: PatternRows;
  readonly #kept: number;

  constructor(rows: PatternRows, kept: number = keptObservations) {
    this.rows = rows;
    this.#kept = kept;
  }

  async recordObservations(observations: readonly Observation[]): Promise<void> {
    if (observations.length === 0) return;
    const rows = observations.map((given) => {
      const observation = sanitizeObservation(given);
      const { tenant, key, atMs } = observation;
      const keyHash = contentHash(tenant, '\n', key);
      return { keyHash, tenant, atMs: Math.trunc(atMs), ...recordRow(observation) };
    });
    await this.rows.insertObservations(rows, this.#kept);
  }

  async observations(tenant: string): Promise<readonly Observation[]> {
    return (await this.rows.selectObservations(tenant)).flatMap(
      (row) => valueIn(row, isObservation) ?? [],
    );
  }

  tenants(): Promise<readonly string[]> {
    return this.rows.selectTenants();
  }

  async patterns(filter: PatternFilter = {}): Promise<readonly Pattern[]> {
    const { tenant, tool, errorFingerprint } = filter;
    const isCluster = tool !== undefined && errorFingerprint !== undefined;
    const cluster = isCluster ? clusterHash({ tool, errorFingerprint }) : undefined;
    const rows = await this.rows.selectPatterns(tenant, cluster);
    return rows
      .flatMap((row) => valueIn(row, isPattern) ?? [])
      .filter((pattern) => fits(pattern, filter))
      .sort((left, right) => left.createdAtMs - right.createdAtMs);
  }

  async pattern(id: string): Promise<Pattern | undefined> {
    return valueIn(await this.rows.selectPattern(id), isPattern);
  }

  async updatePattern(
    id: string,
    change: (known: Pattern | undefined) => Pattern | undefined,
  ): Promise<Pattern | undefined> {
    const { pattern } = await this.rows.updatePattern(id, (row) => {
      const known = valueIn(row, isPattern);
      const changed = change(known);
      const update: RecordChange<PatternRow> & { pattern: Pattern | undefined } = {
        pattern: changed ?? known,
        row: changed === undefined ? undefined : patternRow(changed),
      };
      return update;
    });
    return pattern;
  }
}

function fits(pattern: Pattern, { tenant, tool, errorFingerprint }: PatternFilter): boolean {
  return (
    (tenant === undefined || pattern.tenant === tenant) &&
    (tool === undefined || pattern.tool === tool) &&
    (errorFingerprint === undefined || pattern.errorFingerprint === errorFingerprint)
  );
}

function clusterHash(of: Pick<Pattern, 'tool' | 'errorFingerprint'>): string {
  return contentHash(of.tool, '\n', of.errorFingerprint);
}

function patternRow(pattern: Pattern): PatternRow {
  const { id, tenant } = pattern;
  return { id, tenant, cluster: clusterHash(pattern), ...recordRow(pattern) };
}
