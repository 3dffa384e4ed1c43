/**
 * Order of the suites: one that counts the processor's time goes first, in a process in which no other suite has left its hooks on
 * promises; then, on a machine that has not timed them yet, those that mostly wait, so that none is left alone at the end.
 */
const { default: Sequencer } = require('@jest/test-sequencer');

/** Patterns of suites; of those that wait, the longest first: for a dead worker's timeouts, for retries, for a server. */
const groups = [
  /\/answer-bounds\.test/,
  /-kill\.workflow\.test/,
  /\/faults\/.*\.workflow\.test/,
  /\.workflow\.test/,
];

function groupOf({ path }) {
  const group = groups.findIndex((pattern) => pattern.test(path));
  return group < 0 ? groups.length : group;
}

module.exports = class WaitingFirstSequencer extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((left, right) => groupOf(left) - groupOf(right));
  }
};
