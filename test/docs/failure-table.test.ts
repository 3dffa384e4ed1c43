/** The tables of failures in docs/architecture.md say what the policy table in the code says. */
import type { InfraPolicy } from '../../workflows/core/errors/failure-policy';
import { infraPolicies } from '../../workflows/core/errors/failure-policy';
import { recoveryInstructions } from '../../workflows/core/failure';
import { defaultLimits } from '../../workflows/core/limits';
import { sourceText, tableUnder } from './documents';

const architecture = { file: 'docs/architecture.md', text: sourceText('docs/architecture.md') };

const actionText: Record<InfraPolicy['action'], string> = {
  'fail-over': 'cools the route down, asks the next one',
  'ask-next-provider': 'asks another provider once, else ends the run',
  'wait-for-store': 'waits durably, then tries again',
  shrink: 'shortens the request, compacts, or uses a larger window',
  'fail-run': 'ends the run with the cause',
};

function yes(is: boolean): string {
  return is ? 'yes' : 'no';
}

function cooldownText(code: string): string {
  const cooldowns: Readonly<Record<string, number>> = defaultLimits.cooldownMs;
  const cooldownMs = cooldowns[code] ?? 0;
  return cooldownMs === 0 ? '' : `${cooldownMs / 1000} s`;
}

test('every code that people act on has its row', () => {
  const rows = Object.entries(infraPolicies).map(([code, policy]) => [
    code,
    actionText[policy.action],
    yes(policy.action === 'fail-over' && policy.transient),
    cooldownText(code),
    yes(policy.healsByWaiting),
  ]);
  expect(tableUnder(architecture, 'Failures that people see')).toEqual(rows);
});

test('every code that the model acts on has its row', () => {
  expect(tableUnder(architecture, 'Failures that the model sees')).toEqual(
    Object.entries(recoveryInstructions),
  );
});
