/** A run long enough to be continued as new where the server asks for it after 60 events. */
import { reply } from '../../testing/emulator/script';
import type { ReplyStep } from '../../testing/emulator/script';
import type { RunRequest } from '../../workflows/core/run/ports';

/** Iterations: 12 events each, so that the run has several segments. */
const iterations = 16;

/** What the run is asked for. */
export const rollOverScenario: RunRequest = {
  agent: 'single',
  goal: 'Echo for a while.',
  limits: { maxIterations: iterations + 1 },
};

/** Calls that work and calls that fail in turn, so that ring, counters and report have something to carry. */
export const rollOverSteps: readonly ReplyStep[] = [
  ...Array.from({ length: iterations }, (_, index) =>
    reply.toolCalls([
      { name: 'echo', input: { text: `n${index}`, ...(index % 4 === 3 ? {} : { fail: 'model' }) } },
    ]),
  ),
  reply.text('done'),
];
