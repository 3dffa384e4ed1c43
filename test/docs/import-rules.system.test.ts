/** The import rules refuse what they say, and the pictures of the rooms show the imports as they are. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ImportReport } from '../../scripts/draw-rooms';
import { withPictures } from '../../scripts/draw-rooms';
import { productRooms } from '../../scripts/product-rooms';

const root = path.resolve(__dirname, '..', '..');
const program = path.join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

interface CruiseReport extends ImportReport {
  readonly summary: {
    readonly violations: readonly {
      readonly from: string;
      readonly rule: { readonly name: string };
    }[];
  };
}

function cruise(cwd: string, folders: readonly string[]): CruiseReport {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      program,
      ...['--config', path.join(root, '.dependency-cruiser.cjs'), '--output-type', 'json'],
      ...folders,
    ],
    { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as CruiseReport;
}

/** A file, what it imports, and the rules that refuse it. */
const planted: readonly (readonly [file: string, imported: string, rules: readonly string[]])[] = [
  ['workflows/core/errors/high.ts', '../run/loop', ['order-errors']],
  ['workflows/core/errors/entry.ts', '../activities', ['order-errors']],
  ['workflows/core/run/reader.ts', '../errors/fine', []],
  ['workflows/core/shared.ts', './guard/caps', ['contracts-first']],
  ['workflows/core/guard/state.ts', '../tools/admission', ['contracts-first']],
  ['workflows/core/errors/slices.ts', '../run/state', []],
  ['workflows/core/run/circle-a.ts', './circle-b', ['no-circles']],
  // A circle is reported once.
  ['workflows/core/run/circle-b.ts', './circle-a', []],
  [
    'workflows/core/notifications/feature.ts',
    '../learning/observe',
    ['removable-learning-in-the-core'],
  ],
  ['workflows/core/errors/package.ts', 'zod', ['core-imports-core']],
  ['workflows/core/errors/node.ts', 'node:path', ['core-imports-core']],
  ['workflows/shell.ts', '../activities/plain', ['workflows-import-workflows']],
  ['workflows/shell-package.ts', '@temporalio/client', ['workflow-packages']],
  ['workflows/shell-fine.ts', '@temporalio/workflow', []],
  ['activities/outward.ts', '../workflows/contract', ['activities-import-core']],
  ['activities/prompt.ts', './tools/mcp/mcp', ['removable-mcp']],
  ['activities/hosted.ts', '@temporalio/worker', ['temporal-packages']],
  ['activities/stores/vendor.ts', 'openai', ['vendor-openai']],
  ['activities/stores/other-vendor.ts', '@anthropic-ai/sdk', ['vendor-anthropic']],
  ['client/inner.ts', '../workflows/agent-run', ['client-imports-contract']],
  ['client/reader.ts', '../workflows/contract', []],
  ['server/inner.ts', '../workflows/contract', ['server-imports-client']],
  ['server/store.ts', '../activities/plain', ['server-imports-client']],
  ['server/reader.ts', '../client/reader', []],
  ['server/console/page.ts', '../../client/reader', ['console-imports']],
  ['server/console/code.ts', '../../test/some', ['console-imports']],
  ['server/console/fine.ts', '../../workflows/core/errors/fine', []],
  ['server/serves.ts', './console/page', ['console-is-bundled']],
  ['client/served.ts', '../server/reader', ['removable-server']],
  ['activities/web.ts', 'fastify', ['removable-server']],
  ['workers/cli/serve.ts', '../../server/reader', []],
  ['workers/reach.ts', '../client/reader', ['workers-never-import-client']],
  ['workers/cli/compose.ts', '../../client/reader', []],
  ['telemetry/inward.ts', '../client/reader', ['telemetry-imports']],
  ['telemetry/workflow/sdk.ts', '@opentelemetry/api', ['telemetry-in-workflows']],
  ['telemetry/workflow/fine.ts', '../../workflows/contract', []],
  ['workers/observed.ts', '../telemetry/index', ['telemetry-beside-workers']],
  ['workers/spans.ts', '@opentelemetry/api', ['telemetry-beside-workers']],
  ['testing/inward.ts', '../test/some', ['product-only']],
  ['test/some.test.ts', 'fast-check', ['property-cases']],
  ['test/nowhere.test.ts', './nothing', ['resolvable']],
];
const importedOnly = [
  'workflows/core/run/loop.ts',
  'workflows/core/run/state.ts',
  'workflows/core/activities.ts',
  'workflows/core/guard/caps.ts',
  'workflows/core/tools/admission.ts',
  'workflows/core/errors/fine.ts',
  'workflows/core/learning/observe.ts',
  'workflows/contract.ts',
  'workflows/agent-run.ts',
  'activities/plain.ts',
  'activities/tools/mcp/mcp.ts',
  'telemetry/index.ts',
  'test/some.ts',
];

test('each import rule refuses a planted import, as a type too', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-imports-'));
  try {
    const write = (file: string, text: string): void => {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    };
    for (const file of importedOnly) write(file, 'export type Thing = string;\n');
    for (const [file, imported] of planted)
      write(
        file,
        `import type * as imported from '${imported}';\nexport type Thing = imported.Thing;\n`,
      );
    write('tsconfig.json', readFileSync(path.join(root, 'tsconfig.json'), 'utf8'));
    write('package.json', readFileSync(path.join(root, 'package.json'), 'utf8'));
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    const { violations } = cruise(folder, [...productRooms, 'test']).summary;
    const found = planted.map(([file, imported]) => [
      file,
      imported,
      violations.filter(({ from }) => from === file).map(({ rule }) => rule.name),
    ]);
    expect(found).toEqual(planted);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the pictures of the rooms are up to date; "npm run rooms" draws them', () => {
  const report = cruise(root, productRooms);
  const document = readFileSync(path.join(root, 'docs', 'architecture.md'), 'utf8');
  expect(withPictures(document, report)).toBe(document);
});
