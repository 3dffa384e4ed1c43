/**
 * Who may import whom: circles, rooms, features and packages, type imports counted.
 *
 * This file decides about every import; eslint decides about the code between them.
 */

/**
 * Rooms of the core in their order: a room imports only itself, the files that all rooms share, and rooms that stand
 * before it. Of the core's root, `coreEntries` are composed of all rooms and come last; the other files come first.
 */
const coreRooms = [
  'secrets',
  'errors',
  'model-call',
  'budget',
  'failover',
  'guard',
  'tools',
  'subagents',
  'context',
  'learning',
  'recovery',
  'people',
  'view',
  'run',
];
const coreEntries = '^workflows/core/(index|activities)\\.ts$';
/** Files of the core that compose all rooms: one row of the event table, one slice of the state, one ports file. */
const coreComposition = '^workflows/core/(run/|index\\.ts$|activities\\.ts$)';

/** Features that go with their folder and the lines that name it: nothing but `composedBy` imports them. */
const features = [
  {
    name: 'subagents in the core',
    room: '^workflows/core/subagents/',
    composedBy: coreComposition,
  },
  { name: 'learning in the core', room: '^workflows/core/learning/', composedBy: coreComposition },
  {
    name: 'notifications in the core',
    room: '^workflows/core/people/notifications\\.ts$',
    composedBy: coreComposition,
  },
  {
    name: 'subagents',
    room: '^activities/subagents/',
    composedBy: '^activities/(index|run-tool)\\.ts$',
  },
  {
    name: 'learning',
    room: '^activities/learning/',
    composedBy:
      '^(activities/(index|record-observations|extract-patterns|plan-recovery)\\.ts$|workers/cli/)',
  },
  {
    name: 'notifiers',
    room: '^activities/notifiers/',
    composedBy: '^activities/(index|notify|prepare-run)\\.ts$',
  },
  {
    name: 'the recovery planner',
    room: '^activities/recovery/',
    composedBy: '^activities/(index|plan-recovery)\\.ts$',
  },
  { name: 'MCP', room: '^activities/tools/mcp/', composedBy: '^activities/index\\.ts$' },
  {
    name: 'workspace tools',
    room: '^activities/tools/workspace/',
    composedBy: '^(activities/index\\.ts$|workers/cli/)',
  },
];

const product = '^(workflows|activities|client|workers|testing)/';
const notProduct = '^(test|bench|examples|scripts)/';
const node = ['core'];
const packages = ['npm', 'npm-dev', 'npm-peer', 'npm-optional', 'npm-no-pkg', 'npm-unknown'];

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

const orderOfRooms = coreRooms.slice(0, -1).map((room, index) =>
  forbid(
    `order-${room}`,
    `${room} stands before these rooms in the order of the core.`,
    { path: `^workflows/core/${room}/` },
    {
      path: [`^workflows/core/(${coreRooms.slice(index + 1).join('|')})/`, coreEntries],
    },
  ),
);

const removableFeatures = features.map(({ name, room, composedBy }) =>
  forbid(
    `removable-${name.replaceAll(' ', '-').toLowerCase()}`,
    `${name}: a feature that can be removed hangs on the composition alone.`,
    { path: product, pathNot: [room, composedBy] },
    { path: room },
  ),
);

module.exports = {
  forbidden: [
    forbid('no-circles', 'Types count.', {}, { circular: true }),
    forbid('resolvable', 'An import leads somewhere.', {}, { couldNotResolve: true }),
    ...orderOfRooms,
    forbid(
      'core-shared',
      'What all rooms of the core share knows none of them.',
      { path: '^workflows/core/[^/]+\\.ts$', pathNot: coreEntries },
      { path: '^workflows/core/([^/]+/|(index|activities)\\.ts$)' },
    ),
    ...removableFeatures,
    forbid(
      'core-imports-core',
      'The core is pure: no package, no Node module, nothing from outside.',
      { path: '^workflows/core/' },
      { pathNot: '^workflows/core/' },
    ),
    forbid(
      'workflows-import-workflows',
      'Workflow code knows activities only by the ports in the core.',
      { path: '^workflows/', pathNot: '^workflows/core/' },
      { path: '^(activities|workers|client|testing)/' },
    ),
    forbid(
      'workflow-packages',
      "Workflow code is bundled into Temporal's sandbox. message-payload.ts holds the worker's payload converter, which the SDK gives workflows by no other name (ADR 0022).",
      { path: '^workflows/', pathNot: '^workflows/(core/|message-payload\\.ts$)' },
      {
        dependencyTypes: [...node, ...packages],
        pathNot: ['@temporalio/(workflow|common)/lib/index\\.'],
      },
    ),
    forbid(
      'activities-import-core',
      'Activities meet workflow code in the core alone, and serve any worker.',
      { path: '^activities/' },
      { path: '^(workflows/(?!core/)|workers/|client/|testing/)' },
    ),
    forbid(
      'client-imports-contract',
      "The client knows the contract, the core, and the shell's three pure readers of history.",
      { path: '^client/' },
      {
        path: '^(workflows|activities|workers|testing)/',
        pathNot:
          '^workflows/(core/|(contract|people-events|failure-from-activity|child-outcome)\\.ts$)',
      },
    ),
    forbid(
      'temporal-packages',
      'Activities and the client run without a Temporal worker in their process.',
      { path: '^(activities|client)/' },
      { path: 'node_modules/@temporalio/(worker|workflow|testing)/' },
    ),
    forbid(
      'workers-never-import-client',
      'The command line (workers/cli) composes both.',
      { path: '^workers/', pathNot: '^workers/cli(/|\\.ts$)' },
      { path: '^(client|testing)/' },
    ),
    forbid(
      'product-only',
      'Product code needs no test, bench, example or script.',
      { path: product },
      {
        path: notProduct,
      },
    ),
    forbid(
      'vendor-anthropic',
      "One folder knows a vendor's SDK.",
      { path: product, pathNot: '^activities/providers/anthropic/' },
      { path: 'node_modules/@anthropic-ai/sdk/' },
    ),
    forbid(
      'vendor-openai',
      "One folder knows a vendor's SDK.",
      { path: product, pathNot: '^activities/providers/openai/' },
      { path: 'node_modules/openai/' },
    ),
    forbid(
      'property-cases',
      'test/support/properties.ts decides how many cases a property runs.',
      { path: '^test/', pathNot: '^test/support/properties\\.ts$' },
      { path: 'node_modules/fast-check/' },
    ),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: 'fixture-project' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'types', 'default'],
    },
  },
};
