/** Three speeds by suffix: unit (no server), workflow (a real Temporal server), replay (recorded histories). */
const common = {
  testEnvironment: 'node',
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, sourceMaps: 'inline' },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.holdfast'],
  testPathIgnorePatterns: ['/node_modules/', 'fixture-project'],
};
module.exports = {
  // More than the two cores of a small machine: the suites with servers and killed workers mostly wait.
  maxWorkers: 3,
  testSequencer: '<rootDir>/test/support/waiting-first-sequencer.cjs',
  // A deadline for what hangs, generous enough for a machine that is busy with other work.
  testTimeout: 30_000,
  globalSetup: '<rootDir>/test/support/global-setup.cjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.cjs',
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: [
        ...common.testPathIgnorePatterns,
        '\\.(workflow|replay)\\.test\\.ts$',
      ],
    },
    { ...common, displayName: 'workflow', testMatch: ['<rootDir>/test/**/*.workflow.test.ts'] },
    { ...common, displayName: 'replay', testMatch: ['<rootDir>/test/**/*.replay.test.ts'] },
  ],
};
