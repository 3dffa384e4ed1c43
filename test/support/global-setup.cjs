/**
 * Tells jest's workers which run they belong to; starts nothing. Where `HOLDFAST_TEST_TEMPORAL` names a server, says which workflow
 * suites `jest.config.cjs` leaves out.
 */
const ownsItsServer = 'measures on a server of its own';
const readsFiles = 'reads what is in the file of the store or of the embedded server';
const skipsTime = 'skips time, which only a server of the testing kit does';

/** Workflow suites that cannot use a server that is given, and why. */
const leftOut = {
  'bench/evaluate': ownsItsServer,
  'bench/speed': ownsItsServer,
  'examples/test-an-agent': skipsTime,
  'faults/attacks': readsFiles,
  'faults/encryption': readsFiles,
  'faults/sanitise': readsFiles,
  'kit/test-agent': skipsTime,
  'server/gateway-score': 'needs a server without other runs on which runs roll over',
  'workers/embedded-server': 'starts, kills and attaches to the embedded server',
  'workers/workflow-bundle': 'uses no server',
};

const isServerGiven = process.env.HOLDFAST_TEST_TEMPORAL !== undefined;

module.exports = function setup() {
  process.env.HOLDFAST_TEST_RUN_PID = String(process.pid);
  if (!isServerGiven) return;
  const lines = Object.entries(leftOut).map(([suite, why]) => `  ${suite}: ${why}`);
  process.stderr.write(
    `Workflow suites left out, as HOLDFAST_TEST_TEMPORAL names a server:\n${lines.join('\n')}\n`,
  );
};

/** Patterns of the files that are left out now. */
module.exports.leftOutPatterns = () =>
  isServerGiven
    ? Object.keys(leftOut).map((suite) => `/test/${suite}\\.workflow\\.test\\.ts$`)
    : [];
