/**
 * Who may import whom: circles, rooms, features and packages, type imports counted.
 *
 * This file decides about every import; eslint decides about the code between them.
 */

/**
 * Rooms of the core in their order: a room decides with its own files and with rooms that stand before it. `contracts`, the
 * types and slices by which rooms know each other, come first, and so do the files of the core's root that all rooms share;
 * `coreEntries` are composed of all rooms and come last.
 */
const coreRooms = [
  'secrets',
  'errors',
  'guard',
  'budget',
  'failover',
  'context',
  'people',
  'recovery',
  'tools',
  'model-call',
  'view',
  'subagents',
  'handoff',
  'guardrails',
  'learning',
  'notifications',
  'run',
];
const coreEntries = '^workflows/core/activities\\.ts$';
const contracts =
  '^workflows/core/([^/]+/(ports|state)|run/(account|outcome|phases|ending-phase|protocol|move|tool-call-counts|waiting)|budget/spend|context/(compaction-thresholds|measure|token-factors)|recovery/action|model-call/next-request)\\.ts$';
/** Files that compose the core's rooms: `run/` with the event table and the state, and the shell. */
const coreComposition = '^workflows/(core/(run/|activities\\.ts$)|[^/]+\\.ts$)';

/** Features that go with their folder and the lines that name it: nothing but `composedBy` imports them. */
const features = [
  {
    name: 'subagents in the core',
    room: '^workflows/core/subagents/',
    composedBy: coreComposition,
  },
  {
    name: 'learning in the core',
    room: '^workflows/core/learning/(?!ports\\.ts)',
    composedBy: coreComposition,
  },
  {
    name: 'notifications in the core',
    room: '^workflows/core/notifications/(?!ports\\.ts)',
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
    composedBy: '^(activities/(index|extract-patterns|plan-recovery)\\.ts$|workers/cli/)',
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

const product = '^(workflows|activities|client|server|workers|telemetry|testing)/';
const notProduct = '^(test|bench|examples|scripts)/';
const node = ['core'];
const packages = ['npm', 'npm-dev', 'npm-peer', 'npm-optional', 'npm-no-pkg', 'npm-unknown'];

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

const orderOfRooms = coreRooms.slice(0, -1).map((room, index) =>
  forbid(
    `order-${room}`,
    `${room} stands before these rooms in the order of the core.`,
    { path: `^workflows/core/${room}/`, pathNot: contracts },
    {
      path: [`^workflows/core/(${coreRooms.slice(index + 1).join('|')})/`, coreEntries],
      pathNot: contracts,
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
    forbid(
      'resolvable',
      "An import leads somewhere; webpack resolves the name of the user's workflows.",
      {},
      { couldNotResolve: true, pathNot: '^holdfast-user-workflows$' },
    ),
    ...orderOfRooms,
    forbid(
      'contracts-first',
      'What rooms know each other by needs no decision of a room, but for the texts and fingerprints of errors and secrets.',
      { path: [contracts, '^workflows/core/[^/]+\\.ts$'], pathNot: coreEntries },
      { path: '^workflows/core/[^/]+/', pathNot: [contracts, '^workflows/core/(errors|secrets)/'] },
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
      "The client knows the contract, the core, and the shell's pure readers of history.",
      { path: '^client/' },
      {
        path: '^(workflows|activities|workers|testing)/',
        pathNot: '^workflows/(core/|(contract|people-events|activity-events|child-outcome)\\.ts$)',
      },
    ),
    forbid(
      'server-imports-client',
      'The gateway serves what the client knows; the command line gives it its store.',
      { path: '^server/' },
      { path: '^(workflows|activities|workers|testing)/', pathNot: '^workflows/core/' },
    ),
    forbid(
      'removable-server',
      'Who runs no gateway loads none of it.',
      { path: product, pathNot: '^(server|workers/cli)/' },
      { path: ['^server/', 'node_modules/(@fastify/|fastify)'] },
    ),
    forbid(
      'console-imports',
      'The console runs in browsers: its own files, the pure core, the types of the API, and the two packages that are bundled with it.',
      { path: '^server/console/' },
      {
        path: '.',
        pathNot: [
          '^server/console/',
          '^workflows/core/',
          '^examples/gateway-api\\.d\\.ts$',
          'node_modules/(preact|openapi-fetch)/',
        ],
      },
    ),
    forbid(
      'console-is-bundled',
      'Node loads nothing of the console: the gateway serves its bundle.',
      { path: product, pathNot: '^server/console/' },
      { path: '^server/console/' },
    ),
    forbid(
      'temporal-packages',
      'Activities, the client and the gateway run without a Temporal worker in their process.',
      { path: '^(activities|client|server)/' },
      { path: 'node_modules/@temporalio/(worker|workflow|testing)/' },
    ),
    forbid(
      'workers-never-import-client',
      'The command line (workers/cli) composes both. Both check the SDK and its data converters before they use them.',
      { path: '^workers/', pathNot: '^workers/cli(/|\\.ts$)' },
      {
        path: '^(client|testing)/',
        pathNot: '^client/(sdk-check|data-converter|closed-connection)\\.ts$',
      },
    ),
    forbid(
      'telemetry-beside-workers',
      'Product code works without telemetry: the command line loads it where it is wanted.',
      { path: product, pathNot: '^(telemetry/|workers/cli/local-worker\\.ts$)' },
      {
        path: [
          '^telemetry/',
          'node_modules/@opentelemetry/',
          'node_modules/@temporalio/interceptors-opentelemetry/',
        ],
      },
    ),
    forbid(
      'telemetry-imports',
      'Telemetry reads what the workflows decide, and uses the sanitizer, the log and the environment.',
      { path: '^telemetry/' },
      { path: '^(client|testing|activities/(?!untrusted/)|workers/cli)' },
    ),
    forbid(
      'telemetry-in-workflows',
      "What is bundled with the workflows keeps their rules: no OpenTelemetry in Temporal's sandbox (ADR 0068).",
      { path: '^telemetry/workflow/' },
      {
        path: '.',
        pathNot: [
          '^telemetry/workflow/',
          '^workflows/',
          '@temporalio/(workflow|common)/lib/index\\.',
        ],
      },
    ),
    forbid(
      'emulator-needs-no-worker',
      'The emulator alone loads neither client nor worker; agents under test (testing/agent) compose both.',
      { path: '^testing/', pathNot: '^testing/agent/' },
      {
        path: '^(client|workers|workflows/(?!core/)|testing/agent/(?!person\\.ts))',
        dependencyTypesNot: ['type-only', 'require'],
      },
    ),
    forbid(
      'product-only',
      'Product code needs no test, bench, example or script; what the console imports has its own rule.',
      { path: product, pathNot: '^server/console/' },
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
    // The benchmark's peers have packages of their own.
    exclude: { path: ['fixture-project', '^bench/peers/'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'types', 'default'],
    },
  },
};
