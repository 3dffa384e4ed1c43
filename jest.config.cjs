/**
 * Four kinds of suites by suffix: unit (neither servers nor processes), system (servers and processes other than
 * Temporal's, checks of the whole program), workflow (a real Temporal server), replay (recorded histories).
 */
const common = {
  testEnvironment: 'node',
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, sourceMaps: 'inline' },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.holdfast'],
};
const { leftOutPatterns } = require('./test/support/global-setup.cjs');

const kinds = ['system', 'workflow', 'replay'];
const ignored = ['/node_modules/', 'fixture-project'];

module.exports = {
  // More than the two cores of a small machine: the suites with servers and killed workers mostly wait.
  maxWorkers: 4,
  // Node keeps the modules of ended test files (about 20 MB each): a worker process that is larger is replaced.
  workerIdleMemoryLimit: '1GB',
  testSequencer: '<rootDir>/test/support/waiting-first-sequencer.cjs',
  // Ends what hangs. No test measures by it, so it can be generous to a machine that is busy with other work.
  testTimeout: 1_200_000,
  globalSetup: '<rootDir>/test/support/global-setup.cjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.cjs',
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: [...ignored, `\\.(${kinds.join('|')})\\.test\\.ts$`],
    },
    ...kinds.map((kind) => ({
      ...common,
      displayName: kind,
      testMatch: [`<rootDir>/test/**/*.${kind}.test.ts`],
      testPathIgnorePatterns: [...ignored, ...(kind === 'workflow' ? leftOutPatterns() : [])],
    })),
  ],
};
