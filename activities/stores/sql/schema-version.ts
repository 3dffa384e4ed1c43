/** Decides whether a database may be used as it is, must be brought up to date, or is refused. */
import { storeCorrupt, storeMismatch } from '../store-errors';

/**
 * The migrations that a database still lacks; all of them for one that is new (`version` undefined).
 *
 * Errors: `store_mismatch` for a database that a newer Holdfast has migrated, `store_corrupt` for a version that is none.
 */
export function missingMigrations(
  label: string,
  version: string | undefined,
  migrations: readonly string[],
): readonly string[] {
  if (version === undefined) return migrations;
  if (!/^\d{1,6}$/.test(version)) {
    throw storeCorrupt(label, `its schema version reads "${version.slice(0, 40)}"`);
  }
  if (Number(version) > migrations.length) {
    throw storeMismatch(
      label,
      `it has schema version ${version}, and this Holdfast knows versions up to ${migrations.length}`,
      'Upgrade Holdfast on this worker, or open another store.',
    );
  }
  return migrations.slice(Number(version));
}
