/** A replay that fails says on one line what does not fit. */
import { mismatchText } from '../../workers/cli/commands/replay';

const differs = `Activity type of scheduled event 'askModel' does not match activity type of activity command 'callModel'`;

it.each([
  [`${differs}\\", source: \\"\\", stack_trace: \\"\\"`, differs],
  ['Something new', 'Something new'],
])('shows of %s what core says', (said, shown) => {
  const thrown = new Error(`Replay failed: [TMPRL1100] Nondeterminism error: ${said}`);
  expect(mismatchText(thrown)).toBe(shown);
});

it('says which workflow the code lacks, and how to give it', () => {
  const thrown = new Error(
    `Details: Failed to initialize workflow of type 'ticket': no such function is exported by the workflow bundle", stack_trace: "..."`,
  );
  expect(mismatchText(thrown)).toBe(
    'the code has no workflow "ticket"; if it is your own, give its file: --workflows FILE',
  );
});
