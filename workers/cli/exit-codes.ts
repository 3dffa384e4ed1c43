/** What the command line's exit codes mean. */
import type { RunOutcome } from '../../workflows/core/run/outcome';

/** Exit codes, documented in `holdfast --help` and `docs/cli.md`. */
export const exitCodes = {
  completed: 0,
  runFailed: 1,
  usage: 2,
  stopped: 3,
  cancelled: 4,
  unreachable: 5,
  replayMismatch: 6,
  notReady: 7,
  internal: 70,
  interrupted: 130,
} as const;

/** Exit code of a command that waited for a run's end. */
export function exitCodeOf(status: RunOutcome['status']): number {
  return exitCodes[status === 'failed' ? 'runFailed' : status];
}

/** For `--help`. */
export const exitCodeHelp = [
  'Exit codes:',
  '  0    done; a watched run completed',
  '  1    the run failed',
  '  2    wrong usage or configuration, or a refused request',
  '  3    the run was stopped by a person',
  '  4    the run was cancelled or terminated',
  '  5    Temporal cannot be reached',
  '  6    replay: a history does not fit the workflow code',
  '  7    worker: store or Temporal did not answer in time',
  '  70   a fault of holdfast itself',
  '  130  interrupted; the run itself continues',
].join('\n');
