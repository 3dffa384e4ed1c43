/** The tables of failures in docs/architecture.md say what the policy table in the code says. */
import type { InfraPolicy } from '../../workflows/core/errors/failure-policy';
import { infraPolicies, recoveryInstructions } from '../../workflows/core/errors/failure-policy';
import { defaultLimits } from '../../workflows/core/limits';
import { sourceText, tableUnder } from './documents';

const architecture = { file: 'docs/architecture.md', text: sourceText('docs/architecture.md') };

const actionText: Record<InfraPolicy['action'], string> = {
  'fail-over': 'rests the route, asks the next one',
  'wait-for-store': 'waits durably, then the same again',
  shrink: 'shortens the request, compacts, or asks a larger window',
  'fail-run': 'ends the run with the cause',
};

function yes(is: boolean): string {
  return is ? 'yes' : 'no';
}

function restText(code: string): string {
  const rests: Readonly<Record<string, number>> = defaultLimits.cooldownMs;
  const restMs = rests[code] ?? 0;
  return restMs === 0 ? '' : `${restMs / 1000} s`;
}

test('every code that people act on has its row', () => {
  const rows = Object.entries(infraPolicies).map(([code, policy]) => [
    code,
    actionText[policy.action],
    yes(policy.action === 'fail-over' && policy.transient),
    restText(code),
    yes(policy.healsByWaiting),
  ]);
  expect(tableUnder(architecture, 'Failures that people see')).toEqual(rows);
});

test('every code that the model acts on has its row', () => {
  expect(tableUnder(architecture, 'Failures that the model sees')).toEqual(
    Object.entries(recoveryInstructions),
  );
});
