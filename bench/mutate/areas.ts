/** What is mutated, and the tests that have to notice. */
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** A part of the product with a score of its own. */
export interface MutationArea {
  readonly name: string;
  /** Files and folders, from the root. */
  readonly sources: readonly string[];
  /** Folders of unit tests, and other tests by file. */
  readonly tests: readonly string[];
  /** Pattern of the names of tests that are not run, which begin with their file: of the built package in other processes, or too slow for what they kill alone. */
  readonly without: string;
  /** Percent of the mutants that tests must kill. */
  readonly bar: number;
}

/** The areas of the project. */
export const mutationAreas: readonly MutationArea[] = [
  {
    name: 'core',
    sources: ['workflows/core'],
    tests: [
      'test/core',
      'test/learning',
      'test/context/compaction-trust.test.ts',
      'test/context/token-factors.test.ts',
      'test/context/plausible-counts.test.ts',
      'test/activities/call-likeness.test.ts',
      'test/activities/plan-recovery.test.ts',
      'test/activities/redact.test.ts',
      'test/activities/secret-rules/secret-rules.test.ts',
      'test/untrusted/shown-arguments.test.ts',
      'test/untrusted/known-secrets.test.ts',
      'test/untrusted/clean-then-join.test.ts',
      'test/client/why.test.ts',
      'test/client/display.test.ts',
    ],
    without: '^test/core/(transition\\.property|shown-text)',
    bar: 85,
  },
  {
    name: 'stores',
    sources: ['activities/stores'],
    tests: [
      'test/store',
      'test/store/sqlite-store.system.test.ts',
      'test/store/encrypted-store.system.test.ts',
      'test/store/postgres-store.system.test.ts',
      'test/activities/shared-health.test.ts',
      'test/activities/store-transactions.test.ts',
      'test/activities/stored-outputs.test.ts',
      'test/activities/tenant-spend.test.ts',
      'test/context/transcripts.test.ts',
    ],
    // The contract on Postgres is that on SQLite; what is Postgres's own is run.
    without: 'over processes|two processes race|shared by processes|: Postgres(?! server)',
    bar: 80,
  },
  {
    name: 'tools',
    sources: ['activities/run-tool.ts', 'activities/tool-call', 'activities/tool-output'],
    tests: [
      'test/activities/action-digest.test.ts',
      'test/activities/attempts.test.ts',
      'test/activities/call-evidence.test.ts',
      'test/activities/continued-results.test.ts',
      'test/activities/earlier-runs.test.ts',
      'test/activities/ended-work.test.ts',
      'test/activities/error-text.test.ts',
      'test/activities/findings.test.ts',
      'test/activities/handed-over.test.ts',
      'test/activities/lost-attempts.test.ts',
      'test/activities/media-output.test.ts',
      'test/activities/media.test.ts',
      'test/activities/named-paths.test.ts',
      'test/activities/output-paths.test.ts',
      'test/activities/output-stream.test.ts',
      'test/activities/output-value.test.ts',
      'test/activities/ownership.test.ts',
      'test/activities/parameter-roles.test.ts',
      'test/activities/reported-failure.test.ts',
      'test/activities/run-tool.test.ts',
      'test/activities/signed-approvals.test.ts',
      'test/activities/store-transactions.test.ts',
      'test/activities/stored-outputs.test.ts',
      'test/activities/tool-execution.test.ts',
      'test/activities/tool-of-run.test.ts',
      'test/activities/tool-output.test.ts',
      'test/activities/whole-findings.test.ts',
      'test/tools/read-output.test.ts',
    ],
    without: '(process|killed|a real response)',
    bar: 80,
  },
];

const unitTest = /^(?!.*\.(?:system|workflow|replay)\.test\.ts$).*\.test\.ts$/;

/** Files with this ending under the given files and folders; those that are given themselves are taken as they are. */
function filesUnder(root: string, places: readonly string[], isWanted: RegExp): string[] {
  return places.flatMap((place) => {
    const full = path.join(root, place);
    if (statSync(full).isFile()) return [place];
    return readdirSync(full, { recursive: true, encoding: 'utf8' })
      .filter((name) => isWanted.test(name))
      .map((name) => path.join(place, name))
      .toSorted();
  });
}

/** The files of an area, from the root. */
export function filesOf(
  root: string,
  { sources, tests }: Pick<MutationArea, 'sources' | 'tests'>,
): { readonly sources: readonly string[]; readonly tests: readonly string[] } {
  return {
    sources: filesUnder(root, sources, /\.ts$/),
    tests: filesUnder(root, tests, unitTest),
  };
}
