/** What a person who decided or answered is told: it counts, it is being checked, it came too late, or it fits nothing. */
import { answerKey, decisionKey } from '../../workflows/core/people/state';
import type { DecisionMade } from '../../workflows/core/people/state';
import {
  problemOfAnswer,
  problemOfCallDecision,
  verdictOnAnswer,
  verdictOnDecision,
} from '../../workflows/core/people/verdicts';
import type { RunState } from '../../workflows/core/run/state';
import type { ToolCallProgress } from '../../workflows/core/tools/state';
import { aCall, aPreparedRun } from '../support/builders';

const fresh = aPreparedRun();
const approve = { approvalId: 'c1', decision: 'approve', digest: 'd1' } as const;
const reject = { ...approve, decision: 'reject' } as const;
const edit = { ...approve, input: { query: 'x' } } as const;
const made = (of: Partial<DecisionMade>): RunState => ({
  ...fresh,
  approvals: {
    ...fresh.approvals,
    made: [{ id: 'c1', digest: 'd1', decision: 'approve', atMs: 7, ...of }],
  },
});
const withCall = (state: RunState, status: ToolCallProgress['status']): RunState => ({
  ...state,
  phase: {
    type: 'running-tools',
    calls: [
      { call: aCall('c0', { approvalDigest: 'd0' }), status: { type: 'running' } },
      { call: aCall('c1', { approvalDigest: 'd1' }), status },
    ],
  },
});
const waiting = withCall(fresh, { type: 'awaiting-approval' });
const checking = (by?: string): RunState =>
  withCall(fresh, {
    ...{ type: 'checking-edit', callId: 'e1', decision: decisionKey(edit) },
    ...(by !== undefined && { by }),
  });
const refused = (problem: unknown) => ({ type: 'refused', problem }) as unknown;

describe('a decision', () => {
  test('that was made is accepted again; another one is too late', () => {
    expect(verdictOnDecision(made({}), approve)).toEqual({ type: 'accepted' });
    expect(verdictOnDecision(made({ by: 'Ada' }), reject)).toEqual(
      refused(expect.stringMatching(/^Approval "c1" is no longer open: it was .*Ada.* at 7 \(ms/)),
    );
    expect(verdictOnDecision(made({ id: 'c2' }), approve)).toEqual(
      refused('Approval "c1" no longer waits.'),
    );
  });

  test('that is being checked is undecided; another one waits for the check', () => {
    expect(verdictOnDecision(checking(), edit)).toEqual({ type: 'undecided' });
    const problem =
      'on approval "c1" is being checked. Decide again when that is done, if it still waits.';
    expect(verdictOnDecision(checking(), approve)).toEqual(refused(`A decision ${problem}`));
    expect(verdictOnDecision(checking('Ada'), approve)).toEqual(
      refused(`A decision by Ada ${problem}`),
    );
  });

  test('with arguments that were refused gets their problems, the newest ones', () => {
    const edits = ['first', 'second'].map((problems) => ({
      ...{ id: 'c1', decision: decisionKey(edit), problems },
    }));
    const others = [
      { id: 'c2', decision: decisionKey(edit), problems: 'of another call' },
      { id: 'c1', decision: 'edit:other', problems: 'of another edit' },
    ];
    const state = {
      ...fresh,
      approvals: { ...fresh.approvals, refusedEdits: [...edits, ...others] },
    };
    expect(verdictOnDecision(state, edit)).toEqual(refused('second'));
    expect(verdictOnDecision(state, approve)).toEqual(refused('Approval "c1" no longer waits.'));
  });

  test('applies to the action that was shown, and to no other', () => {
    expect(problemOfCallDecision(waiting, approve)).toBeUndefined();
    const other = { ...approve, digest: 'd0' };
    const problem = /^The digest does not belong to approval "c1"/;
    expect(problemOfCallDecision(waiting, other)).toMatch(problem);
    expect(problemOfCallDecision(checking(), other)).toMatch(problem);
    expect(problemOfCallDecision(made({}), other)).toMatch(problem);
    expect(problemOfCallDecision(made({}), approve)).toBeUndefined();
    expect(problemOfCallDecision(made({}), reject)).toContain('is no longer open');
    expect(problemOfCallDecision(checking(), edit)).toBeUndefined();
    expect(problemOfCallDecision(checking(), approve)).toContain('is being checked');
  });

  test('for which nothing waits names what does, with a bounded id', () => {
    const long = { ...approve, approvalId: 'i'.repeat(500) };
    expect(problemOfCallDecision(waiting, long)).toBe(
      `No approval "${'i'.repeat(100)}" waits in this run. Waiting: c1.`,
    );
    expect(problemOfCallDecision(fresh, approve)).toBe(
      'No approval "c1" waits in this run. Waiting: none.',
    );
    const ran = withCall(fresh, { type: 'running' });
    expect(problemOfCallDecision(ran, approve)).toContain('No approval "c1" waits');
    expect(problemOfCallDecision(withCall(made({}), { type: 'running' }), approve)).toBeUndefined();
  });
});

describe('an answer', () => {
  const given = { questionId: 'q1', answer: 'blue' };
  const answered = made({ id: 'q1', decision: answerKey(given) });
  const other = { ...given, answer: 'red' };

  test('that was given is accepted again; another one is too late', () => {
    expect(verdictOnAnswer(answered, given)).toEqual({ type: 'accepted' });
    expect(verdictOnAnswer(answered, other)).toEqual(
      refused(expect.stringMatching(/^Question "q1" is no longer open: .* at 7 \(ms/)),
    );
    expect(verdictOnAnswer(fresh, given)).toEqual(refused('Question "q1" no longer waits.'));
  });

  test('has a problem where it is too late, or fits nothing that waits', () => {
    expect(problemOfAnswer(fresh, given, ['q1'])).toBeUndefined();
    expect(problemOfAnswer(answered, given, [])).toBeUndefined();
    expect(problemOfAnswer(answered, other, [])).toContain('Question "q1" is no longer open');
    expect(problemOfAnswer(fresh, given, ['q2', 'q3'])).toBe(
      'No question "q1" waits in this run. Waiting: q2, q3.',
    );
    expect(problemOfAnswer(fresh, { ...given, questionId: 'i'.repeat(500) }, [])).toBe(
      `No question "${'i'.repeat(100)}" waits in this run. Waiting: none.`,
    );
  });
});
